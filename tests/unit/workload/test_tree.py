import json
from pathlib import Path

import pytest

from loadgen.model.session import Turn, Wait
from loadgen.workload.tree import runs_of, start_ms, start_range_ms, turns_of
from loadgen.workload.weka import Trace, TraceStream, TraceTurn, read_trace
from loadgen.workload.weka_json import Ids

TRACES = Path(__file__).parents[3] / "workloads" / "agentx"
SECOND = 1_000_000_000

HITS = {
    "trace_0011": (52_174, 54_458),
    "trace_0277": (35_139, 40_230),
    "trace_0279": (120_480, 127_153),
    "trace_0327": (58_979, 63_131),
    "trace_0331": (34_480, 35_909),
    "trace_0504": (343, 525),
}
"""Leading blocks already seen, and blocks, of each shipped trace."""


def shipped(name: str) -> Trace:
    path = TRACES / f"{name}.json"
    return read_trace(path.read_bytes(), path.name, relative=True)


def turn(at_s: float, api_s: float = 1.0, n_blocks: int = 0) -> TraceTurn:
    return TraceTurn(at_s, 64 * n_blocks, 10, Ids("I", range(n_blocks)), api_s, "m")


def tree(root: list[TraceTurn], *agents: TraceStream) -> dict[str, Turn]:
    streams = (TraceStream("root", "root", tuple(root)), *agents)
    return {one.turn_id: one for one in turns_of(Trace("t", 64, streams, ("m",)))}


def agent(
    name: str, starts_s: float, spawned_by: int, joined_by: int | None, n_turns: int = 1
) -> TraceStream:
    turns = tuple(turn(starts_s + at) for at in range(n_turns))
    return TraceStream(name, "Explore", turns, 0, spawned_by, joined_by, starts_s)


def test_trace_0277_waits_as_the_worked_example_says() -> None:
    turns = {one.turn_id: one.after for one in turns_of(shipped("trace_0277"))}
    assert turns["root/0"] == ()
    assert turns["root/1"] == (Wait("root/0", "done", 209_220_000_000), Wait("agent_001/3"))
    assert turns["root/7"] == (
        Wait("root/6", "done", 378_370_000_000),
        Wait("agent_002/11"),
        Wait("agent_003/16"),
    )
    assert turns["agent_001/0"] == (Wait("root/0"),)
    assert turns["agent_002/0"] == (Wait("root/0"),)
    assert turns["agent_003/0"] == (Wait("root/0", "done", 27_441_000_000),)
    assert turns["agent_004/0"] == (Wait("root/6"),)
    joined = {wait.turn_id for waits in turns.values() for wait in waits if wait.gap_ns == 0}
    assert not any(name == "agent_004/10" for name in joined)
    starts = [one.at_ns for one in turns_of(shipped("trace_0277")) if one.stream == "root"]
    expected = [0, 228, 248, 265, 282, 307, 347, 763, 818]
    assert starts == [at * SECOND for at in expected]


@pytest.mark.parametrize("name", sorted(HITS))
def test_the_blocks_of_a_shipped_trace_have_its_theoretical_hit(name: str) -> None:
    seen: set[int] = set()
    hit = total = 0
    for one in sorted(turns_of(shipped(name)), key=lambda made: made.at_ns or 0):
        ids = [
            first + step
            for first, count in zip(one.blocks[::2], one.blocks[1::2], strict=True)
            for step in range(count)
        ]
        total += len(ids)
        hit += next((at for at, block in enumerate(ids) if block not in seen), len(ids))
        seen.update(ids)
    assert (hit, total) == HITS[name]


@pytest.mark.parametrize("name", sorted(HITS))
def test_the_blocks_of_a_shipped_trace_are_those_of_its_file(name: str) -> None:
    loaded = json.loads((TRACES / f"{name}.json").read_bytes())
    main = [entry for entry in loaded["requests"] if entry["type"] != "subagent"]
    made = [one for one in turns_of(shipped(name)) if one.stream == "root"]
    assert [one.input_tok for one in made] == [entry["in"] for entry in main]
    for one, entry in zip(made, main, strict=True):
        pairs = zip(one.blocks[::2], one.blocks[1::2], strict=True)
        ids = [first + step for first, count in pairs for step in range(count)]
        assert ids == entry["hash_ids"]


def test_turns_have_neither_body_nor_less_than_one_token_to_answer() -> None:
    silent = TraceTurn(0.0, 100, 0, Ids("I", [1]), 0.0, "m")
    made = tree([silent])["root/0"]
    assert (made.body, made.input_tok, made.max_output_tok) == ((), 100, 1)
    assert (made.stream, made.at_ns, made.blocks) == ("root", 0, (1, 1))


def test_delays_run_from_the_end_of_one_answer_to_the_next_start() -> None:
    turns = tree([turn(0.0, 2.5), turn(10.0, 0.0), turn(10.0)])
    assert turns["root/1"].after == (Wait("root/0", "done", 7_500_000_000),)
    assert turns["root/2"].after == (Wait("root/1", "done", 0),)


def test_a_turn_that_started_before_the_last_answer_ended_waits_for_no_longer_than_it() -> None:
    assert tree([turn(0.0, 5.0), turn(3.0)])["root/1"].after == (Wait("root/0", "done", 0),)


def test_a_turn_inside_another_ones_answer_adds_no_wait_of_its_own() -> None:
    turns = tree([turn(0.0, 30.0), turn(1.0, 2.0), turn(35.0)])
    assert turns["root/1"].after == (Wait("root/0", "done", 0),)
    assert turns["root/2"].after == (Wait("root/1", "done", 5 * SECOND),)


def test_recorded_times_may_count_from_before_the_recording() -> None:
    turns = tree([turn(-5.0, 1.0), turn(2.0)])
    assert [one.at_ns for one in turns.values()] == [-5 * SECOND, 2 * SECOND]
    assert turns["root/1"].after == (Wait("root/0", "done", 6 * SECOND),)


def test_a_branch_starts_when_its_spawner_is_done_its_members_spaced_as_recorded() -> None:
    turns = tree(
        [turn(0.0, 2.0), turn(50.0)], agent("a", 30.0, 0, 1), agent("b", 12.0, 0, 1, n_turns=2)
    )
    assert turns["a/0"].after == (Wait("root/0", "done", 18 * SECOND),)
    assert turns["b/0"].after == (Wait("root/0", "done", 0),)
    assert turns["root/1"].after == (
        Wait("root/0", "done", 48 * SECOND),
        Wait("a/0"),
        Wait("b/1"),
    )


def test_a_branch_that_starts_before_its_spawner_ends_counts_from_its_sending() -> None:
    turns = tree([turn(10.0, 5.0), turn(50.0)], agent("a", 12.0, 0, 1), agent("b", 30.0, 0, 1))
    assert turns["a/0"].after == (Wait("root/0", "sent", 2 * SECOND),)
    assert turns["b/0"].after == (Wait("root/0", "sent", 20 * SECOND),)


def test_agents_with_other_joiners_are_branches_of_their_own() -> None:
    turns = tree(
        [turn(0.0, 5.0), turn(50.0), turn(60.0)],
        agent("a", 3.0, 0, 1),
        agent("b", 20.0, 0, 2),
        agent("c", 30.0, 0, None),
    )
    assert turns["a/0"].after == (Wait("root/0", "sent", 3 * SECOND),)
    assert turns["b/0"].after == (Wait("root/0", "done", 0),)
    assert turns["c/0"].after == (Wait("root/0", "done", 0),)


def test_the_time_scale_shortens_delays_offsets_and_recorded_times_alike() -> None:
    trace = Trace(
        "t",
        64,
        (
            TraceStream("root", "root", (turn(0.0, 2.0), turn(100.0))),
            agent("a", 10.0, 0, 1),
            agent("b", 30.0, 0, 1),
        ),
        ("m",),
    )
    turns = {one.turn_id: one for one in turns_of(trace, time_scale=0.01)}
    assert turns["root/1"].after[0] == Wait("root/0", "done", 980_000_000)
    assert turns["root/1"].at_ns == SECOND
    assert turns["b/0"].after == (Wait("root/0", "done", 200_000_000),)
    assert turns["b/0"].at_ns == 300_000_000


@pytest.mark.parametrize(
    ("ids", "runs"),
    [
        ([], ()),
        ([7], (7, 1)),
        ([1, 2, 3], (1, 3)),
        ([1, 2, 4, 5, 3], (1, 2, 4, 2, 3, 1)),
        ([3, 2, 1], (3, 1, 2, 1, 1, 1)),
        ([5, 5], (5, 1, 5, 1)),
        ([2**32 - 1, 0], (2**32 - 1, 1, 0, 1)),
    ],
)
def test_runs_are_pairs_of_first_id_and_count(ids: list[int], runs: tuple[int, ...]) -> None:
    assert runs_of(Ids("q", ids)) == runs
    assert runs_of(Ids("I", ids)) == runs


def test_first_plays_start_between_shares_of_all_streams_span() -> None:
    streams = (
        TraceStream("root", "root", (turn(100.0), turn(200.0))),
        agent("a", 150.0, 0, None, n_turns=151),
    )
    assert start_range_ms(Trace("t", 64, streams, ("m",)), 0.25, 0.75) == (150_000.0, 250_000.0)


@pytest.mark.parametrize(("lane", "drawn"), [(0, 651.8787518412184), (1, 282.68055764222754)])
def test_starts_are_drawn_as_the_published_vectors_say(lane: int, drawn: float) -> None:
    assert start_ms(42, "trace_0504", lane, 250.0, 750.0) == drawn
