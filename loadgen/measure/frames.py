"""Messages between the processes of one run: a four-byte length, then msgpack."""

import os
from typing import TypeVar

import msgspec
from msgspec import Struct

from loadgen.model.observed import ClientHealth
from loadgen.model.plan import Plan, Share

T = TypeVar("T")

LENGTH_BYTES = 4


class Orders(Struct, frozen=True):
    """The first message to a worker or scribe: everything it needs to know."""

    plan: Plan
    share: Share
    folder: str
    secrets: dict[str, str]
    """Secret header values by name; they travel through this pipe only, never in argv or files."""
    exchange_fd: int
    """The socket between worker and scribe, inherited under this number."""
    builder_fd: int | None = None
    """The socket between worker and builder; None where the worker makes its sessions itself."""


class Prepare(Struct, frozen=True, tag=True):
    """To a worker: make bodies and open connections for that point, then say `Ready`."""

    point: int
    stagger_ns: int


class Go(Struct, frozen=True, tag=True):
    """To a worker: run the prepared point from that instant on."""

    start_at_ns: int


class Begin(Struct, frozen=True, tag=True):
    """To a worker whose warm-up is over: profile from that instant on.

    Every turn's delay counts less `least_gap_ns`, the least of all workers.
    """

    start_at_ns: int
    least_gap_ns: int


class Halt(Struct, frozen=True, tag=True):
    """To a worker: issue nothing more; with `at_once` also end what is in flight."""

    reason: str
    at_once: bool = False


class EndPoint(Struct, frozen=True, tag=True):
    """To a worker: issue nothing more in that point; the next one is run."""

    point: int
    reason: str


class Listen(Struct, frozen=True, tag=True):
    """To a worker: read the canary's ticks from that port of this machine until the run ends."""

    port: int


class Ready(Struct, frozen=True, tag=True):
    """From a worker: it can start the prepared point at once."""


class Quiet(Struct, frozen=True, tag=True):
    """From a worker: its replay's warm-up is over; its least delay of a turn, None without one."""

    first_gap_ns: int | None


class PointDone(Struct, frozen=True, tag=True):
    """From a worker: every request that it issued in this point has ended."""

    health: ClientHealth


class Failed(Struct, frozen=True, tag=True):
    """From a worker: it can't go on; the run fails with this message and hint."""

    message: str
    hint: str | None = None
    exit_code: int = 1


Command = Prepare | Go | Begin | Halt | EndPoint | Listen
Report = Ready | Quiet | PointDone | Failed

_encoder = msgspec.msgpack.Encoder()


def pack(message: Struct) -> bytes:
    """The message as one frame."""
    body = _encoder.encode(message)
    return len(body).to_bytes(LENGTH_BYTES, "little") + body


class FrameSplitter:
    """Cuts a byte stream into the bodies of whole frames, whatever pieces it comes in."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, piece: bytes) -> list[bytes]:
        """The bodies of the frames that this piece completes, in order."""
        self._rest += piece
        bodies = []
        start = 0
        while len(self._rest) - start >= LENGTH_BYTES:
            body_at = start + LENGTH_BYTES
            end = body_at + int.from_bytes(self._rest[start:body_at], "little")
            if len(self._rest) < end:
                break
            bodies.append(bytes(self._rest[body_at:end]))
            start = end
        del self._rest[:start]
        return bodies


def read_orders(fd: int) -> Orders | None:
    """The first frame of a pipe, read byte-exact so that nothing after it is taken; None at EOF."""
    head = _read_exactly(fd, LENGTH_BYTES)
    body = None if head is None else _read_exactly(fd, int.from_bytes(head, "little"))
    return None if body is None else msgspec.msgpack.decode(body, type=Orders)


def _read_exactly(fd: int, length: int) -> bytes | None:
    pieces = bytearray()
    while len(pieces) < length:
        piece = os.read(fd, length - len(pieces))
        if not piece:
            return None
        pieces += piece
    return bytes(pieces)
