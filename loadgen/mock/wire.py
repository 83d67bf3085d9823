"""One streamed body on its way into the socket: framing, faults of delivery, the truth log.

Events are written to the transport itself, not through ASGI, so that the stamps stand at the
write. Everything here happens in the call that hands the event over, unless a fault holds it.
"""

import socket
import struct
import time
from asyncio import Future, Transport, get_running_loop
from collections import deque

from loadgen.mock.faults import Faults
from loadgen.mock.pacer import Pacer
from loadgen.mock.truth import Entry

NS_PER_MS = 1_000_000

Mark = tuple[str, int, int]
"""Kind, tokens and bytes of an event inside a write."""


class Wire:
    """Writes events in order; `ended` is done when the last one was written, with how to end."""

    def __init__(self, transport: Transport, entry: Entry, faults: Faults, pacer: Pacer) -> None:
        self._transport = transport
        self._entry = entry
        self._pacer = pacer
        self._faults = faults
        self._backlog: deque[tuple[bytes, Mark] | str] = deque()
        self._is_held = False
        self._gathered = bytearray()
        self._marks: list[Mark] = []
        self._n_gathered = 0
        self._is_cut = False
        self.ended: Future[str] = get_running_loop().create_future()

    def event(self, data: bytes, kind: str, n_tok: int = 0) -> None:
        """Writes one `data` event; faults of framing apply."""
        prefix = b"data:" if self._faults.has("no_space") else b"data: "
        self.frame(prefix + data + b"\n\n", kind, n_tok)

    def frame(self, text: bytes, kind: str, n_tok: int = 0) -> None:
        """Writes text as it is, but for line ends."""
        if self._faults.has("crlf"):
            text = text.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
        self._put((text, (kind, n_tok, len(text))))

    def finish(self, how: str) -> None:
        """Ends the body after all that was handed over: clean, eof, reset."""
        self._put(how)

    def cut(self, how: str) -> None:
        """Ends the body here and now; what is handed over later is lost."""
        self._put(how)
        self._is_cut = True

    def hold(self, duration_ms: float) -> None:
        """Writes nothing for a while, then all that has gathered; 0: for good."""
        self._is_held = True
        if duration_ms:
            at_ns = time.monotonic_ns() + round(duration_ms * NS_PER_MS)
            self._pacer.call_at(at_ns, self._release)

    def _release(self) -> None:
        self._is_held = False
        while self._backlog and not self._is_held:
            self._pass(self._backlog.popleft())

    def _put(self, item: tuple[bytes, Mark] | str) -> None:
        if self._is_cut:
            return
        if self._is_held:
            self._backlog.append(item)
        else:
            self._pass(item)

    def _pass(self, item: tuple[bytes, Mark] | str) -> None:
        if isinstance(item, str):
            self._flush()
            self._end(item)
            return
        text, mark = item
        buffered, coalesced = self._faults.get("buffer"), self._faults.get("coalesce")
        if buffered is None and coalesced is None:
            self._deliver(text, [mark])
            return
        self._gathered += text
        self._marks.append(mark)
        self._n_gathered += 1
        if coalesced is not None and self._n_gathered >= coalesced.count("events"):
            self._flush()
        if buffered is not None and buffered.count("bytes"):
            self._flush_full(buffered.count("bytes"))

    def _flush_full(self, size: int) -> None:
        """Writes whole buffers of `size` bytes; an event is logged with the write of its end."""
        while len(self._gathered) >= size:
            ended: list[Mark] = []
            filled = 0
            for mark in self._marks:
                filled += mark[2]
                if filled > size:
                    break
                ended.append(mark)
            del self._marks[: len(ended)]
            if self._marks:
                kind, n_tok, _ = self._marks[0]
                left = sum(mark[2] for mark in [*ended, self._marks[0]]) - size
                self._marks[0] = (kind, n_tok, left)
            piece = bytes(self._gathered[:size])
            del self._gathered[:size]
            self._write(piece, ended)

    def _flush(self) -> None:
        if self._gathered:
            text, marks = bytes(self._gathered), list(self._marks)
            self._gathered.clear()
            self._marks.clear()
            self._n_gathered = 0
            self._deliver(text, marks)

    def _deliver(self, text: bytes, marks: list[Mark]) -> None:
        split = self._faults.get("split")
        if split is None:
            self._write(text, marks)
            return
        size = max(1, split.count("bytes"))
        pieces = [text[i : i + size] for i in range(0, len(text), size)]
        gap_ms = split.number("gap_ms")
        if not gap_ms:
            for piece in pieces[:-1]:
                self._write(piece, [])
            self._write(pieces[-1], marks)
            return
        self._is_held = True
        self._drip(pieces, marks, round(gap_ms * NS_PER_MS))

    def _drip(self, pieces: list[bytes], marks: list[Mark], gap_ns: int) -> None:
        self._write(pieces[0], marks if len(pieces) == 1 else [])
        if len(pieces) == 1:
            self._release()
            return
        at_ns = time.monotonic_ns() + gap_ns
        self._pacer.call_at(at_ns, lambda: self._drip(pieces[1:], marks, gap_ns))

    def _write(self, text: bytes, marks: list[Mark]) -> None:
        transport = self._transport
        if transport.is_closing():
            return
        chunk = b"%x\r\n%b\r\n" % (len(text), text)
        before_ns = time.monotonic_ns()
        transport.write(chunk)
        after_ns = time.monotonic_ns()
        if transport.get_write_buffer_size():
            self._entry.queued += len(marks)
        for kind, n_tok, n_bytes in marks:
            self._entry.wrote((before_ns, after_ns), kind, n_tok, n_bytes)

    def _end(self, how: str) -> None:
        if how == "reset":
            reset(self._transport)
        elif how == "eof":
            self._transport.close()
        if not self.ended.done():
            self.ended.set_result(how)


def reset(transport: Transport) -> None:
    """Closes a connection with RST."""
    sock: socket.socket | None = transport.get_extra_info("socket")
    if sock is not None and not transport.is_closing():
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
