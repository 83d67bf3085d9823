"""The engine in real time: one task that steps it on absolute deadlines.

A step begins at the instant at which the last one ended by the law, not when the host got round
to it, so lateness never adds up. A host that is more than 0.25 s behind gives up the lost time;
that is counted in `n_slips`.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable

from loadgen.mock.engine.simulator import Engine, Job
from loadgen.mock.pacer import Pacer

_GIVE_UP_NS = 250_000_000
NS_PER_MS = 1_000_000


class Driver:
    """Steps one engine; the only caller of `begin_step` and `finish_step`."""

    def __init__(self, engine: Engine, pacer: Pacer) -> None:
        self._engine = engine
        self._pacer = pacer
        self._woken = asyncio.Event()
        self._late_ns: deque[int] = deque(maxlen=100_000)
        self._watts = engine.profile.watts(0)
        self._spent_until_ns = time.monotonic_ns()
        self.n_steps = 0
        self.n_slips = 0

    def submit(self, job: Job) -> None:
        """Queues a job. Raises: QueueFullError."""
        self._engine.submit(job)
        self._woken.set()

    def book_energy(self) -> None:
        """Books the energy spent since the last booking."""
        now_ns = time.monotonic_ns()
        self._engine.meters.spend(self._watts, now_ns - self._spent_until_ns)
        self._spent_until_ns = now_ns

    async def run(self) -> None:
        """Steps for ever."""
        at_ns = time.monotonic_ns()
        while True:
            if self._engine.is_idle:
                at_ns = await self._wait_for_work()
            at_ns += self._engine.begin_step(at_ns)
            self._draw_power()
            await self._pacer.until(at_ns)
            late_ns = time.monotonic_ns() - at_ns
            self._late_ns.append(late_ns)
            self._engine.finish_step(at_ns)
            self.n_steps += 1
            if late_ns > _GIVE_UP_NS:
                self.n_slips += 1
                at_ns = time.monotonic_ns()

    async def _wait_for_work(self) -> int:
        self._draw_power()
        self._woken.clear()
        await self._woken.wait()
        return time.monotonic_ns()

    def _draw_power(self) -> None:
        self.book_energy()
        self._watts = self._engine.profile.watts(len(self._engine.running))
        self._engine.meters.power_w = self._watts

    def lateness_us(self) -> dict[str, float | None]:
        """How late the last 100,000 steps were applied, microseconds."""
        ordered = sorted(self._late_ns)
        if not ordered:
            return {"p50": None, "p99": None, "max": None}
        return {
            "p50": ordered[len(ordered) // 2] / 1000,
            "p99": ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)] / 1000,
            "max": ordered[-1] / 1000,
        }


class Timetable:
    """Tokens at exact instants instead of the engine's: first at `ttft_ms`, then each `itl_ms`."""

    def __init__(self, pacer: Pacer, start_ns: int, n_tokens: int, n_per_event: int) -> None:
        self._pacer = pacer
        self._start_ns = start_ns
        self._left = n_tokens
        self._n_per_event = max(1, n_per_event)
        self.is_stopped = False

    def start(self, ttft_ms: float, itl_ms: float, on_tokens: Callable[[int], None]) -> None:
        """Begins; `on_tokens(n)` is called at each instant."""
        self._plan(round(ttft_ms * NS_PER_MS), round(itl_ms * NS_PER_MS), on_tokens)

    def _plan(self, after_ns: int, itl_ns: int, on_tokens: Callable[[int], None]) -> None:
        def fire() -> None:
            n = min(self._n_per_event, self._left)
            self._left -= n
            if self.is_stopped:
                return
            on_tokens(n)
            if self._left:
                self._plan(after_ns + itl_ns, itl_ns, on_tokens)

        self._pacer.call_at(self._start_ns + after_ns, fire)
