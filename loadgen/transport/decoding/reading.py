"""One response body read: columns of events, the answer, what was odd. No verdict, no Record.

A whole (not streamed) completion is one event of kind OTHER without characters, at the read that
completed the body: its tokens have no times of their own, so it has no time to first token, while
its end is known and its tokens are counted where they arrived.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from loadgen.transport.decoding.answer import Answer
from loadgen.transport.decoding.arrivals import Arrivals
from loadgen.transport.decoding.error_text import describe_error, says_something
from loadgen.transport.decoding.openai_events import (
    Malformed,
    StreamEvent,
    load_json,
    read_event,
    read_events,
)
from loadgen.transport.decoding.sse import (
    DONE,
    MAX_EVENT_BYTES,
    Framed,
    looks_like_sse,
    split_events,
)
from loadgen.transport.decoding.token_counts import TokenNotes


@dataclass(slots=True)
class Reading:
    """Columns of one entry an event (`kinds`, `chars`, `read_no`), and what came besides."""

    kinds: list[int] = field(default_factory=list)
    chars: list[int] = field(default_factory=list)
    read_no: list[int] = field(default_factory=list)
    answer: Answer = field(default_factory=Answer)
    notes: TokenNotes = field(default_factory=TokenNotes)
    streamed: bool = False
    whole: bool = False
    """A completion came in one piece."""
    done: bool = False
    comments: int = 0
    error: str = ""
    """The first error that said something; empty where there was none."""
    malformed: str = ""
    """Why the first unreadable event was unreadable; empty where all were read."""
    cut_inside: bool = False
    """The body ended inside its last event."""

    @property
    def text_events(self) -> int:
        """Events that brought text in any channel."""
        return len(self.kinds) - self.kinds.count(0)

    @property
    def has_text(self) -> bool:
        """True where any channel of any choice holds text."""
        answer = self.answer
        return bool(answer.content_chars or answer.reasoning_chars or answer.tool_chars)


def read_body(
    arrivals: Arrivals,
    content_type: str,
    split: Callable[[bytes], Framed] = split_events,
) -> Reading:
    """The body read as what it is, whatever its content type claims. Never raises."""
    body = arrivals.body
    if not body.strip():
        return Reading(streamed="event-stream" in content_type)
    if looks_like_sse(body) or ("event-stream" in content_type and not _is_json_or_html(body)):
        return _read_stream(arrivals, split(body))
    return _read_whole(arrivals)


def _is_json_or_html(body: bytes) -> bool:
    return body[:4096].lstrip().startswith((b"{", b"[", b"<"))


def _read_stream(arrivals: Arrivals, framed: Framed) -> Reading:
    reading = Reading(streamed=True, comments=framed.comments)
    kinds, chars, read_nos = reading.kinds, reading.chars, reading.read_no
    add = reading.answer.add
    ends = arrivals.ends
    if framed.payloads and framed.payloads[-1] == DONE:
        framed.payloads.pop()
        reading.done = True
    last_read = len(ends) - 1
    read_no = 0
    ended: int | None = None
    for event, end in zip(_events_of(reading, framed), framed.ends, strict=False):
        if event is None:
            continue
        while read_no < last_read and ends[read_no] < end:
            read_no += 1
        kind, length = add(event)
        choices = event.choices
        if event.usage is not None or (choices and choices[0].token_ids is not None):
            reading.notes.note(len(kinds), event, ended)
        ended = choices[0].index if choices and choices[0].finish_reason else None
        kinds.append(kind)
        chars.append(length)
        read_nos.append(read_no)
    return reading


def _events_of(reading: Reading, framed: Framed) -> Iterable[StreamEvent | None]:
    """The event of each payload, None where it holds none; what was odd is noted in `reading`.

    A usual stream is decoded in one call, which costs half of one call an event.
    """
    payloads = framed.payloads
    if not framed.names and max(map(len, payloads), default=0) <= MAX_EVENT_BYTES:
        events = read_events(payloads)
        if events is not None:
            for event in events:
                _note_error(reading, event, b"")
            return events
    return (
        _take_event(reading, framed, number, payload) for number, payload in enumerate(payloads)
    )


def _take_event(
    reading: Reading, framed: Framed, number: int, payload: bytes
) -> StreamEvent | None:
    """The event of a payload; None where it holds none, which is noted in `reading`."""
    named_error = bool(framed.names) and framed.names.get(number) == "error"
    try:
        if len(payload) > MAX_EVENT_BYTES:
            raise Malformed(f"an event of {len(payload)} bytes, longer than {MAX_EVENT_BYTES}")
        event = read_event(payload)
    except Malformed as problem:
        _note_unreadable(reading, framed, number, str(problem), named_error)
        return None
    if event is not None:
        _note_error(reading, event, payload if named_error else b"")
    return event


def _note_unreadable(
    reading: Reading, framed: Framed, number: int, problem: str, named_error: bool
) -> None:
    payload = framed.payloads[number]
    if payload.strip() == DONE:
        reading.done = True
    elif named_error:
        reading.error = reading.error or payload.decode("utf-8", "replace")
    elif framed.cut_inside and number == len(framed.payloads) - 1:
        reading.cut_inside = True
    elif not reading.malformed:
        reading.malformed = f"{problem}: {_start(payload)}"


def _note_error(reading: Reading, event: StreamEvent, named: bytes) -> None:
    """Keeps what an error member says; `named` is the payload of an event named `error`."""
    choices = event.choices
    error: Any = event.error
    if error is None and choices and choices[0].error is not None:
        error = choices[0].error
    if error is None and not named:
        return
    if reading.error:
        return
    if says_something(error):
        reading.error = describe_error(error)
    elif named:
        reading.error = describe_error(load_json(named))


def _read_whole(arrivals: Arrivals) -> Reading:
    reading = Reading()
    body = arrivals.body
    try:
        event = read_event(body)
    except Malformed as problem:
        _note_no_completion(reading, body, str(problem))
        return reading
    if event is not None:
        _note_error(reading, event, b"")
    if event is None or not event.choices:
        if not reading.error:
            reading.malformed = f"no completion: {_start(body)}"
        return reading
    reading.whole = True
    reading.answer.add(event)
    reading.notes.note(0, event, None)
    reading.kinds.append(0)
    reading.chars.append(0)
    reading.read_no.append(_read_of_last_byte(arrivals))
    return reading


def _note_no_completion(reading: Reading, body: bytes, problem: str) -> None:
    """A body that is no JSON object: an array of errors says so, anything else is unreadable."""
    reading.malformed = f"{problem}: {_start(body)}"
    try:
        value = load_json(body)
    except Malformed:
        return
    if isinstance(value, list) and any(isinstance(v, dict) and v.get("error") for v in value):
        reading.error = describe_error(value)
        reading.malformed = ""


def _start(raw: bytes) -> str:
    """Enough of the bytes for any detail; it is bounded where secrets are taken out of it."""
    return raw[:4096].decode("utf-8", "replace")


def _read_of_last_byte(arrivals: Arrivals) -> int:
    total = len(arrivals.body)
    return next((no for no, end in enumerate(arrivals.ends) if end >= total), 0)
