"""Damage to captured streams and the laws that every decoded record obeys, whatever the bytes."""

from collections.abc import Sequence

import msgspec
from msgspec import structs

from loadgen.model.exchange import Exchange, Outcome
from loadgen.model.record import EventKind, Record
from loadgen.transport.decoding.decode import decode
from loadgen.transport.decoding.sse import split_lines
from tests.exchanges import Capture, capture_names, exchange_of, load_capture, split_at

Op = tuple[str, int, int]
"""(flip | delete | insert | copy | cut, where, how much or which byte)."""

OPS = ("flip", "delete", "insert", "copy", "cut")


def streams() -> list[Capture]:
    """The captured event streams, at most 12 KB each, without those that say the same."""
    captures = [load_capture(name) for name in capture_names()]
    found = {
        capture.body: capture
        for capture in captures
        if b"data:" in capture.body[:4096] and len(capture.body) < 12_000
    }
    return list(found.values())


def mutate(body: bytes, ops: Sequence[Op]) -> bytes:
    """The body after the given damage; offsets wrap round its length."""
    damaged = bytearray(body)
    for name, where, value in ops:
        at = where % (len(damaged) + 1)
        if name == "flip" and at < len(damaged):
            damaged[at] ^= 1 << (value % 8)
        elif name == "delete":
            del damaged[at : at + 1 + value % 40]
        elif name == "insert":
            damaged[at:at] = bytes([value % 256])
        elif name == "copy":
            damaged[at:at] = damaged[at : at + 1 + value % 400]
        elif name == "cut":
            del damaged[at:]
    return bytes(damaged)


def as_exchange(capture: Capture, body: bytes, cuts: Sequence[int], *, complete: bool) -> Exchange:
    """The body under the capture's status and headers, cut into reads 1 ms apart."""
    return exchange_of(
        split_at(body, cuts),
        status=capture.status,
        headers=capture.headers,
        complete=complete,
    )


def check_laws(exchange: Exchange) -> Record:
    """The record, after the laws held: one outcome, equal columns, sums, quick = literal."""
    record = decode(exchange, keep_text=True)
    assert record.outcome in Outcome
    events = record.events
    assert len(events) == len(events.read_no) == len(events.kind)
    assert len(events) == len(events.tok) == len(events.chars)
    assert list(events.at_ns) == sorted(events.at_ns)
    for kind, chars in zip(events.kind, events.chars, strict=True):
        assert (kind == EventKind.OTHER) == (chars == 0)
    if len(events):
        channels = record.content_chars + record.reasoning_chars + record.tool_chars
        assert "not_streamed" in record.flags or sum(events.chars) == channels
    assert len(record.detail) <= 500
    assert record.detail.isprintable()
    text = msgspec.json.decode(record.output_text or "")
    assert isinstance(text["content"], str)
    assert decode(exchange, keep_text=True, split=split_lines) == record
    return record


def without_arrivals(record: Record) -> Record:
    """The record with all that may depend on how the body was cut into reads taken out."""
    events = record.events
    return structs.replace(
        record,
        headers_at_ns=None,
        first_byte_at_ns=None,
        done_at_ns=None,
        reads=0,
        multi_event_reads=0,
        events=type(events)(kind=events.kind, tok=events.tok, chars=events.chars),
    )
