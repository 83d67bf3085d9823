"""How late the client's own loop is, and how long its garbage collector held it up."""

import asyncio
import gc
from array import array
from collections.abc import Sequence

from loadgen import clock
from loadgen.units import NS_PER_MS, NS_PER_S

PERIOD_NS = 40 * NS_PER_MS
"""Waking an idle core costs some 0.1 ms of CPU: at 10 ms that was 1 % of a core, an eighth of what
5,000 events a second cost. A stall that hits stamps shows in each read's own lag as well."""
TIMER_FLOOR_NS = 1 * NS_PER_MS
"""Loop timers count whole milliseconds, so up to this much lateness is the timer's own."""


class Pulse:
    """A probe in the worker's loop: every 40 ms it notes how much later than due it ran."""

    def __init__(self) -> None:
        self._lag_ns = array("q")
        self._gc_started_ns = 0
        self.gc_pause_max_ns = 0
        self.gc_pause_sum_ns = 0
        self.gc_pauses = 0
        self.lag_max_ns = 0
        """Largest lag since the start: asked for ten times a second, so it is never searched."""
        self._recent_max_ns = 0
        self._timer: asyncio.TimerHandle | None = None
        self._due_ns = 0

    def start(self) -> None:
        """Begins anew: earlier lags are forgotten."""
        self.stop()
        self._lag_ns = array("q")
        self.lag_max_ns = self._recent_max_ns = 0
        self.gc_pause_max_ns = self.gc_pause_sum_ns = self.gc_pauses = 0
        gc.callbacks.append(self._on_gc)
        self._arm()

    def stop(self) -> None:
        """Ends the probe; its figures stay."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._on_gc in gc.callbacks:
            gc.callbacks.remove(self._on_gc)

    def lag_ns(self, fraction: float) -> int | None:
        """Quantile of the loop lag (nearest rank, 1.0 the maximum); None without a beat."""
        return quantile_ns(self._lag_ns, fraction)

    def take_recent_max_ns(self) -> int:
        """The largest lag since this was last asked for."""
        recent_ns, self._recent_max_ns = self._recent_max_ns, 0
        return recent_ns

    def _arm(self) -> None:
        self._due_ns = clock.now_ns() + PERIOD_NS
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(PERIOD_NS / NS_PER_S, self._beat)

    def _beat(self) -> None:
        lag_ns = max(0, clock.now_ns() - self._due_ns - TIMER_FLOOR_NS)
        self._lag_ns.append(lag_ns)
        self.lag_max_ns = max(self.lag_max_ns, lag_ns)
        self._recent_max_ns = max(self._recent_max_ns, lag_ns)
        self._arm()

    def _on_gc(self, stage: str, _info: dict[str, int]) -> None:
        if stage == "start":
            self._gc_started_ns = clock.now_ns()
        else:
            pause_ns = clock.now_ns() - self._gc_started_ns
            self.gc_pause_max_ns = max(self.gc_pause_max_ns, pause_ns)
            self.gc_pause_sum_ns += pause_ns
            self.gc_pauses += 1


def quantile_ns(values: Sequence[int], fraction: float) -> int | None:
    """The nearest rank (1.0 the maximum); None without any value."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(fraction * len(ordered)))]
