"""What the metronome remembers of its connections and requests, and how late it was."""

import socket
import ssl
import struct
import time
from array import array
from collections.abc import Sequence

from loadgen.mock.metronome.timetable import Timetable
from loadgen.mock.metronome.truthdump import HEAD, IS_CHAT, IS_STREAM, MAGIC, REQUEST, pack_events

_now = time.monotonic_ns
_SO_TIMESTAMPNS = 35
_TIMESPEC = struct.Struct("@qq")
_STAMP_SPACE = socket.CMSG_SPACE(_TIMESPEC.size)


class Lateness:
    """A histogram of how late events were, ns; 3 % wide bins."""

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}
        self.n = 0
        self.max_ns = 0

    def add(self, late_ns: int) -> None:
        """Counts one event."""
        shift = max(0, late_ns.bit_length() - 6)
        bin_ns = late_ns >> shift << shift
        self.counts[bin_ns] = self.counts.get(bin_ns, 0) + 1
        self.n += 1
        self.max_ns = max(self.max_ns, late_ns)

    def quantile_us(self, share: float) -> float | None:
        """Microseconds that this share of events was not later than."""
        wanted, seen = self.n * share, 0
        for bin_ns in sorted(self.counts):
            seen += self.counts[bin_ns]
            if seen >= wanted:
                return bin_ns / 1000
        return None


class Served:
    """One request and its stream."""

    def __init__(self, connection: "Connection", timetable: Timetable, request_id: bytes) -> None:
        self.connection = connection
        self.timetable = timetable
        self.request_id = request_id
        self.received_ns = connection.arrived_ns
        """When the request's last bytes reached this machine: a server that was busy just then
        and read them later still keeps, and logs, time from their arrival."""
        self.first_byte_ns = 0
        self.body_bytes = 0
        self.place = connection.n_served
        self.flags = IS_STREAM * timetable.is_stream | IS_CHAT * timetable.is_chat
        self.n_sent = 0
        self.events = array("q")


class Connection:
    """One client's socket: what was read and not yet understood, what could not yet be sent."""

    def __init__(self, sock: socket.socket, number: int) -> None:
        self.sock = sock
        self.number = number
        self.accepted_ns = _now()
        self.arrived_ns = self.accepted_ns
        self._is_plain = not isinstance(sock, ssl.SSLSocket)
        if self._is_plain:
            sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        self.inbox = bytearray()
        self.outbox = bytearray()
        self.n_served = 0
        self.serving: Served | None = None
        self.is_open = True

    def receive(self, size: int) -> bytes:
        """The next bytes; `arrived_ns` is then their kernel stamp (under TLS: now)."""
        if not self._is_plain:
            piece = self.sock.recv(size)
            self.arrived_ns = _now()
            return piece
        piece, ancillary, _, _ = self.sock.recvmsg(size, _STAMP_SPACE)
        self.arrived_ns = _now()
        for _, kind, stamp in ancillary:
            if kind == _SO_TIMESTAMPNS:
                s, ns = _TIMESPEC.unpack(stamp)
                self.arrived_ns += s * 1_000_000_000 + ns - time.time_ns()
        return piece


def dump_log(log: Sequence[Served]) -> bytes:
    """The dump that `truthdump.read_truth` reads."""
    n_events = sum(len(served.events) // 4 for served in log)
    parts = [HEAD.pack(MAGIC, len(log), _now(), time.time_ns(), n_events)]
    for served in log:
        head = (
            served.connection.accepted_ns,
            served.first_byte_ns,
            served.received_ns,
            served.connection.number,
            len(served.events) // 4,
            served.body_bytes,
            served.place,
            served.flags,
            served.request_id[:64],
        )
        parts += [REQUEST.pack(*head), pack_events(served.events)]
    return b"".join(parts)
