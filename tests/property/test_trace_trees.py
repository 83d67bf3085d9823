"""Whatever a trace holds, its tree can be played: waits lead back to the root's first turn."""

import json
from collections import defaultdict
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from loadgen.model.session import Turn
from loadgen.workload.tree import turns_of
from loadgen.workload.weka import Trace, read_trace

QUARTERS = st.integers(0, 400).map(lambda number: number / 4)
"""Seconds that floats hold exactly, so that equal times are equal in both dialects."""


def requests(least: int, most: int) -> st.SearchStrategy[list[dict[str, Any]]]:
    one = st.fixed_dictionaries(
        {
            "t": QUARTERS,
            "type": st.sampled_from("ns"),
            "model": st.sampled_from(["a", "b"]),
            "in": st.integers(0, 500),
            "out": st.integers(0, 9),
            "hash_ids": st.lists(st.integers(0, 20), max_size=8),
        },
        optional={"api_time": st.none() | QUARTERS, "stop": st.sampled_from(["", "tool_use"])},
    )
    return st.lists(one, min_size=least, max_size=most)


@st.composite
def traces(draw: st.DrawFn) -> dict[str, Any]:
    """A trace in the relative dialect."""
    entries = draw(requests(1, 6))
    for number in range(draw(st.integers(0, 5))):
        entry = {"t": draw(QUARTERS), "type": "subagent", "agent_id": f"agent_{number}"}
        entry["requests"] = draw(requests(0, 4))
        entry["duration_ms"] = draw(st.none() | QUARTERS.map(lambda seconds: seconds * 1000))
        entries.append(entry)
    entries = draw(st.permutations(entries))
    return {"id": "t", "block_size": 64, "hash_id_scope": "local", "requests": entries}


def absolute(trace: dict[str, Any]) -> dict[str, Any]:
    """The same trace in the other dialect."""
    moved = json.loads(json.dumps(trace))
    for entry in moved["requests"]:
        for inner in entry.get("requests", []):
            inner["t"] += entry["t"]
    return dict(moved)


def read(trace: dict[str, Any], relative: bool = True) -> Trace:
    return read_trace(json.dumps(trace).encode(), "t.json", relative)


def by_stream(turns: tuple[Turn, ...]) -> dict[str, list[Turn]]:
    streams = defaultdict(list)
    for turn in turns:
        streams[turn.stream].append(turn)
    return streams


@given(traces())
def test_every_turn_can_be_reached_from_the_roots_first(trace: dict[str, Any]) -> None:
    turns = turns_of(read(trace))
    waits = {turn.turn_id: {wait.turn_id for wait in turn.after} for turn in turns}
    assert len(waits) == len(turns)
    played: set[str] = set()
    while ready := {name for name in waits if name not in played and waits[name] <= played}:
        assert played or ready == {"root/0"}
        played |= ready
    assert played == set(waits)


@given(traces())
def test_streams_stand_in_the_order_of_their_times_each_turn_after_the_last(
    trace: dict[str, Any],
) -> None:
    for name, turns in by_stream(turns_of(read(trace))).items():
        assert [turn.turn_id for turn in turns] == [f"{name}/{at}" for at in range(len(turns))]
        times = [turn.at_ns for turn in turns if turn.at_ns is not None]
        assert times == sorted(times)
        assert len(times) == len(turns)
        for last, turn in pairwise(turns):
            assert (turn.after[0].turn_id, turn.after[0].on) == (last.turn_id, "done")


@given(traces())
def test_no_wait_is_negative_and_only_chains_and_spawns_take_time(trace: dict[str, Any]) -> None:
    for turn in turns_of(read(trace)):
        assert all(wait.gap_ns >= 0 for wait in turn.after)
        assert all((wait.on, wait.gap_ns) == ("done", 0) for wait in turn.after[1:])


@given(traces())
def test_agents_are_joined_once_at_most_and_never_before_their_end(trace: dict[str, Any]) -> None:
    made = read(trace)
    streams = by_stream(turns_of(made))
    for agent in made.streams[1:]:
        last = streams[agent.name][-1].turn_id
        joiners = [
            at
            for at, turn in enumerate(streams["root"])
            if last in {wait.turn_id for wait in turn.after}
        ]
        assert joiners == ([] if agent.joined_by is None else [agent.joined_by])
        assert agent.spawned_by is not None
        assert all(at > agent.spawned_by for at in joiners)


@given(traces())
def test_blocks_are_the_ids_that_full_blocks_of_the_prompt_have(trace: dict[str, Any]) -> None:
    made = read(trace)
    for turn, recorded in zip(
        turns_of(made), (one for stream in made.streams for one in stream.turns), strict=True
    ):
        pairs = zip(turn.blocks[::2], turn.blocks[1::2], strict=True)
        assert [first + at for first, count in pairs for at in range(count)] == list(recorded.ids)
        assert len(recorded.ids) <= recorded.in_tok // 64


@given(traces())
def test_both_dialects_tell_the_same_story(trace: dict[str, Any]) -> None:
    assert read(absolute(trace), relative=False) == read(trace, relative=True)


@given(traces(), st.sampled_from([0.5, 2.0]))
def test_scaling_time_scales_every_delay_and_changes_nothing_else(
    trace: dict[str, Any], scale: float
) -> None:
    for plain, scaled in zip(turns_of(read(trace)), turns_of(read(trace), scale), strict=True):
        assert scaled.at_ns == (plain.at_ns or 0) * scale
        assert [wait.gap_ns for wait in scaled.after] == [w.gap_ns * scale for w in plain.after]
        assert [(w.turn_id, w.on) for w in scaled.after] == [(w.turn_id, w.on) for w in plain.after]
        assert (scaled.blocks, scaled.input_tok) == (plain.blocks, plain.input_tok)
