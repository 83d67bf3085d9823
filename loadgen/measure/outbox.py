"""Hands finished exchanges from a worker to its scribe without ever blocking the worker's loop."""

import asyncio
import socket
from collections import deque
from collections.abc import Callable

from loadgen.measure.frames import pack
from loadgen.model.exchange import Exchange

SOCKET_BUFFER_BYTES = 4 << 20


class Outbox:
    """A queue in front of a non-blocking socket.

    `bytes_waiting` shows how far the scribe is behind; `broken` that it is gone.
    """

    def __init__(
        self, exchange_socket: socket.socket, on_broken: Callable[[], None] = lambda: None
    ) -> None:
        """`on_broken` is called once, when the scribe is found gone."""
        self._on_broken = on_broken
        self._socket = exchange_socket
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BUFFER_BYTES)
        self._frames: deque[memoryview] = deque()
        self._armed = False
        self._empty = asyncio.Event()
        self._empty.set()
        self.bytes_waiting = 0
        self.broken = False

    def put(self, exchange: Exchange) -> None:
        """Sends the exchange now as far as the socket takes it, the rest when it has room."""
        if self.broken:
            return
        frame = memoryview(pack(exchange))
        self.bytes_waiting += len(frame)
        self._frames.append(frame)
        if not self._armed:
            self._write()

    async def flushed(self) -> None:
        """Returns when everything has been given to the kernel."""
        await self._empty.wait()

    def close(self) -> None:
        """Ends the stream: the scribe writes what it has and leaves."""
        self._disarm()
        self._socket.close()

    def _write(self) -> None:
        while self._frames:
            try:
                sent = self._socket.send(self._frames[0])
            except BlockingIOError:
                self._arm()
                return
            except ConnectionError:
                self.broken = True
                self._frames.clear()
                self._on_broken()
                break
            self.bytes_waiting -= sent
            if sent == len(self._frames[0]):
                self._frames.popleft()
            else:
                self._frames[0] = self._frames[0][sent:]
        self._disarm()

    def _arm(self) -> None:
        if not self._armed:
            self._armed = True
            self._empty.clear()
            asyncio.get_running_loop().add_writer(self._socket, self._write)

    def _disarm(self) -> None:
        if self._armed:
            self._armed = False
            asyncio.get_running_loop().remove_writer(self._socket)
        self._empty.set()
