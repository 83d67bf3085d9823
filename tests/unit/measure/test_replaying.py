"""What the workers of a replay tell each other, what a full context looks like, what is shown."""

from pathlib import Path

import pytest

from loadgen.measure.replaying import MappedPeers, is_overflow
from loadgen.measure.watching import Watcher
from loadgen.model.exchange import Exchange, TurnKey
from loadgen.model.plan import Plan, PointPlan, ReplayRules, Share, TargetPlan, WorkloadPlan
from loadgen.store.progress import Progress

KEY = TurnKey(point=0, share=0, seq=0, session_id="0-0-0", turn_id="root/0")


def test_nothing_is_idle_while_any_worker_has_a_request_in_flight(tmp_path: Path) -> None:
    progress = Progress.create(tmp_path, 2)
    one, other = (MappedPeers(progress, Share(index, 2)) for index in range(2))
    one.publish(in_flight=1, next_due_ns=500, last_active_ns=90)
    other.publish(in_flight=0, next_due_ns=300, last_active_ns=100)
    assert other.idle_since_ns() is None
    assert one.earliest_due_ns() == other.earliest_due_ns() == 300
    one.publish(in_flight=0, next_due_ns=0, last_active_ns=120)
    assert one.idle_since_ns() == other.idle_since_ns() == 120
    assert one.earliest_due_ns() == 300


def test_without_a_timer_anywhere_nothing_is_due(tmp_path: Path) -> None:
    peers = MappedPeers(Progress.create(tmp_path, 1), Share(0, 1))
    peers.publish(in_flight=0, next_due_ns=0, last_active_ns=7)
    assert peers.earliest_due_ns() is None


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (400, b'{"message":"This model\'s maximum context length is 8 tokens"}', True),
        (400, b'{"code":"context_length_exceeded"}', True),
        (413, b"Prompt is too long: 9 > 8", True),
        (400, b'{"message":"model not found"}', False),
        (200, b"data: the maximum context of a novel", False),
    ],
)
def test_a_full_context_is_told_by_the_refusals_words(
    status: int, body: bytes, expected: bool
) -> None:
    halves = [body[: len(body) // 2], body[len(body) // 2 :]]
    exchange = Exchange(key=KEY, due_at_ns=0, http_status=status, parts=halves)
    assert is_overflow(exchange) is expected


def replayed_plan(n_points: int = 1) -> Plan:
    points = tuple(
        PointPlan(index=index, load="closed:3", slots=3, duration_ns=60_000_000_000)
        for index in range(n_points)
    )
    return Plan(
        run_id="r",
        target=TargetPlan("http://host", "m"),
        workload=WorkloadPlan(format="agentx"),
        points=points,
        workers=2,
        replay=ReplayRules(),
    )


def test_the_warm_up_is_shown_until_every_worker_has_none_left(tmp_path: Path) -> None:
    plan = replayed_plan()
    progress = Progress.create(tmp_path, 2)
    watcher = Watcher(plan, progress)
    watcher.start_point(plan.points[0], 0)
    one, other = progress.worker(0), progress.worker(1)
    one.lanes, one.primers_left, one.warmup_left = 2, 3, 20
    other.lanes, other.primers_left, other.warmup_left = 1, 1, 10
    one.in_flight = 2
    status = watcher.look()
    assert status.phase == "warm-up"
    assert status.sessions == "3 lanes, 4 primers and 30 warm-up requests left, 0 tokens served"
    assert status.in_flight == 2
    assert (status.planned_s, status.eta_s) == (None, None)
    one.primers_left = one.warmup_left = other.primers_left = 0
    progress.scribe(0).tokens = 1200
    status = watcher.look()
    assert status.sessions == (
        "3 lanes, 0 primers and 10 warm-up requests left, 1,200 tokens served"
    )
    assert status.eta_s == pytest.approx(status.elapsed_s * 10 / 24 + 60)
    other.warmup_left = 0
    one.sessions_finished, other.subagents_live = 4, 2
    status = watcher.look()
    assert status.phase == "profiling"
    assert status.planned_s == 60
    assert status.sessions == "4 sessions finished, 2 subagents at work"
