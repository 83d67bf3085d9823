"""A trace with anything in place of one of its values is read or refused by name, never worse."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from loadgen.errors import InputError
from loadgen.workload.tree import turns_of
from loadgen.workload.weka import Trace, read_trace
from loadgen.workload.weka_json import dialect_of, oddities_of, parse_recording

INNER = {"t": 1.0, "type": "s", "model": "b", "in": 130, "out": 2, "hash_ids": [8, 9], "ttft": 0.1}
TRACE: dict[str, Any] = {
    "id": "t",
    "models": ["a", "b"],
    "block_size": 64,
    "hash_id_scope": "local",
    "tool_tokens": 60,
    "system_tokens": 4,
    "requests": [
        {"t": 0.0, "type": "n", "model": "a", "in": 70, "out": 1, "hash_ids": [0], "stop": ""},
        {"t": 2.0, "type": "subagent", "agent_id": "x", "duration_ms": 9, "requests": [INNER]},
        {"t": 9.0, "type": "n", "model": "a", "in": 128, "out": 1, "hash_ids": [0, 1]},
    ],
    "totals": {"combined": 5},
}

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


def places(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if path:
        yield path
    members = value.items() if isinstance(value, dict) else ()
    rows = enumerate(value) if isinstance(value, list) else ()
    for step, inner in (*members, *rows):
        yield from places(inner, (*path, step))


def read(document: bytes) -> Trace | None:
    """The trace, or None where it is refused under its name."""
    refusal = ""
    try:
        return read_trace(document, "t.json", relative=True)
    except InputError as refused:
        refusal = str(refused)
    if not refusal.startswith("`t.json`"):
        pytest.fail(f"refused without its name: {refusal}")
    return None


@given(st.sampled_from(sorted(places(TRACE), key=str)), VALUES)
@example(("requests", 0, "t"), 1.7e308)
@example(("requests", 1, "requests", 0, "t"), -1e300)
@example(("requests", 1, "duration_ms"), 1.7e308)
def test_any_value_anywhere_is_read_or_refused(path: tuple[str | int, ...], value: object) -> None:
    trace = json.loads(json.dumps(TRACE))
    place: Any = trace
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    document = json.dumps(trace).encode()
    if made := read(document):
        recording = parse_recording(document, "t.json")
        assert dialect_of(recording)[0] <= 1
        assert min(oddities_of(recording)) >= 0
        turns = turns_of(made)
        assert all(abs(turn.at_ns or 0) < 2**63 for turn in turns)
        assert all(0 <= wait.gap_ns < 2**63 for turn in turns for wait in turn.after)


@given(st.data())
def test_any_cut_and_any_changed_byte_is_read_or_refused(data: st.DataObject) -> None:
    document = bytearray(json.dumps(TRACE).encode())
    document[data.draw(st.integers(0, len(document) - 1))] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(0, len(document)))
    if made := read(bytes(document[:end])):
        assert len(turns_of(made)) >= 2
