"""What `--dry-run` counts: all turns of all sessions, their tokens, the least time."""

from pathlib import Path
from typing import Any

import pytest

from loadgen.cli.dry_load import DryLoad, dry_load, least_minutes
from loadgen.cli.dry_run import dry_run_lines
from loadgen.model.plan import Plan, PointPlan, ReplayRules, TargetPlan, WorkloadPlan
from loadgen.units import NS_PER_S

TURNS = {"isl": "300", "osl": "50", "turns": "3"}


def plan_of(work: dict[str, Any], load: str = "closed:8", **point: Any) -> Plan:
    target = TargetPlan("http://h/v1", "tiny")
    return Plan("r", target, WorkloadPlan(**work), (PointPlan(0, load, **point),))


def shown(plan: Plan) -> str:
    return "".join(dry_run_lines(plan, "http://h"))


def test_every_turn_of_every_session_is_a_request_and_quotes_those_before_it() -> None:
    load = dry_load(plan_of(TURNS, requests=10, warmup_requests=2))

    assert (load.sessions, load.turns) == (12, 3)
    assert load.requests == 36
    # prompts of a session: 300, 300 + 50 + 300, 650 + 50 + 300
    assert load.exact
    assert load.tokens == (12 * (300 + 650 + 1000), 12 * 150)


def test_more_sessions_than_are_looked_at_are_counted_alike() -> None:
    load = dry_load(plan_of(TURNS, requests=5000))

    assert load.requests == 15_000
    assert load.tokens == (5000 * 1950, 5000 * 150)


def test_drawn_turns_and_lengths_are_averaged_over_a_sample() -> None:
    work = {"isl": "uniform:100,200", "osl": "10", "turns": "uniform:2,4"}
    plan = plan_of(work, requests=1000)
    load = dry_load(plan)

    assert 2.8 < load.turns < 3.2
    assert not load.exact
    assert "requests  about " in shown(plan)
    assert f"(1,000 sessions x {load.turns:.3g} turns on average)" in shown(plan)


def test_a_rate_and_a_time_give_sessions_and_all_their_turns() -> None:
    load = dry_load(plan_of(TURNS, "poisson:rate=4/s", duration_ns=60 * NS_PER_S))
    assert load.requests == 720


def test_live_history_counts_answers_of_full_length() -> None:
    live = dry_load(plan_of({**TURNS, "history": "live"}, requests=10))
    assert live.tokens == dry_load(plan_of(TURNS, requests=10)).tokens


def test_a_file_that_ends_after_one_pass_ends_the_count(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"prompt": "hello"}\n' * 3)
    work = {"format": "chat", "path": str(rows), "once": True}
    plan = plan_of(work, requests=100)

    assert dry_load(plan).requests == 3
    assert "requests  3\n" in shown(plan)
    assert "tokens    isl 1024, osl 256 a turn" in shown(plan)


def test_a_closed_load_for_a_time_has_as_many_requests_as_the_server_answers() -> None:
    plan = plan_of(TURNS, duration_ns=60 * NS_PER_S)

    assert dry_load(plan).requests is None
    assert "as many as the server answers" in shown(plan)
    assert "1,950 in + 150 out a session of 3 turns" in shown(plan)
    assert least_minutes(plan, dry_load(plan)) == 1.0


@pytest.mark.parametrize(
    ("load", "more", "minutes"),
    [
        ("closed:8", {"think": "2s"}, 80 / 8 * 2 * 2 / 60),
        ("closed:8,think=6s", {}, 80 / 8 * 6 / 60),
        ("constant:rate=4/s", {"think": "2s"}, (80 / 4 + 4) / 60),
        ("closed:8", {}, None),
    ],
)
def test_a_count_takes_its_arrivals_and_pauses_at_least(
    load: str, more: dict[str, str], minutes: float | None
) -> None:
    plan = plan_of({**TURNS, **more}, load, requests=80)

    found = least_minutes(plan, dry_load(plan))

    assert found == (None if minutes is None else pytest.approx(minutes))
    assert ("at least" in shown(plan)) == (minutes is not None)


def test_one_turn_of_plain_lengths_is_arithmetic_and_says_requests() -> None:
    plan = plan_of({"isl": "4k", "osl": "100"}, requests=10)

    assert dry_load(plan) == DryLoad(10.0, 1.0, 4096.0, 100.0, 0.0, exact=True)
    assert "10 requests" in shown(plan)
    assert "40,960 in + 1,000 out at most" in shown(plan)


def test_a_replay_is_as_recorded() -> None:
    plan = plan_of({"format": "agentx", "path": "x"}, duration_ns=NS_PER_S)
    rules = ReplayRules(name="agentx")
    assert dry_load(Plan("r", plan.target, plan.workload, plan.points, replay=rules)).tokens is None
