"""A server on loopback that plays a script, byte by byte, for tests of whatever speaks HTTP.

Each request is answered by the next answer of the script (the last one repeats for ever):

    async with ScriptedServer([STREAM_HEAD, (0.01, chunk(b"data: x\\n\\n")), LAST_CHUNK]) as server:
        ...  # server.url, server.requests, server.connections, server.writes

An answer is a list of steps, played in order:
    bytes               written at once
    (seconds, bytes)    written after that pause
    async callable      called with the `Talk`: `close`, `reset`, or a test's own function
A connection stays open after an answer (keep-alive) unless a step closes it. What was written
when stands in `server.writes` as (monotonic ns just before, just after, bytes), in order.
"""

import asyncio
import contextlib
import socket
import ssl
import struct
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
)
LAST_CHUNK = b"0\r\n\r\n"


def chunk(body: bytes) -> bytes:
    """One chunk of chunked transfer encoding."""
    return b"%x\r\n%b\r\n" % (len(body), body)


def whole(body: bytes, status: int = 200, *headers: bytes) -> bytes:
    """A complete answer with its length named."""
    lines = [b"HTTP/1.1 %d Status" % status, b"content-length: %d" % len(body), *headers]
    return b"\r\n".join((*lines, b"", body))


def stream(*events: bytes) -> list["Step"]:
    """A complete streamed answer: head, one chunk an event, the last chunk."""
    return [STREAM_HEAD, *(chunk(b"data: %b\n\n" % event) for event in events), LAST_CHUNK]


@dataclass
class Request:
    """What a client sent; `connection` counts the server's connections from 0."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    connection: int


@dataclass
class Talk:
    """One request being answered."""

    request: Request
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    server: "ScriptedServer"
    is_over: bool = False

    async def write(self, data: bytes) -> None:
        """Writes and logs the instants before and after."""
        before_ns = time.monotonic_ns()
        self.writer.write(data)
        after_ns = time.monotonic_ns()
        self.server.writes.append((before_ns, after_ns, data))
        await self.writer.drain()


Step = bytes | tuple[float, bytes] | Callable[[Talk], Awaitable[None]]


async def eventually(condition: Callable[[], bool], within_s: float = 20.0) -> None:
    """Returns once the condition holds. Raises: TimeoutError."""
    async with asyncio.timeout(within_s):
        while not condition():  # noqa: ASYNC110  # any condition may be asked, none has an event
            await asyncio.sleep(0.005)


async def close(talk: Talk) -> None:
    """Ends the connection with FIN."""
    talk.is_over = True
    talk.writer.close()


async def reset(talk: Talk) -> None:
    """Ends the connection with RST."""
    sock = talk.writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    talk.is_over = True
    talk.writer.transport.abort()


async def wait_for_hang_up(talk: Talk) -> None:
    """Says nothing until the client has gone; `server.hang_ups` counts them.

    A client that goes with bytes unread is gone by RST, not by FIN.
    """
    with contextlib.suppress(ConnectionError):
        while await talk.reader.read(65536):
            pass
    talk.server.hang_ups += 1
    talk.is_over = True
    talk.writer.close()


class ScriptedServer:
    """Answers request n by answer n, from the last one on by that.

    `most_at_once` is the largest number of requests that were being answered at one time.
    """

    def __init__(
        self,
        *answers: Sequence[Step],
        host: str = "127.0.0.1",
        context: ssl.SSLContext | None = None,
        read_pause_s: float = 0.0,
    ) -> None:
        """With `read_pause_s` a body is taken 64 KB at a time, with that pause between.

        The receive buffer is small then, so that the client can't be done at once either.
        """
        self._read_pause_s = read_pause_s
        self.answers = answers
        self.host = host
        self.context = context
        self.requests: list[Request] = []
        self.writes: list[tuple[int, int, bytes]] = []
        self.connections = 0
        self.hang_ups = 0
        self.most_at_once = 0
        self.port = 0
        self._at_once = 0
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """Base URL without a path."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.context else 'http'}://{host}:{self.port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(
            self._serve, self.host, 0, ssl=self.context, backlog=1024
        )
        listening = self._server.sockets[0]
        self.port = listening.getsockname()[1]
        if self._read_pause_s:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        number = self.connections
        self.connections += 1
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                await self._serve_requests(reader, writer, number)
        except asyncio.CancelledError:
            pass  # the test is over; asyncio would print a cancelled connection's traceback
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _serve_requests(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int
    ) -> None:
        while True:
            request = await _read_request(reader, number, self._read_pause_s)
            steps = self.answers[min(len(self.requests), len(self.answers) - 1)]
            self.requests.append(request)
            talk = Talk(request, reader, writer, self)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            try:
                await play(talk, steps)
            finally:
                self._at_once -= 1
            if talk.is_over:
                return


async def play(talk: Talk, steps: Sequence[Step]) -> None:
    """Plays the steps of one answer."""
    for step in steps:
        if isinstance(step, bytes):
            await talk.write(step)
        elif isinstance(step, tuple):
            await asyncio.sleep(step[0])
            await talk.write(step[1])
        else:
            await step(talk)


async def _read_request(reader: asyncio.StreamReader, connection: int, pause_s: float) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.strip().split("\r\n")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    body = await _read_body(reader, int(headers.get("content-length", "0")), pause_s)
    method, path, _ = first.split(" ", 2)
    return Request(method, path, headers, body, connection)


async def _read_body(reader: asyncio.StreamReader, size: int, pause_s: float) -> bytes:
    if not pause_s:
        return await reader.readexactly(size)
    body = bytearray()
    while len(body) < size:
        body += await reader.readexactly(min(65536, size - len(body)))
        await asyncio.sleep(pause_s)
    return bytes(body)
