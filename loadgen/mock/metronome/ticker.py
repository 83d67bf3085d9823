"""The canary's server: writes the time into each event and sends it, about 20 a second.

Run by its path, `python -I -S ticker.py`, so that it starts in some 20 ms and costs next to
nothing. It says `READY port`, answers any request with an endless body of ticks, and ends with
its standard input. A tick is 16 bytes: when it was sent (CLOCK_MONOTONIC ns, read just before
the send) and how long the send before it took.
"""

import os
import select
import socket
import struct
import sys
import time
from itertools import cycle

TICK = struct.Struct("<qq")
GAPS_MS = (47, 53, 41, 59)
"""50 on average, and in step with nobody's period."""
NICENESS = 10
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\nconnection: close\r\n\r\n"
_REQUEST_END = b"\r\n\r\n"
_now = time.monotonic_ns


class Ticker:
    """Serves ticks to whoever asked; `run` returns when `stdin` has ended."""

    def __init__(self, listener: socket.socket, stdin: int) -> None:
        self._listener = listener
        self._stdin = stdin
        self._poller = select.poll()
        self._poller.register(listener, select.POLLIN)
        self._poller.register(stdin, select.POLLIN)
        self._guests: dict[int, socket.socket] = {}
        self._took_ns: dict[int, int] = {}
        """How long the last send to each guest took; absent until it has asked."""

    def run(self) -> None:
        """Looks for guests between the ticks."""
        gaps = cycle(GAPS_MS)
        due_ns = _now()
        while self._look(due_ns):
            if _now() >= due_ns:
                self._tick()
                due_ns = max(due_ns, _now()) + next(gaps) * 1_000_000

    def _look(self, until_ns: int) -> bool:
        """False once stdin has ended."""
        left_ms = max(0.0, (until_ns - _now()) / 1e6) if self._took_ns else None
        for fd, _ in self._poller.poll(left_ms):
            if fd == self._stdin:
                if not os.read(fd, 4096):
                    return False
            elif fd == self._listener.fileno():
                self._accept()
            else:
                self._hear(fd)
        return True

    def _accept(self) -> None:
        guest, _ = self._listener.accept()
        guest.setblocking(False)
        guest.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._guests[guest.fileno()] = guest
        self._poller.register(guest, select.POLLIN)

    def _hear(self, fd: int) -> None:
        guest = self._guests[fd]
        try:
            asked = guest.recv(65536)
        except OSError:
            asked = b""
        if not asked:
            self._drop(fd)
        elif _REQUEST_END in asked and fd not in self._took_ns:
            self._took_ns[fd] = 0
            guest.send(HEAD)

    def _tick(self) -> None:
        for fd, took_ns in list(self._took_ns.items()):
            sent_ns = _now()
            try:
                size = self._guests[fd].send(TICK.pack(sent_ns, took_ns))
            except BlockingIOError:
                continue
            except OSError:
                size = 0
            self._took_ns[fd] = _now() - sent_ns
            if size < TICK.size:
                self._drop(fd)

    def _drop(self, fd: int) -> None:
        self._poller.unregister(fd)
        self._took_ns.pop(fd, None)
        self._guests.pop(fd).close()


def main() -> None:
    """Says `READY port` on stdout and serves until stdin ends."""
    if hasattr(os, "SCHED_BATCH"):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    os.nice(NICENESS)
    listener = socket.create_server(("127.0.0.1", 0))
    sys.stdout.write(f"READY {listener.getsockname()[1]}\n")
    sys.stdout.flush()
    Ticker(listener, sys.stdin.fileno()).run()


if __name__ == "__main__":
    main()
