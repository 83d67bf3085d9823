"""However a stream is cut into reads, no token is lost, made up, or timed by another read."""

from hypothesis import given, settings
from hypothesis import strategies as st

from loadgen.transport.decoding.decode import decode
from tests.exchanges import Capture
from tests.mutations import as_exchange, check_laws, streams, without_arrivals

STREAMS = streams()
CUTS = st.lists(st.integers(0, 12_000), max_size=40)


@settings(max_examples=1200, deadline=None)
@given(st.sampled_from(STREAMS), CUTS)
def test_cuts_change_no_count_text_usage_or_outcome(capture: Capture, cuts: list[int]) -> None:
    whole = as_exchange(capture, capture.body, [], complete=capture.complete)
    cut = as_exchange(capture, capture.body, cuts, complete=capture.complete)
    record = check_laws(cut)
    assert without_arrivals(record) == without_arrivals(decode(whole, keep_text=True))


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(STREAMS), st.lists(st.integers(0, 12_000), min_size=1, max_size=6))
def test_event_is_there_from_its_read_on_and_not_before(capture: Capture, cuts: list[int]) -> None:
    exchange = as_exchange(capture, capture.body, cuts, complete=True)
    read_no = list(decode(exchange).events.read_no)
    for last in range(len(exchange.parts)):
        prefix = b"".join(exchange.parts[: last + 1])
        so_far = decode(as_exchange(capture, prefix, [], complete=False))
        assert len(so_far.events) == sum(no <= last for no in read_no)
