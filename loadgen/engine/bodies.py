"""Request bodies of a replay, made elsewhere ahead of their due time."""

import asyncio
import heapq
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple, Protocol

from loadgen.model.session import Session
from loadgen.units import NS_PER_S

WAITING_BYTES = 64 << 20
"""Bodies that wait for their due time hold about this much together in one worker."""
HORIZON_NS = 10 * NS_PER_S
"""Bodies are asked for once they can be due within this time."""
ASKED_AT_ONCE = 4
"""The maker answers in order: a body that is due now waits for no more than these."""
FIRST_GUESS_BYTES_PER_TOK = 6.0
UNKNOWN_TOK = 1024

Key = tuple[int, int]
"""The number of a session, and of a turn in it."""
Start = Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"]


class Source(Protocol):
    """Makes sessions and bodies in another process (or, in tests, at once)."""

    async def session(self, index: int) -> Session | None:
        """The point's session of that number; None: there are no more."""

    async def body(
        self,
        index: int,
        turn_no: int,
        max_output_tok: int | None,
        answers: tuple[bytes | None, ...] = (),
    ) -> bytes:
        """The members of the request's JSON object for `turns[turn_no]` of that session.

        `answers`: with live history, those to the stream's earlier turns in order, as JSON
        strings; None where a turn was not played or gave none. Else empty.
        """


class Want(NamedTuple):
    """One body; `due_at_ns` is the earliest instant at which it can be sent."""

    due_at_ns: int
    key: Key
    input_tok: int | None
    max_output_tok: int | None
    answers: tuple[bytes | None, ...] = ()


class Bodies:
    """Bodies asked for and not yet taken. `start` runs tasks, `changed` hears of every arrival."""

    def __init__(self, source: Source, start: Start, changed: Callable[[], None]) -> None:
        self._source = source
        self._start = start
        self._changed = changed
        self._waiting: dict[Key, asyncio.Future[bytes]] = {}
        self._held_bytes: dict[Key, float] = {}
        self._asked: dict[Key, asyncio.Task[None]] = {}
        self._offers: dict[Key, Want] = {}
        self._nearest: list[Want] = []
        """A heap of offers; one that `_offers` no longer holds is void."""
        self._bytes_per_tok = FIRST_GUESS_BYTES_PER_TOK
        self.late = 0
        """Bodies that were not there when they were due."""

    async def take(self, want: Want) -> bytes:
        """The body, once it is there; asked for now where nobody did."""
        self._offers.pop(want.key, None)
        if want.key not in self._waiting:
            self._ask(want)
        future = self._waiting.pop(want.key)
        self._held_bytes.pop(want.key, None)
        self.late += not future.done()
        return await future

    def offer(self, want: Want) -> None:
        """The body may be wanted then; the last word on its instant counts."""
        known = self._offers.get(want.key)
        if want.key in self._waiting or (known and known.due_at_ns == want.due_at_ns):
            return
        self._offers[want.key] = want
        heapq.heappush(self._nearest, want)

    def top_up(self, now_ns: int) -> None:
        """Asks for what may be due soon, nearest first, as far as there is room."""
        room_bytes = WAITING_BYTES - sum(self._held_bytes.values())
        while self._nearest and len(self._asked) < ASKED_AT_ONCE:
            want = self._nearest[0]
            if self._offers.get(want.key) is not want:
                heapq.heappop(self._nearest)
                continue
            room_bytes -= self._guess_bytes(want)
            if want.due_at_ns > now_ns + HORIZON_NS or (room_bytes < 0 and self._waiting):
                return
            heapq.heappop(self._nearest)
            del self._offers[want.key]
            self._ask(want)

    def forget(self, index: int | None = None) -> None:
        """Gives up what waits or is offered for one session, or for all."""
        for key in [key for key in self._offers if index in (None, key[0])]:
            del self._offers[key]
        for key in [key for key in self._waiting if index in (None, key[0])]:
            del self._waiting[key]
            self._held_bytes.pop(key, None)
            if key in self._asked:
                self._asked[key].cancel()

    def _guess_bytes(self, want: Want) -> float:
        return (want.input_tok or UNKNOWN_TOK) * self._bytes_per_tok

    def _ask(self, want: Want) -> None:
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        task = self._start(self._fetch(want, future))
        self._waiting[want.key] = future
        self._held_bytes[want.key] = self._guess_bytes(want)
        self._asked[want.key] = task
        task.add_done_callback(lambda ended: self._answered(want.key, ended))

    async def _fetch(self, want: Want, future: "asyncio.Future[bytes]") -> None:
        body = await self._source.body(*want.key, want.max_output_tok, want.answers)
        future.set_result(body)
        if want.key in self._held_bytes:
            self._held_bytes[want.key] = len(body)
        if want.input_tok:
            self._bytes_per_tok = len(body) / want.input_tok

    def _answered(self, key: Key, task: "asyncio.Task[None]") -> None:
        if self._asked.get(key) is task:
            del self._asked[key]
        self._changed()
