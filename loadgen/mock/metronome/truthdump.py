"""The metronome's truth log as bytes: written by the server, read back by `read_truth`.

Layout, little endian: head of 40 bytes `"TRUTH001"`, u64 requests, u64 monotonic now, u64
realtime now, u64 events. For each request 112 bytes: u64 accepted, first byte of the answer,
received, connection id; u32 events, body bytes, place on the connection, flags (1 done, 2 client
left, 4 stream, 8 chat); 64 characters of request id. Then for each of its events 24 bytes: u64
after the send, u32 ns that the send took, i32 ns late against the timetable, u16 tokens, u8 kind
(1 role, 2 content, 3 finish, 4 usage, 5 done, 6 whole body), u8 flags (1: the socket was full),
u32 bytes. Instants are CLOCK_MONOTONIC ns. An event's time before the send is
`after - took`; its due instant is `after - took - late`.
"""

import struct
from array import array
from dataclasses import dataclass

MAGIC = b"TRUTH001"
HEAD = struct.Struct("<8sQQQQ")
REQUEST = struct.Struct("<QQQQIIII64s")
EVENT = struct.Struct("<QIiHBBI")

ROLE, CONTENT, FINISH, USAGE, DONE, WHOLE = 1, 2, 3, 4, 5, 6
IS_DONE, CLIENT_LEFT, IS_STREAM, IS_CHAT = 1, 2, 4, 8
SOCKET_FULL = 1


@dataclass(frozen=True, slots=True)
class SentEvent:
    """One event as it was sent: instants in monotonic ns."""

    before_ns: int
    after_ns: int
    late_ns: int
    n_tok: int
    kind: int
    was_full: bool
    n_bytes: int


@dataclass(frozen=True, slots=True)
class SentRequest:
    """One request as it was served."""

    request_id: str
    accepted_ns: int
    received_ns: int
    first_byte_ns: int
    connection: int
    place: int
    body_bytes: int
    flags: int
    events: list[SentEvent]

    @property
    def content(self) -> list[SentEvent]:
        """The events that hold tokens."""
        return [event for event in self.events if event.kind == CONTENT]


@dataclass(frozen=True, slots=True)
class Truth:
    """A whole dump; `realtime_ns` and `monotonic_ns` were read together."""

    monotonic_ns: int
    realtime_ns: int
    requests: list[SentRequest]


def read_truth(dump: bytes) -> Truth:
    """The dump of `GET /truth`. Raises: ValueError where it is not one."""
    if len(dump) < HEAD.size or dump[:8] != MAGIC:
        raise ValueError("not a truth dump: it does not begin with TRUTH001")
    _, n_requests, monotonic_ns, realtime_ns, _ = HEAD.unpack_from(dump)
    at = HEAD.size
    requests = []
    for _ in range(n_requests):
        accepted, first, received, connection, n, size, place, flags, name = REQUEST.unpack_from(
            dump, at
        )
        at += REQUEST.size
        events = [
            SentEvent(after - took, after, late, n_tok, kind, bool(full & SOCKET_FULL), n_bytes)
            for after, took, late, n_tok, kind, full, n_bytes in EVENT.iter_unpack(
                dump[at : at + n * EVENT.size]
            )
        ]
        at += n * EVENT.size
        request_id = name.split(b"\0")[0].decode("utf-8", "replace")
        requests.append(
            SentRequest(
                request_id, accepted, received, first, connection, place, size, flags, events
            )
        )
    return Truth(monotonic_ns, realtime_ns, requests)


def pack_events(flat: "array[int]") -> bytes:
    """Event records from (before, after, due, meta) one after another; see `meta_of`."""
    records = bytearray(len(flat) // 4 * EVENT.size)
    for place in range(len(flat) // 4):
        before, after, due, meta = flat[place * 4 : place * 4 + 4]
        late = max(-(1 << 31), min(before - due, (1 << 31) - 1))
        took = min(after - before, (1 << 32) - 1)
        n_tok, kind, full = meta & 0xFFFF, meta >> 16 & 0xFF, meta >> 24 & 0xFF
        EVENT.pack_into(
            records, place * EVENT.size, after, took, late, n_tok, kind, full, meta >> 32
        )
    return bytes(records)


def meta_of(kind: int, n_tok: int, n_bytes: int) -> int:
    """Kind, tokens and bytes of an event in one number."""
    return n_bytes << 32 | kind << 16 | min(n_tok, 0xFFFF)
