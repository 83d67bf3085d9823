"""Decoding one exchange: outcomes, counts, flags, redaction, and what is kept of a failure."""

import json
import zlib
from array import array
from typing import Any

import pytest
from msgspec import structs

from loadgen.model.exchange import ConnectionInfo, Outcome
from loadgen.model.record import UNKNOWN_TOK, EventKind, Record
from loadgen.transport.decoding.decode import decode
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

GOOD = text_event("a") + text_event("b") + STOP + usage_event(2) + DONE


def record_of(body: bytes, **options: Any) -> Record:
    return decode(exchange_of([(10.0, body)] if body else [], **options), keep_text=True)


@pytest.mark.parametrize(
    ("body", "complete", "outcome"),
    [
        (GOOD, True, Outcome.OK),
        (text_event("a") + usage_event(1) + DONE, True, Outcome.OK),
        (text_event("a") + STOP, False, Outcome.OK),
        (text_event("a") + DONE, True, Outcome.TRUNCATED),
        (text_event("a"), True, Outcome.TRUNCATED),
        (text_event("a"), False, Outcome.TRUNCATED),
        (text_event("a")[:-9], True, Outcome.TRUNCATED),
        (text_event("a") + delta_event("{}", finish='"abort"') + DONE, True, Outcome.TRUNCATED),
        (delta_event('{"role":"assistant"}') + DONE, True, Outcome.EMPTY),
        (b"", True, Outcome.EMPTY),
        (b"", False, Outcome.TRUNCATED),
        (text_event("a") + b"data: {oops\n\n" + STOP + DONE, True, Outcome.BAD_STREAM),
        (text_event("a") + b"data: 7\n\n" + STOP + DONE, True, Outcome.BAD_STREAM),
        (text_event("a").replace(b'"a"', b'"\xff"') + STOP, True, Outcome.BAD_STREAM),
        (b"All servers healthy", True, Outcome.BAD_STREAM),
        (text_event("a") + delta_event("{}", finish='"length"'), True, Outcome.OK),
        (text_event("a") + delta_event("{}", finish='"content_filter"'), True, Outcome.OK),
        (text_event("a") + delta_event("{}", finish='"error"'), True, Outcome.ERROR_IN_STREAM),
        (b"data: null\n\n" + GOOD, True, Outcome.OK),
        (GOOD.replace(b"\n", b"\r\n"), True, Outcome.OK),
        (GOOD.replace(b"\n", b"\r"), True, Outcome.OK),
        (b"\xef\xbb\xbf" + GOOD, True, Outcome.OK),
    ],
)
def test_outcome_of_a_body(body: bytes, complete: bool, outcome: Outcome) -> None:
    headers = {} if body.startswith(b"All") else SSE
    assert record_of(body, complete=complete, headers=headers).outcome is outcome


@pytest.mark.parametrize("outcome", [Outcome.TIMEOUT_STALL, Outcome.CANCELLED, Outcome.UNFINISHED])
def test_transport_failure_is_the_outcome_and_what_came_is_kept(outcome: Outcome) -> None:
    body = text_event("a") + text_event("b")[:-12]
    record = record_of(body, failure=outcome, complete=False, detail="why")
    assert record.outcome is outcome
    assert record.detail == "why"
    assert len(record.events) == 1
    assert json.loads(record.output_text or "") == {"content": "a"}
    assert "malformed_event" not in record.flags


def test_refused_connection_has_no_counts() -> None:
    record = record_of(b"", status=None, failure=Outcome.REFUSED, detail="connection refused")
    assert record.outcome is Outcome.REFUSED
    assert (record.own_tok, record.own_tok_source, record.first_byte_at_ns) == (None, None, None)


def test_good_events_around_a_malformed_one_are_kept() -> None:
    record = record_of(text_event("a") + b"data: {oops\n\n" + text_event("b") + STOP + DONE)
    assert json.loads(record.output_text or "") == {"content": "ab"}
    assert "malformed_event" in record.flags
    assert "{oops" in record.detail


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b'{"error":{"message":"m","type":"t","code":4}}', "m (type t, code 4)"),
        (b'{"error":"Unauthorized"}', "Unauthorized"),
        (b'{"detail":"Not Found"}', "Not Found"),
        (b'{"detail":[{"msg":"bad body","loc":["body"]}]}', "bad body"),
        (b'[{"error":{"message":"m"}}]', "m"),
        (b"<html><head><title>502 Bad Gateway</title></head></html>", "502 Bad Gateway"),
        (b"Internal Server Error", "Internal Server Error"),
        (b'data: {"error":{"message":"m"}}\n\n', "m"),
        (b"a\nb\x1b[31m", "a\\nb\\x1b[31m"),
        (b"", ""),
    ],
)
def test_error_status_is_an_http_error_with_what_the_body_says(body: bytes, says: str) -> None:
    record = record_of(body, status=500, headers={})
    assert record.outcome is Outcome.HTTP_ERROR
    assert record.detail == says


def test_detail_is_bounded() -> None:
    record = record_of(b"x" * 100_000, status=500, headers={})
    assert len(record.detail) == 500
    assert record.detail.endswith("…")


def test_echoed_key_is_replaced_everywhere() -> None:
    key = 'sk-"canary'
    escaped = key.replace('"', '\\"')
    body = text_event(f"key {escaped} ") + data_event(f'{{"error":"bad key {escaped}"}}')
    record = decode(exchange_of([(1, body)]), keep_text=True, secrets=["", key])
    assert record.detail == "bad key [redacted]"
    assert json.loads(record.output_text or "") == {"content": "key [redacted] "}
    assert "canary" not in repr(record)


def test_key_cut_by_the_bound_of_detail_leaves_no_half() -> None:
    key = "sk-canary-" + "k" * 93
    record = decode(exchange_of([(1, b"data: " + key.encode() * 60 + b"\n\n")]), secrets=[key])
    assert record.outcome is Outcome.BAD_STREAM
    assert "[redacted][redacted]" in record.detail
    assert "sk-c" not in record.detail


def test_key_sent_in_pieces_is_replaced_in_the_text() -> None:
    body = text_event("sk-can") + text_event("ary!") + STOP + DONE
    record = decode(exchange_of([(1, body)]), keep_text=True, secrets=["sk-canary"])
    assert json.loads(record.output_text or "") == {"content": "[redacted]!"}


def test_transport_detail_is_redacted_too() -> None:
    exchange = exchange_of([], status=None, failure=Outcome.REFUSED, detail="no sk-canary here")
    assert decode(exchange, secrets=["sk-canary"]).detail == "no [redacted] here"


def test_text_is_kept_on_request_only() -> None:
    assert decode(exchange_of([(1, GOOD)])).output_text is None


def test_tokenizer_counts_the_whole_text_of_all_channels_once() -> None:
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return len(text)

    body = delta_event('{"reasoning":"r"}') + text_event("a") + text_event("b") + STOP + DONE
    record = decode(exchange_of([(1, body)]), count_tokens=count)
    assert counted == ["rab"]
    assert (record.own_tok, record.own_tok_source) == (3, "tokenizer")


def ids_event(text: str, ids: str) -> bytes:
    choice = f'{{"index":0,"delta":{{"content":"{text}"}},"token_ids":{ids}}}'
    return data_event(f'{{"choices":[{choice}]}}')


def test_token_ids_are_trusted_before_any_other_count() -> None:
    body = ids_event("", "[1]") + ids_event("ab", "[2,3]") + STOP + usage_event(3) + DONE
    record = decode(exchange_of([(1, body)]), count_tokens=len)
    assert list(record.events.tok) == [1, 2, 0, 0]
    assert (record.own_tok, record.own_tok_source) == (3, "token_ids")
    assert "first_event_tok_unknown" not in record.flags


def test_token_ids_that_miss_an_event_with_text_are_not_trusted() -> None:
    record = record_of(ids_event("a", "[1]") + text_event("b") + STOP + DONE)
    assert list(record.events.tok) == [UNKNOWN_TOK, UNKNOWN_TOK, 0]
    assert (record.own_tok, record.own_tok_source) == (2, "events")


def choice_event(index: int, text: str, finish: str = "null", more: str = "") -> bytes:
    choice = f'{{"index":{index},"delta":{{"content":"{text}"}},"finish_reason":{finish}}}'
    return data_event(f'{{"choices":[{choice}]{more}}}')


def running(total: int) -> str:
    return f',"usage":{{"prompt_tokens":5,"completion_tokens":{total}}}'


def test_one_sum_for_several_choices_is_taken_as_it_is() -> None:
    body = choice_event(0, "a", '"stop"') + choice_event(1, "b", '"stop"') + usage_event(2) + DONE
    record = record_of(body)
    assert record.usage.output_tok == 2
    assert record.choices == 2
    assert "several_choices" in record.flags
    assert "usage_summed" not in record.flags


def test_one_usage_a_choice_is_added_up_but_one_prompt_stays_one() -> None:
    body = b"".join(
        choice_event(index, "a", '"stop"') + usage_event(4, input_tok=19) for index in (1, 0)
    )
    record = record_of(body + DONE)
    assert (record.usage.input_tok, record.usage.output_tok) == (19, 8)
    assert "usage_summed" in record.flags


@pytest.mark.parametrize(
    "totals",
    [[(0, 1), (1, 1), (0, 3), (1, 2)], [(0, 1), (1, 2), (0, 4), (1, 5)]],
    ids=["by choice", "over all choices"],
)
def test_running_usage_of_several_choices_gives_tokens_by_event(
    totals: list[tuple[int, int]],
) -> None:
    events = [choice_event(index, "a", more=running(total)) for index, total in totals]
    ends = choice_event(0, "", '"stop"') + choice_event(1, "", '"stop"')
    record = record_of(b"".join(events) + ends + usage_event(5) + DONE)
    assert list(record.events.tok)[:4] == [1, 1, 2, 1]
    assert record.usage.output_tok == 5
    assert record.own_tok == 5


def test_choice_that_never_ended_is_truncated_when_the_stream_broke() -> None:
    body = choice_event(0, "a", '"stop"') + choice_event(1, "b")
    assert record_of(body, complete=False).outcome is Outcome.TRUNCATED


@pytest.mark.parametrize(
    "usage",
    [
        '{"prompt_tokens":5,"completion_tokens":-1}',
        '{"prompt_tokens":5,"completion_tokens":99999999999999999999}',
        '{"prompt_tokens":5,"completion_tokens":"many"}',
        '{"prompt_tokens":5,"completion_tokens":1.5}',
        '{"prompt_tokens":5,"completion_tokens":true}',
        '{"prompt_tokens":5}',
    ],
)
def test_absurd_count_is_unknown_never_zero(usage: str) -> None:
    record = record_of(text_event("a") + STOP + data_event(f'{{"usage":{usage}}}') + DONE)
    assert record.outcome is Outcome.OK
    assert (record.usage.input_tok, record.usage.output_tok) == (5, None)
    assert "usage_missing" in record.flags


def test_odd_but_readable_types_lose_no_text() -> None:
    parts = '{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}'
    choice = '{"index":null,"delta":{"content":"c"},"logprobs":{"top":NaN}}'
    body = delta_event(parts) + data_event(f'{{"choices":[{choice}]}}') + STOP + DONE
    record = record_of(body)
    assert record.outcome is Outcome.OK
    assert json.loads(record.output_text or "") == {"content": "abc"}


def test_text_of_an_unreadable_type_is_malformed_not_lost() -> None:
    assert record_of(delta_event('{"content":7}') + STOP + DONE).outcome is Outcome.BAD_STREAM


def test_nesting_without_end_is_malformed() -> None:
    deep = b'data: {"x":' + b"[" * 200_000 + b"\n\n"
    assert record_of(deep + GOOD).outcome is Outcome.BAD_STREAM


def test_event_of_two_channels_has_the_most_answer_like_kind() -> None:
    record = record_of(delta_event('{"reasoning":"ab","content":"c"}') + STOP + DONE)
    assert list(record.events.kind) == [EventKind.CONTENT, EventKind.OTHER]
    assert list(record.events.chars) == [3, 0]
    assert (record.reasoning_chars, record.content_chars) == (2, 1)


def test_completions_text_is_content() -> None:
    choice = '{"index":0,"text":"a","finish_reason":"stop"}'
    record = record_of(data_event(f'{{"choices":[{choice}]}}') + DONE)
    assert list(record.events.kind) == [EventKind.CONTENT]


def test_lag_of_the_loop_is_counted_and_late_shared_reads_flagged() -> None:
    reads = [(10.0, text_event("a") + text_event("b")), (20.0, STOP + DONE)]
    late = decode(exchange_of(reads, seen_late_ms=3))
    assert (late.seen_lag_max_ns, late.seen_lag_sum_ns) == (3 * MS, 6 * MS)
    assert "late_stamps" in late.flags
    assert "late_stamps" not in decode(exchange_of(reads, seen_late_ms=0.2)).flags
    assert "late_stamps" not in decode(exchange_of(reads)).flags


def test_bound_of_a_late_shared_read_reaches_back_to_the_read_before() -> None:
    reads = [(10.0, text_event("a")), (210.0, text_event("b") + text_event("c") + STOP + DONE)]
    late = decode(exchange_of(reads, seen_late_ms=2))
    assert "late_stamps" in late.flags
    assert late.seen_lag_max_ns == 200 * MS


def test_a_read_of_several_events_in_a_late_look_is_late_though_its_own_end_was_fresh() -> None:
    reads = [(10.0, text_event("a")), (210.0, text_event("b") + text_event("c") + STOP + DONE)]
    exchange = exchange_of(reads, seen_late_ms=0.01)
    assert "late_stamps" not in decode(exchange).flags
    seen_ns = array("q", exchange.seen_at_ns)[1]
    late_reads = array("q", [1, seen_ns - 150 * MS]).tobytes()
    late = decode(structs.replace(exchange, late_reads=late_reads))
    assert "late_stamps" in late.flags
    assert late.seen_lag_max_ns == 150 * MS


def test_late_reads_of_one_event_each_are_exact() -> None:
    reads = [(10.0, text_event("a")), (20.0, text_event("b")), (30.0, STOP + DONE)]
    assert "late_stamps" not in decode(exchange_of(reads, seen_late_ms=3)).flags


def test_lag_is_never_negative() -> None:
    record = decode(exchange_of([(10.0, GOOD)], seen_late_ms=-5))
    assert (record.seen_lag_max_ns, record.seen_lag_sum_ns) == (0, 0)


def test_first_byte_is_the_read_that_brought_body() -> None:
    record = decode(exchange_of([(10.0, b""), (30.0, GOOD)]))
    assert record.first_byte_at_ns == 30 * MS
    assert record.reads == 2
    assert record.received_bytes == len(GOOD)


def test_transport_oddities_become_flags() -> None:
    record = record_of(
        GOOD, connection=ConnectionInfo(reused=True, stale_reconnects=1), clock_step_ns=5 * MS
    )
    assert {"stale_reconnect", "clock_stepped"} <= set(record.flags)
    assert "clock_stepped" not in record_of(GOOD, clock_step_ns=900).flags


def test_compressed_stream_keeps_its_arrivals() -> None:
    plain = [text_event("a"), text_event("b"), STOP + DONE]
    packer = zlib.compressobj(wbits=31)
    pieces = [packer.compress(piece) + packer.flush(zlib.Z_SYNC_FLUSH) for piece in plain]
    pieces[-1] += packer.flush()
    reads = [(10.0 * no, piece) for no, piece in enumerate(pieces)]
    record = decode(exchange_of(reads, headers={**SSE, "Content-Encoding": "gzip"}))
    assert record.outcome is Outcome.OK
    assert [at // MS for at in record.events.at_ns] == [0, 10, 20]


@pytest.mark.parametrize("encoding", ["gzip", "br"])
def test_unreadable_compression_is_a_bad_stream(encoding: str) -> None:
    record = record_of(b"garbage", headers={**SSE, "content-encoding": encoding})
    assert record.outcome is Outcome.BAD_STREAM
    assert "compression" in record.detail or encoding in record.detail


def test_whole_completion_cut_short_is_truncated() -> None:
    record = record_of(b'{"choices":[{"index":0,"mess', headers=JSON, complete=False)
    assert record.outcome is Outcome.TRUNCATED


def test_whole_completion_of_several_choices() -> None:
    choices = ",".join(
        f'{{"index":{no},"message":{{"content":"{no}"}},"finish_reason":"stop"}}' for no in (0, 1)
    )
    usage = '{"prompt_tokens":5,"completion_tokens":2}'
    body = f'{{"choices":[{choices}],"usage":{usage}}}'.encode()
    record = record_of(body, headers=JSON, stream_asked=False)
    assert record.choices == 2
    assert record.usage.output_tok == 2
    assert json.loads(record.output_text or "") == {
        "content": "0",
        "other_choices": [{"content": "1"}],
    }


def test_request_never_sent_is_dropped_and_unanswered_is_truncated() -> None:
    unanswered = exchange_of([], status=None, complete=False)
    assert decode(unanswered).outcome is Outcome.TRUNCATED
    assert decode(structs.replace(unanswered, sent_at_ns=None)).outcome is Outcome.DROPPED
