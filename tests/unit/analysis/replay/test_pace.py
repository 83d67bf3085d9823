"""What all workers of a replay tell of the recording's pace, drawn together."""

from msgspec import structs

from loadgen.analysis.replay.pace import replay_pace
from loadgen.model.observed import ReplayHealth
from loadgen.model.summary import ReplayPace
from tests.tables import healthy

S = 1_000_000_000


def test_shared_shifts_count_once_and_those_of_sessions_add_up() -> None:
    told = [
        healthy(replay=ReplayHealth(2, 3, 30 * S, 1, 5 * S)),
        healthy(replay=ReplayHealth(1, 3, 30 * S, 2, 7 * S)),
    ]
    assert replay_pace(told) == ReplayPace(3, 3, 30.0, 3, 12.0)


def test_a_worker_that_tells_nothing_leaves_the_pace_unknown() -> None:
    told = healthy(replay=ReplayHealth(2))
    assert replay_pace([told, structs.replace(told, replay=None)]) is None
    assert replay_pace([]) is None
