"""Every captured answer of real servers decodes to what a separate reading of its bytes found."""

import json
from typing import Any

import pytest

from loadgen.model.exchange import Outcome
from loadgen.model.record import EventKind, Record
from loadgen.transport.decoding.decode import decode
from loadgen.transport.decoding.sse import split_lines
from tests.exchanges import CAPTURES, capture_names, load_capture

EXPECTED: dict[str, dict[str, Any]] = json.loads((CAPTURES / "expected.json").read_text())
DOUBTS_OF_COUNTS = {"first_event_tok_unknown", "silent_tokens_possible"}


def decoded(name: str) -> Record:
    asked = EXPECTED[name]["stream_asked"]
    return decode(load_capture(name).exchange(stream_asked=asked), keep_text=True)


def said(record: Record) -> dict[str, Any]:
    text: dict[str, Any] = json.loads(record.output_text or "{}")
    return text


def test_every_capture_has_its_expectation() -> None:
    assert capture_names() == sorted(EXPECTED)
    assert len(EXPECTED) == 446


@pytest.mark.parametrize("name", capture_names())
def test_capture_ends_as_it_should(name: str) -> None:
    expected = EXPECTED[name]
    record = decoded(name)
    assert record.outcome == expected["outcome"]
    assert record.http_status == expected["status"]
    if "says" in expected:
        assert record.detail.startswith(expected["says"])


@pytest.mark.parametrize("name", [n for n in capture_names() if "kinds" in EXPECTED[n]])
def test_capture_holds_its_events_and_counts(name: str) -> None:
    expected = EXPECTED[name]
    record = decoded(name)
    assert len(record.events) == expected["events"]
    assert [list(record.events.kind).count(kind) for kind in EventKind] == expected["kinds"]
    assert [
        record.usage.input_tok,
        record.usage.cached_tok,
        record.usage.output_tok,
        record.usage.reasoning_tok,
    ] == expected["usage"]
    assert [record.own_tok, record.own_tok_source] == expected["own"]
    assert record.finish_reason == expected["finish_reason"]
    assert set(record.flags) - DOUBTS_OF_COUNTS == set(expected["flags"])


@pytest.mark.parametrize("name", [n for n in capture_names() if "content" in EXPECTED[n]])
def test_capture_holds_its_text_by_channel(name: str) -> None:
    expected = EXPECTED[name]
    record = decoded(name)
    text = said(record)
    calls = [[call["name"], call["arguments"]] for call in text.get("tool_calls", [])]
    others = [
        other["content"] or other.get("reasoning", "") for other in text.get("other_choices", [])
    ]
    assert text["content"] == expected["content"]
    assert text.get("reasoning", "") == expected.get("reasoning", "")
    assert calls == expected.get("tool_calls", [])
    assert others == expected.get("others", [])
    assert record.choices == 1 + len(others)
    assert record.tool_calls == len(calls)


@pytest.mark.parametrize("name", capture_names())
def test_quick_and_literal_reading_of_a_capture_agree(name: str) -> None:
    exchange = load_capture(name).exchange()
    assert decode(exchange, keep_text=True) == decode(exchange, keep_text=True, split=split_lines)


ENGINES = (
    "vllm-0.32-tools",
    "vllm-0.32-reasoning",
    "llama.cpp-xllamacpp",
    "sglang-0.5.23",
    "transformers-serve-5.24",
)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("name", "output_tok"),
    [("tool_auto_stream", 29), ("tool_two_stream", 58), ("reason_stream", 43)],
)
def test_trained_model_makes_the_same_tokens_in_every_engine(
    engine: str, name: str, output_tok: int
) -> None:
    assert decoded(f"{engine}/{name}").usage.output_tok == output_tok


@pytest.mark.parametrize(
    ("engine", "tool_events"),
    [("vllm-0.32-tools", 11), ("llama.cpp-xllamacpp", 10), ("sglang-0.5.23", 4)],
)
def test_the_same_tool_call_comes_in_other_numbers_of_events(engine: str, tool_events: int) -> None:
    record = decoded(f"{engine}/tool_auto_stream")
    assert list(record.events.kind).count(EventKind.TOOL) == tool_events
    assert said(record)["tool_calls"] == [{"name": "get_weather", "arguments": '{"city": "Paris"}'}]
    assert "silent_tokens_possible" in record.flags


@pytest.mark.parametrize("engine", ["vllm-0.32-reasoning", "llama.cpp-xllamacpp", "sglang-0.5.23"])
def test_reasoning_comes_before_the_answer_in_its_own_channel(engine: str) -> None:
    record = decoded(f"{engine}/reason_stream")
    kinds = [kind for kind in record.events.kind if kind]
    assert kinds == sorted(kinds)
    assert said(record)["reasoning"].strip().startswith("The user wants me to think.")
    assert said(record)["content"].strip() == "The answer is forty two."


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("vllm_sigterm_midstream", Outcome.TRUNCATED),
        ("vllm_engine_killed_midstream", Outcome.ERROR_IN_STREAM),
    ],
)
def test_dying_vllm_with_done_and_status_200_is_no_success(name: str, outcome: Outcome) -> None:
    capture = load_capture(f"failures/{name}")
    record = decoded(f"failures/{name}")
    assert capture.status == 200
    assert capture.complete
    assert capture.body.endswith(b"data: [DONE]\n\n")
    assert record.outcome is outcome


def test_token_ids_give_tokens_by_event() -> None:
    record = decoded("vllm-0.32-tools/chat_stream_ids")
    assert list(record.events.tok) == [0, 1, 1, 1, 1, 0]


def test_zeros_for_every_count_are_no_usage() -> None:
    record = decoded("litellm-proxy-1.108/compl_stream")
    assert record.usage.output_tok is None
    assert "usage_missing" in record.flags


def test_negative_count_is_unknown() -> None:
    assert decoded("xpyd-sim-0.5.0/err_max_tokens_neg").usage.output_tok is None
