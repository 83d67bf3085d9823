"""An `Exchange` to a `Record`: pure, for any bytes, exactly one outcome.

Off the hot path: a scribe process calls it, or a worker for the one stream whose text the next
turn needs.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import compress

from loadgen.model.exchange import Exchange, Outcome
from loadgen.model.record import UNKNOWN_TOK, EventKind, Events, Record, TokenSource, Usage
from loadgen.transport.decoding.answer import ABORTS, output_json
from loadgen.transport.decoding.arrivals import Arrivals, header, take_arrivals
from loadgen.transport.decoding.error_text import clean_detail, redact
from loadgen.transport.decoding.outcomes import judge
from loadgen.transport.decoding.reading import Reading, read_body
from loadgen.transport.decoding.sse import Framed, split_events
from loadgen.transport.decoding.token_counts import token_column
from loadgen.transport.wire.lateness import LATE_NS
from loadgen.units import NS_PER_MS

_MAX_REASON_CHARS = 64
_STEP_NS = NS_PER_MS


def decode(
    exchange: Exchange,
    *,
    keep_text: bool = False,
    count_tokens: Callable[[str], int] | None = None,
    secrets: Sequence[str] = (),
    split: Callable[[bytes], Framed] = split_events,
) -> Record:
    """The record of one exchange; what came before a failure is kept in it.

    `secrets` are replaced in `detail`, `finish_reason` and `output_text`. `split` is for tests,
    which hold the quick and the literal reading of a stream against each other.
    """
    arrivals = take_arrivals(exchange)
    reading = read_body(arrivals, header(exchange, "content-type").lower(), split)
    outcome, detail = judge(exchange, arrivals, reading)
    hidden = [*secrets, *(output_json(secret)[1:-1] for secret in secrets)]
    answer = reading.answer
    usage, summed = reading.notes.final(len(answer.said), answer.chat)
    tok, own_tok, source = _own_count(reading, count_tokens)
    if reading.whole:
        counted = own_tok if usage.output_tok is None else usage.output_tok
        tok = [UNKNOWN_TOK if counted is None else counted]
    shared = _shared_reads(reading)
    late = _late_reads(arrivals, shared)
    flags = {
        "usage_summed": summed,
        "late_stamps": bool(late),
        **_flags_of_transport(exchange),
        **_flags_of_end(exchange, reading, outcome, usage),
        **_flags_of_counts(reading, tok, usage),
    }
    return Record(
        key=exchange.key,
        outcome=outcome,
        due_at_ns=exchange.due_at_ns,
        sent_at_ns=exchange.sent_at_ns,
        written_at_ns=exchange.written_at_ns,
        headers_at_ns=exchange.headers_at_ns,
        first_byte_at_ns=arrivals.first_byte_at_ns,
        done_at_ns=exchange.done_at_ns,
        connection=exchange.connection,
        base_url=exchange.base_url,
        stream_asked=exchange.stream_asked,
        attempt=exchange.attempt,
        http_status=exchange.http_status,
        detail=clean_detail(detail, hidden),
        finish_reason=clean_detail(answer.finish_reason, hidden, _MAX_REASON_CHARS),
        flags=tuple(name for name, raised in flags.items() if raised),
        usage=usage,
        own_tok=own_tok,
        own_tok_source=source,
        input_tok=exchange.input_tok,
        max_output_tok=exchange.max_output_tok,
        sent_bytes=exchange.sent_bytes,
        received_bytes=arrivals.received_bytes,
        reads=len(arrivals.at_ns),
        multi_event_reads=len(shared),
        seen_lag_max_ns=max([0, *arrivals.lag_ns, *late.values()]),
        seen_lag_sum_ns=sum(arrivals.lag_ns),
        stamp_kind=exchange.stamp_kind,
        tool_calls=answer.tool_calls,
        choices=len(answer.said),
        reasoning_chars=answer.reasoning_chars,
        content_chars=answer.content_chars,
        tool_chars=answer.tool_chars,
        blocks=exchange.blocks,
        events=_events(exchange, arrivals, reading, tok),
        output_text=redact(output_json(answer.output_text()), hidden) if keep_text else None,
    )


def _events(exchange: Exchange, arrivals: Arrivals, reading: Reading, tok: list[int]) -> Events:
    stamps = arrivals.at_ns
    if stamps:
        at_ns = [stamps[no] for no in reading.read_no]
    else:
        at_ns = [exchange.done_at_ns or exchange.due_at_ns] * len(reading.read_no)
    return Events(
        at_ns=array("q", at_ns),
        read_no=array("i", reading.read_no),
        kind=array("B", reading.kinds),
        tok=array("i", tok),
        chars=array("i", reading.chars),
    )


def _shared_reads(reading: Reading) -> list[int]:
    """Reads that brought more than one event with text."""
    by_read = Counter(compress(reading.read_no, reading.kinds))
    return [read_no for read_no, events in by_read.items() if events > 1]


def _late_reads(arrivals: Arrivals, shared: list[int]) -> dict[int, int]:
    """Shared reads of which an event may have lain too long, each with that bound, ns.

    The stamp is the last event's, so its own lag says nothing of those before it. They have lain
    since the instant that the transport noted, or this stream's read before, whichever is later.
    """
    at_ns, lag_ns = arrivals.at_ns, arrivals.lag_ns
    if not lag_ns:
        return {}
    waits: dict[int, int] = {}
    for no in shared:
        seen_ns = at_ns[no] + lag_ns[no]
        since_ns = arrivals.late.get(no, 0 if lag_ns[no] > LATE_NS else at_ns[no])
        if no:
            since_ns = max(since_ns, at_ns[no - 1] + lag_ns[no - 1])
        wait_ns = seen_ns - (since_ns or at_ns[no])
        if wait_ns > LATE_NS:
            waits[no] = wait_ns
    return waits


def _own_count(
    reading: Reading, count_tokens: Callable[[str], int] | None
) -> tuple[list[int], int | None, TokenSource | None]:
    """(tokens by event, our count of the output, where it comes from), the best source first."""
    kinds = reading.kinds
    notes = reading.notes
    by_ids = notes.by_ids(kinds)
    if by_ids is not None:
        return token_column(kinds, by_ids), sum(by_ids.values()), "token_ids"
    running = notes.by_running_usage()
    if running is not None:
        return token_column(kinds, running), sum(running.values()), "running_usage"
    tok = token_column(kinds, None)
    if not kinds:
        return tok, None, None
    if count_tokens is not None:
        return tok, sum(count_tokens(text) for text in reading.answer.texts()), "tokenizer"
    if reading.whole:
        return tok, None, None
    return tok, reading.text_events, "events"


def _flags_of_transport(exchange: Exchange) -> dict[str, bool]:
    return {
        "stale_reconnect": exchange.connection.stale_reconnects > 0,
        "clock_stepped": abs(exchange.clock_step_ns) > _STEP_NS,
    }


def _flags_of_end(
    exchange: Exchange, reading: Reading, outcome: Outcome, usage: Usage
) -> dict[str, bool]:
    ok = outcome is Outcome.OK
    return {
        "no_done_marker": reading.streamed and exchange.complete and ok and not reading.done,
        "empty_output": ok and not reading.has_text,
        "not_streamed": exchange.stream_asked and reading.whole,
        "usage_missing": ok and usage.output_tok is None,
        "several_choices": len(reading.answer.said) > 1,
        "comments": reading.comments > 0,
        "malformed_event": reading.streamed and bool(reading.malformed),
        "finish_abort": reading.answer.finish_reason in ABORTS,
        "error_after_tokens": bool(reading.error) and reading.has_text,
    }


def _flags_of_counts(reading: Reading, tok: list[int], usage: Usage) -> dict[str, bool]:
    """Doubts about the first event's tokens; none where the server told them by event."""
    first = next((no for no, kind in enumerate(reading.kinds) if kind), None)
    if first is None or tok[first] != UNKNOWN_TOK:
        return {}
    # each choice may end with one token that has no text
    visible = reading.text_events + len(reading.answer.said)
    more_counted = usage.output_tok is not None and usage.output_tok > visible
    held_back = reading.kinds[first] == EventKind.TOOL
    return {
        "first_event_tok_unknown": True,
        "silent_tokens_possible": more_counted or held_back,
    }
