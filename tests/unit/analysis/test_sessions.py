"""A replay's figures on hand-made records."""

from dataclasses import replace

import pytest
from msgspec import structs

from loadgen.analysis import summarise
from loadgen.analysis.requests import Requests
from loadgen.analysis.sessions import designed_hit, ids_of
from loadgen.model.exchange import Outcome, Phase, TurnKey
from loadgen.model.plan import ReplayRules, WorkloadPlan
from loadgen.model.record import EventKind, Events, Record, Usage
from loadgen.model.summary import ReplaySummary
from loadgen.store.tables import make_table
from tests.tables import recording

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


def told(rules: ReplayRules | None = None, **prices: float) -> ReplaySummary:
    base = recording([], "closed:1")
    plan = structs.replace(
        base.plan,
        replay=rules or ReplayRules(),
        workload=WorkloadPlan(format="agentx", ignore_eos=True),
        prices=dict(prices),
    )
    (found,) = summarise(replace(base, plan=plan, table=make_table(RECORDS))).replays
    return found


def test_designed_hits_count_leading_blocks_seen_before_in_the_same_play() -> None:
    table = make_table(RECORDS)
    requests = Requests(table)
    found = designed_hit(requests, requests.in_window_phase)
    assert found == pytest.approx((10 + 0 + 18 + 0) / (20 + 5 + 20 + 10))


def test_ids_come_out_of_pairs() -> None:
    assert ids_of("3,2,10,1") == [3, 4, 10]


def test_speed_tokens_and_hits_are_those_of_the_profiling() -> None:
    found = told()
    assert found.requests == 4
    assert found.itl_s["p90"] == pytest.approx(0.01)
    assert found.intvty_tps["p90"] == pytest.approx(100)
    assert found.cached_tok == 640 + 1152
    assert found.hit_measured == pytest.approx(1792 / (64 * 55 + 40))
    assert found.drift_frac == pytest.approx(40 / (64 * 55))
    assert found.fan_out_most == 1
    assert 0 < found.idle_frac < 1
    assert len(found.fan_out) == 20
    assert sum(found.fan_out) / 20 == pytest.approx(found.fan_out_mean, rel=1e-6)
    assert max(found.fan_out) == pytest.approx(1.0)


def test_agents_and_depths_stand_apart() -> None:
    found = told()
    assert [(agent.name, agent.requests) for agent in found.agents] == [
        ("main agent", 3),
        ("subagents", 1),
    ]
    assert [(row.first, row.last, row.requests) for row in found.depths] == [
        (0, 0, 1),
        (1, 1, 1),
        (2, 3, 1),
    ]


def test_a_session_is_finished_where_its_lane_began_another_and_costs_its_share() -> None:
    found = told(gpu_usd_per_h=3.6, gpus=2.0)
    assert (found.sessions, found.recycled, found.finished) == (2, 1, 1)
    assert found.usd_per_session == pytest.approx(7.2 * found.span_s / 3600)
    assert told().usd_per_session is None


def test_every_reason_against_a_comparison_is_told() -> None:
    rules = ReplayRules(name="smoke", duration_s=60, deviations=("duration_s: 60 -> 30",))
    reasons = " | ".join(told(rules).not_comparable)
    for words in ("rules are `smoke`", "duration_s: 60 -> 30", "900 s", "corpus", "filler", "last"):
        assert words in reasons
