import pytest

from loadgen.model.exchange import Outcome
from loadgen.model.plan import Deadlines
from loadgen.transport.deadlines import Progress, holds_token, next_limit
from loadgen.units import NS_PER_S

ALL = Deadlines(
    connect_ns=1 * NS_PER_S,
    first_token_ns=5 * NS_PER_S,
    stall_ns=2 * NS_PER_S,
    total_ns=60 * NS_PER_S,
)
NONE = Deadlines(connect_ns=None)


@pytest.mark.parametrize(
    ("progress", "outcome", "at_s"),
    [
        (Progress(0, connecting_since_ns=0), Outcome.TIMEOUT_CONNECT, 1),
        (Progress(0, sent_at_ns=3 * NS_PER_S), Outcome.TIMEOUT_FIRST_TOKEN, 8),
        (
            Progress(0, sent_at_ns=0, has_token=True, last_body_at_ns=9 * NS_PER_S),
            Outcome.TIMEOUT_STALL,
            11,
        ),
        (Progress(0, sent_at_ns=0, has_token=True), Outcome.TIMEOUT_TOTAL, 60),
    ],
)
def test_each_phase_has_its_deadline(progress: Progress, outcome: Outcome, at_s: int) -> None:
    limit = next_limit(ALL, progress)
    assert limit is not None
    assert (limit.outcome, limit.at_ns) == (outcome, at_s * NS_PER_S)


def test_comments_move_the_stall_clock_but_not_the_first_token_one() -> None:
    progress = Progress(0, sent_at_ns=0, has_token=False, last_body_at_ns=4 * NS_PER_S)
    limit = next_limit(ALL, progress)
    assert limit is not None
    assert (limit.outcome, limit.at_ns) == (Outcome.TIMEOUT_FIRST_TOKEN, 5 * NS_PER_S)


def test_reconnect_of_a_dead_connection_runs_on_the_connect_clock() -> None:
    progress = Progress(0, connecting_since_ns=3 * NS_PER_S, sent_at_ns=2 * NS_PER_S)
    limit = next_limit(ALL, progress)
    assert limit is not None
    assert limit.outcome is Outcome.TIMEOUT_CONNECT


def test_nothing_runs_where_no_limit_is_set() -> None:
    assert next_limit(NONE, Progress(0, sent_at_ns=0, last_body_at_ns=0)) is None


def test_detail_names_the_limit_that_passed() -> None:
    limit = next_limit(ALL, Progress(0, connecting_since_ns=0))
    assert limit is not None
    assert limit.detail == "no connection after 1 s"


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([], False),
        ([b": ping\n\n"], False),
        ([b": pi", b"ng\n", b"\r\n: x"], False),
        ([b": ping\n\nda", b"ta: {}"], True),
        ([b"{"], True),
    ],
)
def test_only_more_than_comments_counts_as_a_first_token(
    parts: list[bytes], expected: bool
) -> None:
    assert holds_token(parts) is expected
