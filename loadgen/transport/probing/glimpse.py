"""What one probing answer showed of the server's habits. Pure; reads one finished exchange."""

from collections import Counter
from dataclasses import dataclass

from loadgen.model.exchange import Exchange
from loadgen.model.record import EventKind, Record
from loadgen.transport.decoding.arrivals import take_arrivals
from loadgen.transport.decoding.decode import decode
from loadgen.transport.decoding.openai_events import Delta, Malformed, StreamEvent, read_event
from loadgen.transport.decoding.sse import DONE, looks_like_sse, split_events

ALONE_EVENTS = 3
"""A read with at most so many text events was not gathered by anybody."""


@dataclass(frozen=True, slots=True)
class Glimpse:
    """Times in ns since the request was sent; None where no text came.

    `reads` counts the text events that each read brought, in order. `alone_frac` is the share of
    text events that came in small reads, the first and the last read not counted. `starved_ns`
    is how long our own loop did not run while the answer came.
    """

    record: Record
    e2e_ns: int
    first_text_ns: int | None
    last_text_ns: int | None
    reads: tuple[int, ...]
    alone_frac: float
    role_event_first: bool | None
    done_marker: bool | None
    usage_events: int
    running_usage: bool
    cached_tokens: bool
    reasoning_field: str | None
    token_ids: bool
    starved_ns: int = 0

    @property
    def text_events(self) -> int:
        """Events with text of any channel."""
        return sum(self.reads)


def look_at(exchange: Exchange, secrets: tuple[str, ...] = (), starved_ns: int = 0) -> Glimpse:
    """The glimpse of one exchange. Never raises on any bytes."""
    record = decode(exchange, secrets=secrets)
    body = take_arrivals(exchange).body
    streamed = looks_like_sse(body)
    payloads = split_events(body).payloads if streamed else [body]
    events = [event for event in map(_read, payloads) if event is not None]
    sent_at_ns = exchange.sent_at_ns or exchange.due_at_ns
    rows = zip(record.events.at_ns, record.events.read_no, record.events.kind, strict=True)
    text = [(at, read) for at, read, kind in rows if kind != EventKind.OTHER]
    reads = tuple(Counter(read for _, read in text).values())
    usages = [event for event in events if event.usage and not event.usage.says_nothing()]
    return Glimpse(
        record=record,
        e2e_ns=(exchange.done_at_ns or sent_at_ns) - sent_at_ns,
        first_text_ns=text[0][0] - sent_at_ns if text else None,
        last_text_ns=text[-1][0] - sent_at_ns if text else None,
        reads=reads,
        alone_frac=_alone_frac(reads),
        role_event_first=_role_first(events) if streamed else None,
        done_marker=DONE in payloads if streamed else None,
        usage_events=len(usages),
        running_usage=streamed and len(usages) > 1 and len(usages) >= len(text) > 1,
        cached_tokens=any(event.usage and event.usage.cached_tok is not None for event in usages),
        reasoning_field=next(filter(None, map(_reasoning_field, events)), None),
        token_ids=any(choice.token_ids for event in events for choice in event.choices or ()),
        starved_ns=starved_ns,
    )


def _read(payload: bytes) -> StreamEvent | None:
    try:
        return None if payload == DONE else read_event(payload)
    except Malformed:
        return None


def _alone_frac(reads: tuple[int, ...]) -> float:
    inner = reads[1:-1]
    return sum(n for n in inner if n <= ALONE_EVENTS) / sum(reads) if reads else 0.0


def _deltas(event: StreamEvent) -> list[Delta]:
    found = (choice.delta or choice.message for choice in event.choices or ())
    return [delta for delta in found if delta is not None]


def _role_first(events: list[StreamEvent]) -> bool | None:
    """Whether the first chat event brings no text; None where no choice came or it is no chat."""
    deltas = _deltas(events[0]) if events else []
    if not deltas:
        return None
    first = deltas[0]
    return not (first.content or first.reasoning or first.reasoning_content or first.tool_calls)


def _reasoning_field(event: StreamEvent) -> str | None:
    for delta in _deltas(event):
        if delta.reasoning_content:
            return "reasoning_content"
        if delta.reasoning:
            return "reasoning"
    return None
