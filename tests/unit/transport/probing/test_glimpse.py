"""What a probing answer shows: field names, markers, counts, and how its text arrived."""

import pytest

from loadgen.model.exchange import Exchange
from loadgen.transport.probing.glimpse import look_at
from tests.exchanges import (
    DONE,
    JSON,
    MS,
    STOP,
    data_event,
    delta_event,
    exchange_of,
    load_capture,
    text_event,
    usage_event,
)


@pytest.mark.parametrize(
    ("capture", "field"),
    [
        ("vllm-0.32-reasoning/reason_stream", "reasoning"),
        ("vllm-0.32-reasoning/reason_nostream", "reasoning"),
        ("llama.cpp-xllamacpp/reason_stream", "reasoning_content"),
        ("sglang-0.5.23/reason_stream", "reasoning_content"),
        ("llama.cpp-xllamacpp/chat_stream", None),
    ],
)
def test_the_reasoning_field_is_the_one_that_was_sent(capture: str, field: str | None) -> None:
    assert look_at(load_capture(capture).exchange()).reasoning_field == field


@pytest.mark.parametrize(
    ("capture", "done"),
    [("vllm-0.32-tools/chat_stream", True), ("transformers-serve-5.24/chat_stream", False)],
)
def test_the_done_marker_is_seen_or_missed(capture: str, done: bool) -> None:
    assert look_at(load_capture(capture).exchange()).done_marker is done


def test_running_usage_is_told_from_usage_at_the_end() -> None:
    once = look_at(load_capture("vllm-0.32-tools/chat_stream_usage").exchange())
    running = look_at(load_capture("vllm-0.32-tools/chat_stream_usage_cont").exchange())
    assert (once.usage_events, once.running_usage) == (1, False)
    assert running.running_usage


def test_token_ids_are_seen_where_they_hold_something() -> None:
    assert look_at(load_capture("vllm-0.32-tools/chat_stream_ids").exchange()).token_ids
    assert not look_at(load_capture("vllm-0.32-tools/chat_stream").exchange()).token_ids


def test_cached_tokens_count_as_reported_even_at_zero() -> None:
    usage = '"usage":{"prompt_tokens":5,"completion_tokens":1,"prompt_tokens_details":%s}'
    for details, reported in (('{"cached_tokens":0}', True), ("null", False)):
        event = data_event(f'{{"choices":[],{usage % details}}}')
        seen = look_at(exchange_of([(1, text_event("x") + STOP + event + DONE)]))
        assert seen.cached_tokens is reported


def test_a_role_event_without_text_is_told_from_text_at_once() -> None:
    role = delta_event('{"role":"assistant","content":""}')
    assert look_at(exchange_of([(1, role + text_event("x") + STOP)])).role_event_first is True
    assert look_at(exchange_of([(1, text_event("x") + STOP)])).role_event_first is False


def test_text_is_counted_by_the_read_that_brought_it() -> None:
    role = delta_event('{"role":"assistant","content":""}')
    one = text_event("x")
    reads = [(1, role + one), (2, one), (3, one * 2), (5, one * 10), (9, one + STOP + DONE)]
    seen = look_at(exchange_of(reads))
    assert seen.reads == (1, 1, 2, 10, 1)
    assert seen.alone_frac == pytest.approx(3 / 15)
    assert (seen.first_text_ns, seen.last_text_ns, seen.e2e_ns) == (MS, 9 * MS, 9 * MS)


def _broken() -> list[Exchange]:
    return [
        exchange_of([]),
        exchange_of([(1, b"<html>502</html>")], status=502, headers={}),
        exchange_of([(1, b"data: null\n\ndata: {\n\ndata: [DONE]\n\n")]),
        exchange_of([(1, b'{"choices":null}')], headers=JSON),
    ]


@pytest.mark.parametrize("exchange", _broken())
def test_nothing_is_seen_in_broken_answers(exchange: Exchange) -> None:
    seen = look_at(exchange)
    assert (seen.text_events, seen.first_text_ns, seen.usage_events) == (0, None, 0)
    assert seen.role_event_first is None


def test_a_whole_completion_shows_usage_and_no_stream_habits() -> None:
    seen = look_at(load_capture("llama.cpp-xllamacpp/chat_nostream").exchange(stream_asked=False))
    assert (seen.usage_events, seen.done_marker, seen.role_event_first) == (1, None, None)


def test_the_closing_usage_event_counts_once() -> None:
    stream = text_event("x") + STOP + usage_event(1) + DONE
    assert look_at(exchange_of([(1, stream)])).usage_events == 1
