"""What stands beside a run: the canary's server, the machine's counters, round trips.

All of it lives in the parent process or in one of its own, never in a worker's loop, and none of
it starts before the first requests have left.
"""

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable
from contextlib import suppress

from loadgen import clock
from loadgen.mock.metronome import ticker
from loadgen.model.observed import HostHealth, Observed
from loadgen.model.plan import Plan
from loadgen.telemetry.handshake import handshake_ns, split_peer
from loadgen.telemetry.host import HostWatch
from loadgen.units import NS_PER_MS, NS_PER_S

HEAD_START_NS = 50 * NS_PER_MS
"""The first requests go out before a canary takes any core time."""

TICKER = (sys.executable, "-I", "-S", os.path.abspath(ticker.__file__))
SAMPLE_PERIOD_S = 1.0
RTT_PERIOD_S = 2.0


class Surroundings:
    """`start_point` and `end_point` with each point, `leave` at the end."""

    def __init__(self, plan: Plan, observed: Observed, tell_canary: Callable[[int], None]) -> None:
        """`tell_canary` is called once with the port of the canary's server, when it listens."""
        self._plan = plan
        self._peer = split_peer(observed.peer or "") if plan.preflight else None
        self._tell_canary = tell_canary
        self._watch = HostWatch()
        self._tasks: list[asyncio.Task[None]] = []
        self._canary: asyncio.Task[None] | None = None
        self._ticker: Process | None = None

    def start_point(self, start_at_ns: int) -> None:
        """Samples from now on; with the first point the canary is started too."""
        self._watch.start()
        self._tasks = [asyncio.create_task(self._sample())]
        if self._peer is not None and not self._plan.target.proxy:
            self._tasks.append(asyncio.create_task(self._shake_hands(*self._peer)))
        if self._plan.canary and self._canary is None:
            self._canary = asyncio.create_task(self._start_canary(start_at_ns))

    async def end_point(self) -> HostHealth:
        """What the machine told during the point."""
        await _end(self._tasks)
        return self._watch.health()

    async def leave(self) -> None:
        """Ends what was started."""
        await _end([*self._tasks, *([self._canary] if self._canary else [])])
        if self._ticker is not None and self._ticker.returncode is None:
            self._ticker.kill()
            await self._ticker.wait()

    async def _sample(self) -> None:
        while True:
            await asyncio.sleep(SAMPLE_PERIOD_S)
            self._watch.look()

    async def _shake_hands(self, host: str, port: int) -> None:
        while True:
            await asyncio.sleep(RTT_PERIOD_S)
            rtt_ns = await handshake_ns(host, port)
            if rtt_ns is not None:
                self._watch.note_rtt(rtt_ns)

    async def _start_canary(self, start_at_ns: int) -> None:
        """A ticker that does not start leaves the run without a canary, which findings tell."""
        left_ns = start_at_ns + HEAD_START_NS - clock.now_ns()
        await asyncio.sleep(max(0, left_ns) / NS_PER_S)
        with suppress(OSError):
            self._ticker = await asyncio.create_subprocess_exec(
                *TICKER, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, start_new_session=True
            )
            assert self._ticker.stdout is not None
            word, _, port = (await self._ticker.stdout.readline()).partition(b" ")
            if word == b"READY":
                self._tell_canary(int(port))


async def _end(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    for task in tasks:
        with suppress(asyncio.CancelledError):
            await task
