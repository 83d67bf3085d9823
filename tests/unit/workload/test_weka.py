"""What the loader makes of good and bad traces; a trace is a Python object until it is written."""

import json
import math
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from loadgen.errors import InputError
from loadgen.workload.weka import Trace, read_trace

TRACES = Path(__file__).parents[3] / "workloads" / "agentx"

DEMO: dict[str, Any] = {
    "id": "demo",
    "models": ["m1"],
    "block_size": 64,
    "hash_id_scope": "local",
    "tool_tokens": 128,
    "system_tokens": 64,
    "requests": [
        {
            "t": 0.0,
            "type": "n",
            "model": "m1",
            "in": 300,
            "out": 70,
            "hash_ids": [1, 2, 3, 4],
            "input_types": ["text"],
            "output_types": ["tool_use"],
            "stop": "tool_use",
            "api_time": 2.5,
            "think_time": 0.0,
        },
        {
            "t": 3.0,
            "type": "subagent",
            "agent_id": "agent_001",
            "subagent_type": "Explore",
            "duration_ms": 9000,
            "total_tokens": 210,
            "tool_use_count": 1,
            "status": "completed",
            "models": ["m2"],
            "tool_tokens": 64,
            "system_tokens": 64,
            "requests": [
                {
                    "t": 0.5,
                    "type": "s",
                    "model": "m2",
                    "in": 200,
                    "out": 10,
                    "hash_ids": [9, 10, 11],
                    "api_time": 1.2,
                    "ttft": 0.4,
                }
            ],
        },
        {
            "t": 15.0,
            "type": "s",
            "model": "m1",
            "in": 520,
            "out": 40,
            "hash_ids": [1, 2, 3, 4, 5, 6, 7, 8],
            "api_time": 1.9,
            "ttft": 0.8,
            "think_time": 12.5,
        },
    ],
}


def changed(path: str, value: object) -> dict[str, Any]:
    """The demo trace with one member set, `requests.0.t`; `...` takes the member away."""
    trace = deepcopy(DEMO)
    *steps, last = path.split(".")
    place: Any = trace
    for step in steps:
        place = place[int(step)] if isinstance(place, list) else place[step]
    key: Any = int(last) if isinstance(place, list) else last
    if value is ...:
        del place[key]
    else:
        place[key] = value
    return trace


def read(trace: dict[str, Any], relative: bool = True) -> Trace:
    return read_trace(json.dumps(trace).encode(), "demo.json", relative)


def test_a_trace_becomes_streams_with_their_spawners_and_joiners() -> None:
    trace = read(DEMO)
    root, agent = trace.streams
    assert (trace.trace_id, trace.block_size, trace.prefix_tok) == ("demo", 64, 192)
    assert (root.name, root.kind, root.spawned_by, root.joined_by) == ("root", "root", None, None)
    assert [turn.at_s for turn in root.turns] == [0.0, 15.0]
    assert [list(turn.ids) for turn in root.turns] == [[1, 2, 3, 4], [1, 2, 3, 4, 5, 6, 7, 8]]
    assert (agent.name, agent.kind, agent.spawned_by, agent.joined_by) == (
        "agent_001",
        "Explore",
        0,
        1,
    )
    assert (agent.prefix_tok, agent.starts_s, agent.status) == (128, 3.0, "completed")
    assert trace.models == ("m1", "m2")
    assert trace.longest_tok == 560


def test_times_inside_a_subagent_count_from_its_entry_only_in_the_relative_dialect() -> None:
    assert read(DEMO, relative=True).streams[1].turns[0].at_s == 3.5
    absolute = changed("requests.1.requests.0.t", 3.25)
    assert read(absolute, relative=False).streams[1].turns[0].at_s == 3.25


def test_a_turn_answers_a_tool_if_it_says_so_or_if_the_last_answer_called_one() -> None:
    def results(trace: dict[str, Any]) -> list[bool]:
        return [turn.tool_result for turn in read(trace).streams[0].turns]

    assert results(DEMO) == [False, True]
    assert results(changed("requests.0.stop", "end_turn")) == [False, False]
    assert results(changed("requests.0.input_types", ["tool_result"])) == [True, True]


def test_the_agentx_dialect_has_neither_tools_nor_stops_nor_types() -> None:
    trace = changed("requests.1.requests.0.t", 3.5)
    for gone in ("tool_tokens", "system_tokens", "models"):
        del trace[gone]
        del trace["requests"][1][gone]
    for gone in ("input_types", "output_types", "stop"):
        del trace["requests"][0][gone]
    trace["requests"][0]["hash_ids"] = [0, 1, 2, 3]
    trace["requests"][0]["think_time"] = None
    read_back = read(trace, relative=False)
    assert read_back.prefix_tok == 0
    assert list(read_back.streams[0].turns[0].ids) == [0, 1, 2, 3]


def test_unsorted_requests_are_sorted_stream_by_stream() -> None:
    trace = deepcopy(DEMO)
    trace["requests"].reverse()
    assert read(trace) == read(DEMO)


def test_a_subagent_that_ends_after_the_last_turn_runs_in_the_background() -> None:
    agent = read(changed("requests.1.duration_ms", 12_001)).streams[1]
    assert (agent.spawned_by, agent.joined_by) == (0, None)


def test_a_subagent_that_ends_when_a_turn_starts_is_joined_by_it() -> None:
    assert read(changed("requests.1.duration_ms", 12_000)).streams[1].joined_by == 1


@pytest.mark.parametrize(("api_time", "joiner"), [(1.2, 1), (11.5, 1), (11.6, None), (None, 1)])
def test_a_subagent_without_a_duration_ends_with_its_last_answer(
    api_time: float | None, joiner: int | None
) -> None:
    trace = changed("requests.1.duration_ms", None)
    trace["requests"][1]["requests"][0]["api_time"] = api_time
    assert read(trace).streams[1].joined_by == joiner


def test_subagents_without_a_request_or_before_the_first_turn_are_not_played() -> None:
    assert len(read(changed("requests.1.requests", [])).streams) == 1
    assert len(read(changed("requests.1.t", -1.0)).streams) == 1


@pytest.mark.parametrize("api_time", [None, -3.0, ...])
def test_an_answer_without_a_sensible_duration_took_none(api_time: object) -> None:
    assert read(changed("requests.0.api_time", api_time)).streams[0].turns[0].api_s == 0.0


def test_surplus_block_ids_are_left_out() -> None:
    trace = changed("requests.0.hash_ids", [1, 2, 3, 4, 5, 6])
    assert list(read(trace).streams[0].turns[0].ids) == [1, 2, 3, 4]


@pytest.mark.parametrize("ids", [[1, 2, 3], [4, 5, 6]])
def test_prompts_with_too_few_block_ids_keep_those_they_have(ids: list[int]) -> None:
    turn = read(changed("requests.0.hash_ids", ids)).streams[0].turns[0]
    assert (turn.in_tok, list(turn.ids)) == (300, ids)


def test_a_prompt_may_have_no_block_at_all() -> None:
    trace = changed("requests.2.hash_ids", ...)
    assert list(read(trace).streams[0].turns[1].ids) == []


@pytest.mark.parametrize("ids", [[0, 2**32 - 1], [0, 2**32], [2**63 - 1, 0, 5, 5]])
def test_block_ids_of_any_size_are_kept(ids: list[int]) -> None:
    trace = changed("requests.2.hash_ids", ids)
    assert list(read(trace).streams[0].turns[1].ids) == ids


def test_a_prompt_and_an_answer_may_be_empty() -> None:
    trace = changed("requests.2.in", 0)
    trace["requests"][2]["out"] = 0
    turn = read(trace).streams[0].turns[1]
    assert (turn.in_tok, turn.out_tok, list(turn.ids)) == (0, 0, [])


WRONG = [
    ("id", ..., "$", "id"),
    ("id", "", "$.id", "a name of printable characters"),
    ("id", "a\nb", "$.id", "a name of printable characters"),
    ("requests.1.agent_id", "a\rb", "$.requests[1].agent_id", "printable characters"),
    ("block_size", ..., "$", "block_size"),
    ("block_size", 0, "$.block_size", ">= 1"),
    ("hash_id_scope", "global", "$.hash_id_scope", "'global'"),
    ("requests", ..., "$", "requests"),
    ("requests", [], "$.requests", "a request of the main agent was expected"),
    ("requests.0.t", ..., "$.requests[0]", "`t`"),
    ("requests.0.t", None, "$.requests[0].t", "None"),
    ("requests.0.t", "early", "$.requests[0].t", "'early'"),
    ("requests.0.t", math.nan, "$.requests[0].t", "finite number was expected; the value is nan"),
    ("requests.0.t", math.inf, "$.requests[0].t", "finite number was expected; the value is inf"),
    ("requests.1.t", math.nan, "$.requests[1].t", "finite number was expected; the value is nan"),
    ("requests.0.api_time", math.nan, "$.requests[0].api_time", "finite"),
    ("requests.1.duration_ms", math.inf, "$.requests[1].duration_ms", "finite"),
    ("requests.1.requests.0.t", -math.inf, "$.requests[1].requests[0].t", "-inf"),
    ("requests.0.t", 1.7e12, "$.requests[0].t", "at most 4e+09 seconds were expected"),
    ("requests.1.duration_ms", 1e300, "$.requests[1].duration_ms", "at most 4e+09 seconds"),
    ("requests.0.in", 10**12, "$.requests[0].in", "1000000000000"),
    ("requests.0.type", "x", "$.requests[0].type", "'x'"),
    ("requests.0.type", ..., "$.requests[0]", "`type`"),
    ("requests.0.in", ..., "$.requests[0]", "`in`"),
    ("requests.0.in", -1, "$.requests[0].in", "-1"),
    ("requests.0.in", 1.5, "$.requests[0].in", "1.5"),
    ("requests.0.out", ..., "$.requests[0]", "`out`"),
    ("requests.0.out", -7, "$.requests[0].out", "-7"),
    ("requests.0.model", ..., "$.requests[0]", "`model`"),
    ("requests.0.hash_ids", 5, "$.requests[0].hash_ids", "list of block ids was expected"),
    ("requests.0.hash_ids", [1, -2], "$.requests[0].hash_ids", "[1] is -2"),
    ("requests.0.hash_ids", [1, "a"], "$.requests[0].hash_ids", "[1] is 'a'"),
    ("requests.0.hash_ids", [True], "$.requests[0].hash_ids", "[0] is True"),
    ("requests.0.hash_ids", [1, 2, None], "$.requests[0].hash_ids", "[2] is None"),
    ("requests.0.hash_ids", [2**63], "$.requests[0].hash_ids", f"[0] is {2**63}"),
    ("requests.0.hash_id", [1], "$.requests[0]", "unknown field `hash_id`"),
    ("requests.1.agent_id", ..., "$.requests[1]", "`agent_id`"),
    ("requests.1.agent_id", "root", "$.requests[1].agent_id", "a name of its own"),
    ("requests.1.requests.0.in", -5, "$.requests[1].requests[0].in", "-5"),
    ("requests.1.requests.0.type", "subagent", "$.requests[1].requests[0].type", "'subagent'"),
    ("tool_tokens", 64 * 4, "$.tool_tokens", "(320 tokens) that fit into the 4 blocks"),
    ("requests.1.system_tokens", 129, "$.requests[1].tool_tokens", "(193 tokens)"),
]


@pytest.mark.parametrize(("path", "value", "place", "said"), WRONG)
def test_a_wrong_trace_is_refused_with_file_path_and_value(
    path: str, value: object, place: str, said: str
) -> None:
    with pytest.raises(InputError) as refused:
        read(changed(path, value))
    message = str(refused.value)
    assert message.startswith(f"`demo.json` at `{place}`: ")
    assert said in message


def test_two_subagents_of_one_name_are_refused() -> None:
    trace = deepcopy(DEMO)
    trace["requests"].append(trace["requests"][1])
    with pytest.raises(InputError, match=r"at `\$.requests\[3\].agent_id`: a name of its own"):
        read(trace)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "`demo.json`: no JSON"),
        (b"{", "`demo.json`: no JSON"),
        (json.dumps(DEMO).encode()[:-9], "`demo.json`: no JSON"),
        (json.dumps(DEMO).encode().replace(b"demo", b"d\xffmo"), "`demo.json`: not UTF-8 at byte"),
        (b"[" * 200_000, "`demo.json`"),
        (b'{"totals": {"a":' + b"[" * 200_000, "nested that deep"),
        (b"[]", "`demo.json` at `$`: "),
        (b"null", "`demo.json` at `$`: "),
        (b"{}\n{}", "`demo.json`"),
        (json.dumps(DEMO).encode().replace(b"15.0", b"1e999"), "at `$.requests[2].t`: "),
    ],
)
def test_what_is_no_trace_at_all_is_refused(text: bytes, said: str) -> None:
    with pytest.raises(InputError) as refused:
        read_trace(text, "demo.json", relative=True)
    assert said in str(refused.value)


def test_two_traces_in_one_document_get_the_hint_to_the_right_ending() -> None:
    text = json.dumps(DEMO).encode()
    with pytest.raises(InputError) as refused:
        read_trace(text + b"\n" + text, "demo.json", relative=True)
    assert refused.value.hint == "one trace a line belongs in a `.jsonl` file"
