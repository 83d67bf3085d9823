"""Whatever happens to the bytes of a stream, there is one record with one outcome."""

from hypothesis import given, settings
from hypothesis import strategies as st

from loadgen.model.exchange import Outcome
from tests.exchanges import JSON, SSE, Capture, exchange_of, split_at
from tests.mutations import OPS, Op, as_exchange, check_laws, mutate, streams

STREAMS = streams()
DAMAGE = st.lists(
    st.tuples(st.sampled_from(OPS), st.integers(0, 12_000), st.integers(0, 400)),
    min_size=1,
    max_size=6,
)
CUTS = st.lists(st.integers(0, 12_000), max_size=8)
PIECES = (
    b"data: ", b"data:", b"event: error", b": ping", b"id: 1", b"\n", b"\n\n", b"\r\n", b"\r",
    b"[DONE]", b"null", b"{}", b'{"choices":[]}', b'{"error":"x"}', b'{"error":null}', b"\xff",
    b'{"choices":[{"index":0,"delta":{"content":"a"}}]}', b"\xef\xbb\xbf", b" ", b"<html>",
    b'{"choices":[{"delta":{},"finish_reason":"stop"}]}', b'{"usage":{"completion_tokens":3}}',
)  # fmt: skip


@settings(max_examples=2500, deadline=None)
@given(st.sampled_from(STREAMS), DAMAGE, CUTS, st.booleans())
def test_damage_never_breaks_the_decoder(
    capture: Capture, damage: list[Op], cuts: list[int], complete: bool
) -> None:
    body = mutate(capture.body, damage)
    record = check_laws(as_exchange(capture, body, cuts, complete=complete))
    assert record.received_bytes == len(body)


@settings(max_examples=600, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=24), CUTS, st.sampled_from([SSE, JSON, {}]))
def test_any_order_of_fields_and_line_ends_is_read(
    pieces: list[bytes], cuts: list[int], headers: dict[str, str]
) -> None:
    check_laws(exchange_of(split_at(b"".join(pieces), cuts), headers=headers))


@settings(max_examples=400, deadline=None)
@given(st.binary(max_size=300), st.sampled_from([200, 204, 302, 404, 500]), st.booleans())
def test_any_bytes_give_one_outcome(body: bytes, status: int, complete: bool) -> None:
    record = check_laws(exchange_of([(1.0, body)], status=status, complete=complete))
    assert status < 400 or record.outcome is Outcome.HTTP_ERROR
