"""Instants of the monotonic clock, kept to some tens of microseconds on Linux.

Event loops and `epoll.poll` count in milliseconds; a timerfd counts in nanoseconds and wakes
the same epoll. Without one (other systems) the last two milliseconds are spent yielding.
"""

import asyncio
import contextlib
import ctypes
import heapq
import os
import time
from collections.abc import Callable

NS_PER_S = 1_000_000_000
_CLOCK_MONOTONIC = 1
_FLAGS = 0o4000 | 0o2000000  # TFD_NONBLOCK | TFD_CLOEXEC
_ABSOLUTE = 1


class _Timespec(ctypes.Structure):
    _fields_ = (("s", ctypes.c_long), ("ns", ctypes.c_long))


class _Itimerspec(ctypes.Structure):
    _fields_ = (("interval", _Timespec), ("value", _Timespec))


class Timer:
    """A timerfd: `fd` becomes readable at the instant given to `set`. Raises: OSError."""

    def __init__(self) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        if not hasattr(libc, "timerfd_create"):
            raise OSError("no timerfd here")
        self.fd: int = libc.timerfd_create(_CLOCK_MONOTONIC, _FLAGS)
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")
        self._settime = libc.timerfd_settime
        self._spec = _Itimerspec()
        self._pointer = ctypes.byref(self._spec)

    def set(self, at_ns: int) -> None:
        """Fires at `at_ns` (monotonic); an instant in the past fires at once."""
        value = self._spec.value
        value.s, value.ns = divmod(max(1, at_ns), NS_PER_S)
        self._settime(self.fd, _ABSOLUTE, self._pointer, None)

    def clear(self) -> None:
        """Takes note that it has fired."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.fd, 8)

    def close(self) -> None:
        """Gives the descriptor back."""
        os.close(self.fd)


class Pacer:
    """Calls back at instants, inside an asyncio loop; one timer for any number of instants."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self._n = 0
        self._loop = asyncio.get_running_loop()
        self._armed_ns = 0
        try:
            self._timer: Timer | None = Timer()
        except OSError:
            self._timer = None
        if self._timer is not None:
            self._loop.add_reader(self._timer.fd, self._fire)

    def call_at(self, at_ns: int, callback: Callable[[], None]) -> None:
        """Calls back at or just after `at_ns`."""
        self._n += 1
        heapq.heappush(self._heap, (at_ns, self._n, callback))
        self._arm()

    async def until(self, at_ns: int) -> None:
        """Returns at or just after `at_ns`."""
        if time.monotonic_ns() >= at_ns:
            await asyncio.sleep(0)
            return
        woken = self._loop.create_future()
        self.call_at(at_ns, lambda: None if woken.done() else woken.set_result(None))
        await woken

    def close(self) -> None:
        """Forgets all instants."""
        self._heap.clear()
        if self._timer is not None:
            self._loop.remove_reader(self._timer.fd)
            self._timer.close()

    def _arm(self) -> None:
        if not self._heap or self._heap[0][0] == self._armed_ns:
            return
        self._armed_ns = self._heap[0][0]
        if self._timer is not None:
            self._timer.set(self._armed_ns)
        else:
            left_s = (self._armed_ns - time.monotonic_ns()) / NS_PER_S
            self._loop.call_later(max(0.0, left_s - 0.002), self._fire)

    def _fire(self) -> None:
        if self._timer is not None:
            self._timer.clear()
        self._armed_ns = 0
        while self._heap and self._heap[0][0] <= time.monotonic_ns():
            heapq.heappop(self._heap)[2]()
        is_near = bool(self._heap) and self._heap[0][0] - time.monotonic_ns() < 2_000_000
        if self._timer is None and is_near:
            self._loop.call_soon(self._fire)
        else:
            self._arm()
