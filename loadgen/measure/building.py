"""The worker's side of its builder: wants go out, sessions and bodies come in, nothing blocks."""

import asyncio
import mmap
import socket
from collections import deque
from typing import cast

import msgspec

from loadgen.engine.feed import READY_BYTES, READY_SESSIONS, body_bytes
from loadgen.errors import LoadgenError
from loadgen.measure.builder import BYTES_LENGTH, Want
from loadgen.measure.frames import pack
from loadgen.model.plan import Share
from loadgen.model.session import Answer, Session, Turn

SLICE_BYTES = 256 * 1024
"""Taken from the socket at once: 0.1 ms, then the loop looks at the other sockets."""
AT_LEAST_AHEAD = 2


class _BuiltTurn(Turn, frozen=True):
    """A turn whose body stays in the buffer that it came in: a copy of 4 MB blocks for 2 ms."""

    body: tuple[memoryview | Answer, ...]  # type: ignore[assignment]


class _BuiltSession(Session, frozen=True):
    """A session of such turns."""

    turns: tuple[_BuiltTurn, ...]


class BuilderClient:
    """Asks one builder process. Every answer is awaited in the order of asking."""

    def __init__(self, wants: socket.socket) -> None:
        self._socket = wants
        self._socket.setblocking(False)
        self._waiting: deque[asyncio.Future[memoryview]] = deque()
        self._unsent = bytearray()
        self._head = bytearray()
        self._body = mmap.mmap(-1, 1)
        self._length = 0
        self._taken = 0
        self._gone = False
        self._decoder = msgspec.msgpack.Decoder(_BuiltSession | None)
        asyncio.get_running_loop().add_reader(self._socket, self._read)

    async def session(self, point: int, index: int) -> Session | None:
        """Session `index` of a point. Raises: LoadgenError where the builder is gone."""
        return self._decoder.decode(await self.ask(Want(point, index)))

    async def body(
        self,
        point: int,
        index: int,
        turn_no: int,
        max_output_tok: int | None,
        answers: tuple[bytes | None, ...] = (),
    ) -> bytes:
        """The members of one turn's body, in the buffer they came in: a copy of 4 MB takes 2 ms.

        Raises: LoadgenError where the builder is gone.
        """
        made = await self.ask(Want(point, index, turn_no, max_output_tok, answers))
        return cast(bytes, made)  # a memoryview; the wire takes both

    def ask(self, want: Want) -> "asyncio.Future[memoryview]":
        """The answer's bytes, some time later."""
        future: asyncio.Future[memoryview] = asyncio.get_running_loop().create_future()
        if self._gone:
            future.set_exception(_gone())
            return future
        self._waiting.append(future)
        self._unsent += pack(want)
        self._write()
        return future

    def close(self) -> None:
        """Ends the builder."""
        if not self._gone:
            self._lose()
        self._socket.close()

    def _write(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            sent = self._socket.send(self._unsent)
        except BlockingIOError:
            sent = 0
        except ConnectionError:
            self._lose()
            return
        del self._unsent[:sent]
        if self._unsent:
            loop.add_writer(self._socket, self._write)
        else:
            loop.remove_writer(self._socket)

    def _read(self) -> None:
        try:
            if len(self._head) < BYTES_LENGTH:
                self._read_head()
            else:
                self._read_body()
        except BlockingIOError:
            return
        except ConnectionError:
            self._lose()

    def _read_head(self) -> None:
        piece = self._socket.recv(BYTES_LENGTH - len(self._head))
        if not piece:
            self._lose()
            return
        self._head += piece
        if len(self._head) == BYTES_LENGTH:
            self._length = int.from_bytes(self._head, "little")
            self._body = mmap.mmap(-1, max(self._length, 1))  # its pages come as they are filled
            self._taken = 0
            self._deliver_when_whole()

    def _read_body(self) -> None:
        with memoryview(self._body) as view:
            until = min(self._taken + SLICE_BYTES, self._length)
            taken = self._socket.recv_into(view[self._taken : until])
        if not taken:
            self._lose()
            return
        self._taken += taken
        self._deliver_when_whole()

    def _deliver_when_whole(self) -> None:
        if self._taken < self._length:
            return
        self._head.clear()
        future = self._waiting.popleft()
        if not future.done():
            future.set_result(memoryview(self._body)[: self._length])

    def _lose(self) -> None:
        self._gone = True
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._socket)
        loop.remove_writer(self._socket)
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_exception(_gone())


class BuiltFeed:
    """A worker's share of a point's sessions, made by the builder ahead of their due time."""

    def __init__(self, client: BuilderClient, point: int, share: Share) -> None:
        self._client = client
        self._point = point
        self._next = share.index
        self._step = share.count
        self._largest_bytes = 0
        self._coming: deque[asyncio.Task[Session | None]] = deque()

    async def fill(self, wanted: int) -> None:
        """Returns when that many sessions are ready, or as many as are kept."""
        ready = 0
        while ready < min(wanted, self._ahead()):
            self.top_up()
            session = await asyncio.shield(self._coming[ready])
            if session is None:
                return
            self._note(session)
            ready += 1

    def top_up(self) -> None:
        """Asks for as many sessions as are kept ready."""
        while len(self._coming) < self._ahead():
            asked = self._client.session(self._point, self._next)
            self._coming.append(asyncio.create_task(asked))
            self._next += self._step

    async def take(self) -> Session | None:
        """The next session; None: there are no more."""
        self.top_up()
        session = await self._coming.popleft()
        if session is not None:
            self._note(session)
            self.top_up()
        return session

    def _note(self, session: Session) -> None:
        self._largest_bytes = max(self._largest_bytes, body_bytes(session))

    def _ahead(self) -> int:
        """How many sessions are kept: as their sizes allow, few while those aren't known."""
        if not self._largest_bytes:
            return AT_LEAST_AHEAD
        return min(max(READY_BYTES // self._largest_bytes, AT_LEAST_AHEAD), READY_SESSIONS)


def _gone() -> LoadgenError:
    return LoadgenError("the process that builds prompts has died", "was there memory enough?")
