"""A replay's figures on hand-made records."""

from dataclasses import replace

import pytest
from msgspec import structs

from loadgen.analysis import summarise
from loadgen.model.exchange import Outcome, Phase, TurnKey
from loadgen.model.plan import ReplayRules, TargetPlan, WorkloadPlan
from loadgen.model.record import EventKind, Events, Record, Usage
from loadgen.model.summary import ReplaySummary, Summary
from loadgen.store.tables import make_table
from tests.tables import healthy, recording

MS = 1_000_000


def turn(
    session: str, depth: int, at_ms: int, blocks: tuple[int, ...], cached: int, **more: object
) -> Record:
    """A request of 64-token blocks answered by 11 tokens in 100 ms after 50 ms."""
    events = Events()
    for n in range(11):
        events.append((at_ms + 50 + 10 * n) * MS, n, EventKind.CONTENT, 1, 1)
    stream = str(more.get("stream", "root"))
    phase = Phase.WARMUP if more.get("warm") else Phase.WINDOW
    number = at_ms * 10 + depth
    tok = 64 * sum(blocks[1::2])
    return Record(
        key=TurnKey(0, 0, number, session, f"{stream}/{depth}", depth, "", "t", phase, stream),
        outcome=Outcome.OK,
        due_at_ns=at_ms * MS,
        sent_at_ns=at_ms * MS,
        done_at_ns=(at_ms + 151) * MS,
        usage=Usage(input_tok=tok + 10, cached_tok=cached, output_tok=11),
        input_tok=tok,
        blocks=blocks,
        events=events,
    )


RECORDS = [
    turn("0-0-0", 0, 0, (1, 10), 0, warm=True),
    turn("0-0-0", 1, 1000, (1, 20), 640),
    turn("0-0-0", 0, 1300, (100, 5), 0, stream="agent_001"),
    turn("0-0-0", 2, 1600, (1, 18, 50, 2), 1152),
    turn("0-0-1", 0, 2000, (1, 10), 0),
]
MANY = [turn("0-0-0", n, 1000 + 200 * n, (1, 4), 0) for n in range(30)]


def told_of(
    records: list[Record] = RECORDS,
    rules: ReplayRules | None = None,
    target: TargetPlan | None = None,
    prices: dict[str, float] | None = None,
) -> Summary:
    base = recording([], "closed:1")
    plan = structs.replace(
        base.plan,
        replay=rules or ReplayRules(),
        workload=WorkloadPlan(format="agentx", ignore_eos=True),
        target=target or base.plan.target,
        prices=prices or {},
    )
    return summarise(replace(base, plan=plan, table=make_table(records)))


def told(records: list[Record] = RECORDS, **prices: float) -> ReplaySummary:
    (found,) = told_of(records, prices=prices).replays
    return found


def refused(session: str, at_ms: int) -> Record:
    """A request that is longer than the server's context."""
    record = turn(session, 0, at_ms, (1, 4), 0)
    return structs.replace(
        record,
        outcome=Outcome.HTTP_ERROR,
        http_status=400,
        detail="This model's maximum context length is 4096 tokens",
        usage=Usage(),
        events=Events(),
    )


def whole(record: Record) -> Record:
    """The same answer as one completion: its tokens have no instants."""
    events = Events()
    events.append((record.done_at_ns or 0) - MS, 0, EventKind.CONTENT, 11, 11)
    return structs.replace(record, events=events, flags=("not_streamed",), stream_asked=False)


def test_tokens_hits_and_requests_in_flight_are_those_of_the_profiling() -> None:
    found = told()
    assert found.requests == 4
    assert found.cached_tok == 640 + 1152
    assert found.hit_measured == pytest.approx(1792 / (64 * 55 + 40))
    assert found.drift_frac == pytest.approx(40 / (64 * 55))
    assert found.span_s == pytest.approx(1.151)
    assert found.total_tps == pytest.approx((64 * 55 + 40 + 44) / 1.151)
    assert found.computed_tps == pytest.approx((64 * 55 + 40 - 1792) / 1.151)
    assert found.fan_out_most == 1
    assert found.fan_out_mean == pytest.approx(4 * 0.151 / 1.151)
    assert found.idle_frac == pytest.approx(1 - 4 * 0.151 / 1.151)
    assert len(found.fan_out) == 20
    assert sum(found.fan_out) / 20 == pytest.approx(found.fan_out_mean, rel=1e-6)
    assert max(found.fan_out) == pytest.approx(1.0)


def test_a_failed_request_was_in_flight_too() -> None:
    broken = structs.replace(RECORDS[3], outcome=Outcome.TRUNCATED)
    assert told([*RECORDS[:3], broken, RECORDS[4]]).fan_out_mean == told().fan_out_mean


def test_interactivity_is_one_over_the_percentile_of_itl() -> None:
    found = told(MANY)
    assert found.itl_s["p90"] == pytest.approx(0.01)
    assert found.intvty_tps["p90"] == pytest.approx(100)
    assert found.e2e_norm_tps["p90"] == pytest.approx(11 / 0.15)


def test_a_percentile_of_too_few_requests_is_withheld() -> None:
    assert told(MANY).intvty_tps["p95"] is None
    assert told(MANY[:28]).intvty_tps["p90"] is None
    assert told(MANY[:28]).intvty_tps["p75"] is not None


def test_answers_that_were_not_streamed_have_no_interactivity() -> None:
    found = told([whole(record) for record in MANY])
    assert set(found.intvty_tps.values()) == {None}
    assert {row.ttft_p50_s for row in found.depths} == {None}


def test_latencies_that_a_point_withholds_are_not_told_by_its_replay() -> None:
    late = {"canary_p99_ns": 11 * MS, "canary_wait_p99_ns": 11 * MS}
    health = [healthy(issued=30, canary_n=400, canary_stamp="user", **late)]
    base = recording([], "closed:1", health=health)
    plan = structs.replace(base.plan, replay=ReplayRules())
    (found,) = summarise(replace(base, plan=plan, table=make_table(MANY))).replays
    assert found.withheld.startswith("client_bound")
    assert set(found.intvty_tps.values()) == {None}
    assert {row.ttft_p50_s for row in found.depths} == {None}
    assert {agent.ttft_p50_s for agent in found.agents} == {None}


def test_agents_and_depths_stand_apart() -> None:
    found = told()
    assert [(agent.name, agent.streams, agent.requests) for agent in found.agents] == [
        ("main agents", 2, 3),
        ("subagents", 1, 1),
    ]
    assert [(row.first, row.last, row.requests) for row in found.depths] == [
        (0, 0, 1),
        (1, 1, 1),
        (2, 3, 1),
    ]


def test_each_subagent_has_a_row_over_all_its_plays_the_busiest_first() -> None:
    def sent(play: int, depth: int, stream: str) -> Record:
        at_ms = 1000 * (play + 1) + 200 * depth + 20 * len(stream)
        return turn(f"0-0-{play}", depth, at_ms, (1, 4), 64, stream=stream)

    found = told([sent(play, 0, name) for play in range(2) for name in ("root", "a", "bb")])
    more = told([sent(0, 0, "root"), sent(0, 0, "a"), sent(0, 0, "bb"), sent(0, 1, "bb")])
    assert [(row.name, row.streams, row.requests, row.output_tok) for row in found.subagents] == [
        ("t/a", 2, 2, 22.0),
        ("t/bb", 2, 2, 22.0),
    ]
    assert [(row.name, row.requests) for row in more.subagents] == [("t/bb", 2), ("t/a", 1)]


def test_a_session_is_finished_where_its_lane_began_another_and_costs_its_share() -> None:
    found = told(gpu_usd_per_h=3.6, gpus=2.0)
    assert (found.sessions, found.recycled, found.finished) == (2, 1, 1)
    assert found.usd_per_session == pytest.approx(7.2 * found.span_s / 3600)
    assert told().usd_per_session is None


def test_a_session_that_a_refusal_ended_is_not_finished_and_the_overflow_is_told() -> None:
    summary = told_of([*RECORDS[:4], refused("0-0-0", 1800), RECORDS[4]])
    (found,) = summary.replays
    assert (found.recycled, found.finished) == (1, 0)
    assert any("over the server's context" in reason for reason in found.not_comparable)
    assert [f.severity for f in summary.findings if f.code == "context_overflows"] == ["doubt"]


def test_every_reason_against_a_comparison_is_told() -> None:
    rules = ReplayRules(name="smoke", duration_s=60, deviations=("duration_s: 60 -> 30",))
    target = TargetPlan("http://h", "m", endpoint_type="completions", stream=False)
    (found,) = told_of(rules=rules, target=target).replays
    reasons = " | ".join(found.not_comparable)
    for words in (
        "rules are `smoke`", "duration_s: 60 -> 30", "900 s", "corpus", "filler", "streamed",
        "chat endpoint",
    ):  # fmt: skip
        assert words in reasons


def test_answers_must_reach_the_end_of_a_publishable_duration() -> None:
    summary = told_of(rules=ReplayRules(duration_s=900))
    assert any("is wanted" in reason for reason in summary.replays[0].not_comparable)
    assert "coverage_short" in {finding.code for finding in summary.findings}
    short = told_of(rules=ReplayRules(duration_s=899))
    assert "coverage_short" not in {finding.code for finding in short.findings}
