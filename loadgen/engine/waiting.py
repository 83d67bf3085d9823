"""Waiting that can be called off: for an instant, and for a free slot."""

import asyncio
import heapq
from collections.abc import Iterable

from loadgen import clock
from loadgen.units import NS_PER_MS, NS_PER_S

COARSE_NS = 2 * NS_PER_MS
"""Event-loop timers are a millisecond coarse; the rest is waited for by yielding to the loop."""


class Alarms:
    """Sleeps that all end early when `halt` is called."""

    def __init__(self) -> None:
        self.halted = False
        self._waiting: set[asyncio.Future[None]] = set()

    def halt(self) -> None:
        """Ends every sleep now, and every later one at once."""
        self.halted = True
        for future in self._waiting:
            if not future.done():
                future.set_result(None)

    async def until(self, at_ns: int) -> bool:
        """True at or just after `at_ns`, False as soon as the point is halted."""
        while not self.halted:
            left_ns = at_ns - clock.now_ns()
            if left_ns <= 0:
                return True
            if left_ns <= COARSE_NS:
                await asyncio.sleep(0)
            else:
                await self._nap(left_ns - COARSE_NS // 2)
        return False

    async def _nap(self, length_ns: int) -> None:
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        timer = loop.call_later(length_ns / NS_PER_S, _wake, future)
        self._waiting.add(future)
        try:
            await future
        finally:
            timer.cancel()
            self._waiting.discard(future)


class Slots:
    """Places for sessions; each knows the instant from which it is free."""

    def __init__(self, free_at_ns: Iterable[int]) -> None:
        self._free_at_ns = list(free_at_ns)
        heapq.heapify(self._free_at_ns)
        self._waiter: asyncio.Future[None] | None = None
        self._closed = False

    def give_back(self, free_at_ns: int) -> None:
        """Frees a slot from that instant on."""
        heapq.heappush(self._free_at_ns, free_at_ns)
        self._wake_waiter()

    def close(self) -> None:
        """Makes `take` return None, now and from now on."""
        self._closed = True
        self._wake_waiter()

    def free_now(self) -> bool:
        """Whether `take` would return without waiting."""
        return bool(self._free_at_ns) and self._free_at_ns[0] <= clock.now_ns()

    async def take(self) -> int | None:
        """The instant at which the slot came free, which is when its session is due."""
        while not self._closed:
            if self.free_now():
                return heapq.heappop(self._free_at_ns)
            await self._wait_for_change()
        return None

    async def _wait_for_change(self) -> None:
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        self._waiter = future
        timer = None
        if self._free_at_ns:
            left_ns = self._free_at_ns[0] - clock.now_ns()
            timer = loop.call_later(max(left_ns, 0) / NS_PER_S, _wake, future)
        try:
            await future
        finally:
            self._waiter = None
            if timer is not None:
                timer.cancel()

    def _wake_waiter(self) -> None:
        if self._waiter is not None:
            _wake(self._waiter)


def _wake(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


class Bell:
    """A sleep until an instant that whoever changes what is planned may end early."""

    def __init__(self) -> None:
        self._rung = False
        self._waiter: asyncio.Future[None] | None = None

    def ring(self) -> None:
        """Ends the sleep now, or the next one at once."""
        self._rung = True
        if self._waiter is not None:
            _wake(self._waiter)

    async def until(self, at_ns: int) -> None:
        """Returns when rung, or shortly before `at_ns`: whoever waits looks again."""
        left_ns = at_ns - clock.now_ns()
        if left_ns <= COARSE_NS or self._rung:
            self._rung = False
            await asyncio.sleep(0)
            return
        loop = asyncio.get_running_loop()
        self._waiter = loop.create_future()
        timer = loop.call_later((left_ns - COARSE_NS // 2) / NS_PER_S, _wake, self._waiter)
        try:
            await self._waiter
        finally:
            timer.cancel()
            self._waiter = None
            self._rung = False
