"""Field cases of SSE and response parsing: what went wrong for others, each with our behaviour."""

import json
from typing import Any

import pytest

from loadgen.model.exchange import Outcome
from loadgen.model.record import EventKind, Record
from loadgen.transport.decoding.decode import decode
from loadgen.transport.decoding.sse import MAX_EVENT_BYTES
from tests.exchanges import (
    DONE,
    JSON,
    MS,
    SSE,
    STOP,
    data_event,
    delta_event,
    exchange_of,
    text_event,
    usage_event,
)

Reads = list[tuple[float, bytes]]


def record_of(reads: Reads, **options: Any) -> Record:
    return decode(exchange_of(reads, **options), keep_text=True)


def said(record: Record) -> dict[str, Any]:
    text: dict[str, Any] = json.loads(record.output_text or "{}")
    return text


def text_times_ms(record: Record, *kinds: EventKind) -> list[float]:
    wanted = kinds or (EventKind.REASONING, EventKind.CONTENT, EventKind.TOOL)
    events = record.events
    return [at / MS for at, kind in zip(events.at_ns, events.kind, strict=True) if kind in wanted]


def test_keep_alive_comments_neither_start_nor_stop_the_clock() -> None:
    comments = [
        (float(at), b":\n\n" if at % 200 else b": keep-alive\n\n") for at in range(0, 500, 100)
    ]
    record = record_of([*comments, (500, text_event("a")), (520, STOP + DONE)])
    assert record.outcome is Outcome.OK
    assert text_times_ms(record) == [500]
    assert len(record.events) == 2
    assert "comments" in record.flags
    assert "malformed_event" not in record.flags


def test_comment_between_the_lines_of_one_event_changes_nothing() -> None:
    broken = text_event("a").replace(b"data: ", b": ping\ndata: ")
    assert said(record_of([(1, broken + STOP + DONE)]))["content"] == "a"


def test_no_space_after_the_colon() -> None:
    spaced = text_event("a") + STOP + DONE
    bare = spaced.replace(b"data: ", b"data:")
    assert said(record_of([(100, bare)])) == {"content": "a"}
    assert record_of([(100, bare)]).outcome is Outcome.OK
    assert text_times_ms(record_of([(100, bare)])) == text_times_ms(record_of([(100, spaced)]))


def test_prefix_inside_the_text_stays_text() -> None:
    record = record_of([(1, text_event("write data: x") + STOP + DONE)])
    assert said(record)["content"] == "write data: x"
    assert record.outcome is Outcome.OK


def test_character_cut_between_two_writes_is_whole() -> None:
    body = text_event("中") + STOP + DONE
    cut = body.index(b"\xe4") + 1
    record = record_of([(10, body[:cut]), (20, body[cut:])])
    assert said(record)["content"] == "中"
    assert record.outcome is Outcome.OK
    assert text_times_ms(record) == [20]


def test_character_cut_between_two_events_by_half_surrogates_is_whole() -> None:
    record = record_of([(1, text_event("\\ud83d") + text_event("\\ude00") + STOP + DONE)])
    assert said(record)["content"] == "😀"
    assert record.outcome is Outcome.OK


def test_three_events_in_one_write_share_one_arrival() -> None:
    record = record_of([(100, text_event("a") + text_event("b") + text_event("c")), (120, STOP)])
    assert text_times_ms(record) == [100, 100, 100]
    assert list(record.events.read_no)[:3] == [0, 0, 0]
    assert record.multi_event_reads == 1


def test_event_in_many_writes_arrives_with_its_last_byte() -> None:
    event = text_event("a")
    pieces = [event[start : start + 7] for start in range(0, len(event), 7)]
    reads = [(100.0 + no, piece) for no, piece in enumerate(pieces)]
    record = record_of([*reads, (900, STOP + DONE)])
    last_read = next(
        no for no in range(len(pieces)) if b"".join(pieces[: no + 1]).rstrip() == event.rstrip()
    )
    assert text_times_ms(record) == [100.0 + last_read]
    assert record.events.read_no[0] == last_read


def test_blank_line_that_comes_with_the_next_event_delays_nothing() -> None:
    first, second = text_event("a"), text_event("b")
    record = record_of([(100, first[:-1]), (200, first[-1:] + second[:-1]), (300, b"\n" + STOP)])
    assert text_times_ms(record) == [100, 200]


def test_very_long_line_is_kept_whole() -> None:
    event = delta_event('{"reasoning_content":"' + "r" * 300_000 + '"}')
    record = record_of([(100, event), (200, text_event("a") + STOP + DONE)])
    assert record.outcome is Outcome.OK
    assert record.reasoning_chars == 300_000
    assert said(record)["reasoning"] == "r" * 300_000
    assert text_times_ms(record) == [100, 200]


def test_event_beyond_the_limit_is_a_bad_stream_that_says_so() -> None:
    event = text_event("r" * MAX_EVENT_BYTES)
    record = decode(exchange_of([(100, event), (200, text_event("a") + STOP + DONE)]))
    assert record.outcome is Outcome.BAD_STREAM
    assert str(MAX_EVENT_BYTES) in record.detail
    assert record.content_chars == 1


def test_events_that_arrive_together_have_no_gap_and_are_counted() -> None:
    role = delta_event('{"role":"assistant","content":""}')
    first = (100.0, role + text_event("a") + text_event("b"))
    rest = [(120.0 + 20 * no, text_event("c")) for no in range(5)]
    record = record_of([first, *rest, (220, STOP + DONE)])
    assert text_times_ms(record) == [100, 100, 120, 140, 160, 180, 200]
    assert record.multi_event_reads == 1
    assert list(record.events.read_no)[1:3] == [0, 0]


def test_stream_without_done_marker_is_a_success_with_a_flag() -> None:
    record = record_of([(1, text_event("a")), (2, STOP), (3, usage_event(1))])
    assert record.outcome is Outcome.OK
    assert "no_done_marker" in record.flags
    assert record.usage.output_tok == 1


ERROR = '{"error":{"message":"engine died","type":"InternalServerError","code":500}}'


def test_error_object_in_mid_stream_is_a_failure_with_its_message_and_code() -> None:
    record = record_of([(1, text_event("a")), (2, text_event("b")), (3, data_event(ERROR) + DONE)])
    assert record.outcome is Outcome.ERROR_IN_STREAM
    assert "engine died" in record.detail
    assert "500" in record.detail
    assert "error_after_tokens" in record.flags
    assert said(record)["content"] == "ab"


@pytest.mark.parametrize(
    "event",
    [
        b'event: error\ndata: {"message":"overloaded"}\n\n',
        b"event: error\ndata: overloaded\n\n",
        b'data: {"error":"overloaded"}\n\n',
        b'data: {"error":{"error":{"message":"overloaded"}}}\n\n',
        b'data: {"object":"error","message":"overloaded","code":503}\n\n',
        b'data: {"type":"error","error":{"type":"x","message":"overloaded"}}\n\n',
        b'data: {"choices":[{"index":0,"error":{"message":"overloaded"}}]}\n\n',
        b'error: {"code":503,"message":"overloaded"}\n\n',
        b'{"error":{"message":"overloaded"}}\n\n',
    ],
)
def test_every_form_of_error_event_is_a_failure(event: bytes) -> None:
    record = record_of([(1, text_event("a")), (2, event), (3, STOP + usage_event(1) + DONE)])
    assert record.outcome is Outcome.ERROR_IN_STREAM
    assert record.detail.startswith("overloaded")


@pytest.mark.parametrize("nothing", ["null", '""', "{}", "[]", "0", "false", '{"message":""}'])
def test_error_member_that_says_nothing_is_no_error(nothing: str) -> None:
    record = record_of([(1, text_event("a", f',"error":{nothing}') + STOP + DONE)])
    assert record.outcome is Outcome.OK


QUOTA = b'{"error":{"message":"quota exceeded","type":"server_error"}}'


@pytest.mark.parametrize("headers", [JSON, SSE, {}])
def test_status_200_with_an_error_body_is_a_failure(headers: dict[str, str]) -> None:
    record = record_of([(50, QUOTA)], headers=headers)
    assert record.outcome is Outcome.ERROR_IN_STREAM
    assert record.detail == "quota exceeded (type server_error)"
    assert len(record.events) == 0


WHOLE = (
    b'{"choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}],'
    b'"usage":{"prompt_tokens":5,"completion_tokens":2}}'
)


def test_whole_completion_for_a_streaming_request_has_no_time_to_first_token() -> None:
    record = record_of([(100, WHOLE[:40]), (300, WHOLE[40:])], headers=JSON)
    assert record.outcome is Outcome.OK
    assert "not_streamed" in record.flags
    assert text_times_ms(record) == []
    assert list(record.events.at_ns) == [300 * MS]
    assert list(record.events.tok) == [2]
    assert said(record)["content"] == "hello"
    assert record.content_chars == 5


def test_whole_completion_that_was_asked_for_is_not_flagged() -> None:
    record = record_of([(100, WHOLE)], headers=JSON, stream_asked=False)
    assert record.outcome is Outcome.OK
    assert "not_streamed" not in record.flags
    assert record.own_tok is None


@pytest.mark.parametrize("members", ['"choices":[],', "", '"choices":null,'])
def test_usage_event_without_choices_moves_no_clock(members: str) -> None:
    counts = '"prompt_tokens":5,"completion_tokens":2,"total_tokens":7'
    usage = data_event(f'{{{members}"usage":{{{counts}}}}}')
    record = record_of([(100, text_event("a")), (120, STOP), (2000, usage + DONE)])
    assert record.outcome is Outcome.OK
    assert (record.usage.input_tok, record.usage.output_tok) == (5, 2)
    assert text_times_ms(record) == [100]
    assert list(record.events.tok)[1:] == [0, 0]


@pytest.mark.parametrize(
    "role", ['{"role":"assistant","content":""}', '{"role":"assistant","content":null}', "{}"]
)
def test_role_event_does_not_stop_the_clock(role: str) -> None:
    record = record_of([(5, delta_event(role)), (300, text_event("a")), (320, STOP + DONE)])
    assert text_times_ms(record) == [300]


@pytest.mark.parametrize("member", ["reasoning", "reasoning_content"])
def test_reasoning_and_answer_have_their_own_first_times(member: str) -> None:
    thoughts = [(100.0 + 20 * no, delta_event(f'{{"{member}":"Okay"}}')) for no in range(51)]
    record = record_of([*thoughts, (1120, text_event("a")), (1140, STOP + DONE)])
    assert text_times_ms(record)[0] == 100
    assert text_times_ms(record, EventKind.CONTENT) == [1120]
    assert len(text_times_ms(record)) == 52


def test_reasoning_sent_under_both_names_counts_once() -> None:
    both = delta_event('{"reasoning":"hm","reasoning_content":"hm"}')
    record = record_of([(1, both + STOP + DONE)])
    assert record.reasoning_chars == 2


def call_event(call: str) -> bytes:
    return delta_event(f'{{"tool_calls":[{call}]}}')


def test_fragments_of_a_tool_call_join_to_one() -> None:
    first = call_event('{"index":0,"id":"c1","function":{"name":"ls","arguments":""}}')
    pieces = ['{\\"p\\"', ':\\"/\\"', "}"]
    rest = [call_event(f'{{"index":0,"function":{{"arguments":"{piece}"}}}}') for piece in pieces]
    record = record_of([(1, first + b"".join(rest) + STOP + DONE)])
    assert record.tool_calls == 1
    assert said(record)["tool_calls"] == [{"name": "ls", "arguments": '{"p":"/"}'}]
    assert list(record.events.kind)[:4] == [EventKind.TOOL] * 4


def test_whole_calls_under_one_index_with_other_ids_are_several() -> None:
    calls = [
        call_event(f'{{"index":0,"id":"c{no}","function":{{"name":"ls","arguments":"{{}}"}}}}')
        for no in range(2)
    ]
    record = record_of([(1, calls[0] + calls[1] + STOP + DONE)])
    assert record.tool_calls == 2


def test_calls_without_index_join_by_their_names() -> None:
    events = [
        call_event('{"function":{"name":"ls","arguments":"{"}}'),
        call_event('{"function":{"arguments":"}"}}'),
        call_event('{"function":{"name":"cd","arguments":"{}"}}'),
    ]
    record = record_of([(1, b"".join(events) + STOP + DONE)])
    assert said(record)["tool_calls"] == [
        {"name": "ls", "arguments": "{}"},
        {"name": "cd", "arguments": "{}"},
    ]


def test_legacy_function_call_is_one_call() -> None:
    events = [
        delta_event('{"function_call":{"name":"ls","arguments":"{"}}'),
        delta_event('{"function_call":{"arguments":"}"}}'),
    ]
    record = record_of([(1, b"".join(events) + STOP + DONE)])
    assert said(record)["tool_calls"] == [{"name": "ls", "arguments": "{}"}]


def test_refusal_is_content() -> None:
    record = record_of([(1, delta_event('{"refusal":"no"}') + STOP + DONE)])
    assert said(record)["content"] == "no"
    assert list(record.events.kind) == [EventKind.CONTENT, EventKind.OTHER]


@pytest.mark.parametrize("output_tok", [0, 1])
def test_legitimate_empty_answer_is_a_success_with_a_flag(output_tok: int) -> None:
    role = delta_event('{"role":"assistant","content":""}')
    record = record_of([(1, role), (2, STOP), (3, usage_event(output_tok) + DONE)])
    assert record.outcome is Outcome.OK
    assert "empty_output" in record.flags
    assert text_times_ms(record) == []
    assert record.usage.output_tok == output_tok


def running(text: str, output_tok: int | None) -> bytes:
    if output_tok is None:
        return text_event(text, ',"usage":null')
    return text_event(text, f',"usage":{{"prompt_tokens":5,"completion_tokens":{output_tok}}}')


def test_running_usage_is_cumulative_and_null_is_ignored() -> None:
    counts = [None, 1, 3, 3, 6]
    events = [running("a" if count else "", count) for count in counts]
    reads = [(10.0 * no, event) for no, event in enumerate(events)]
    record = record_of([*reads, (90, STOP + usage_event(6) + DONE)])
    assert record.usage.output_tok == 6
    assert record.own_tok == 6
    assert record.own_tok_source == "running_usage"
    assert list(record.events.tok) == [0, 1, 2, 0, 3, 0, 0]
    assert "usage_summed" not in record.flags


def test_tokens_held_back_show_with_running_usage() -> None:
    reads: Reads = [(100 + 20 * no, running("", no + 1)) for no in range(3)]
    record = record_of([*reads, (160, running("abc", 4)), (180, STOP + usage_event(4) + DONE)])
    assert text_times_ms(record) == [160]
    assert list(record.events.tok)[:4] == [1, 1, 1, 1]
    assert record.events.at_ns[0] == 100 * MS
    assert "silent_tokens_possible" not in record.flags


def test_tokens_held_back_are_suspected_without_running_usage() -> None:
    empty = delta_event("{}")
    reads: Reads = [(100, empty), (120, empty), (140, empty), (160, text_event("abc"))]
    record = record_of([*reads, (180, STOP + usage_event(4) + DONE)])
    assert text_times_ms(record) == [160]
    assert "silent_tokens_possible" in record.flags
    assert "first_event_tok_unknown" in record.flags


def test_usage_event_does_not_reset_the_first_token() -> None:
    record = record_of([(100, text_event("a")), (110, STOP), (2000, usage_event(1) + DONE)])
    assert text_times_ms(record) == [100]


def test_four_tokens_an_event_are_four_tokens() -> None:
    reads = [(40.0 * no, running("abcd", 4 * (no + 1))) for no in range(25)]
    record = record_of([*reads, (1000, STOP + usage_event(100) + DONE)])
    assert sum(record.events.tok) == 100
    assert list(record.events.tok)[:25] == [4] * 25
    assert text_times_ms(record)[:3] == [0, 40, 80]


def test_twenty_tokens_in_one_write_are_all_kept() -> None:
    record = record_of([(100, b"".join([text_event("a")] * 20) + STOP + DONE)])
    assert len(text_times_ms(record)) == 20
    assert set(text_times_ms(record)) == {100}
    assert record.outcome is Outcome.OK
    assert record.multi_event_reads == 1
