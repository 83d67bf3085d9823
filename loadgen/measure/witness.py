"""What vouches for one worker while a point runs: loop lag, collector, canary, waiting, backlog."""

from collections.abc import Callable
from typing import Any

from loadgen.engine.pulse import Pulse, quantile_ns
from loadgen.telemetry.host import run_wait_ns
from loadgen.transport.wire.canary import Canary

LOOK_PERIOD_NS = 100_000_000


class Witness:
    """`start` and `stop` with the point, `look` each 100 ms, then `figures`."""

    def __init__(self, backlog_bytes: Callable[[], int]) -> None:
        """`backlog_bytes` tells how much waits for the scribe."""
        self.pulse = Pulse()
        self.canary = Canary()
        self._backlog_bytes = backlog_bytes
        self._run_wait_ns: int | None = None
        self._explained_ns: int | None = None
        self._stall_max_ns: int | None = None
        self._behind_looks = 0
        self._behind_bytes = 0

    def start(self) -> None:
        """Begins anew."""
        self._run_wait_ns = run_wait_ns()
        self._explained_ns, self._stall_max_ns = self._run_wait_ns, None
        self._behind_looks = self._behind_bytes = 0
        self.canary.forget()
        self.pulse.start()

    def look(self) -> None:
        """Notes how far the scribe is behind now, and a lag that nothing known explains."""
        self._look_for_stall()
        behind_bytes = self._backlog_bytes()
        self._behind_looks += behind_bytes > 0
        self._behind_bytes = max(self._behind_bytes, behind_bytes)

    def stop(self) -> None:
        """Ends the loop's probe; the figures stay."""
        self._look_for_stall()
        self.pulse.stop()

    def _look_for_stall(self) -> None:
        waited_ns = run_wait_ns()
        if waited_ns is None or self._explained_ns is None:
            return
        explained_ns = waited_ns + self.pulse.gc_pause_sum_ns
        lag_ns = self.pulse.take_recent_max_ns()
        stall_ns = lag_ns - (explained_ns - self._explained_ns)
        self._stall_max_ns = max(self._stall_max_ns or 0, stall_ns)
        self._explained_ns = explained_ns

    def figures(self) -> dict[str, Any]:
        """Members of `ClientHealth`, by name."""
        pulse, errors_ns = self.pulse, self.canary.errors_ns
        before_ns, after_ns = self._run_wait_ns, run_wait_ns()
        is_known = before_ns is not None and after_ns is not None
        return {
            "loop_lag_p50_ns": pulse.lag_ns(0.5),
            "loop_lag_p99_ns": pulse.lag_ns(0.99),
            "loop_lag_max_ns": pulse.lag_ns(1.0),
            "gc_pause_max_ns": pulse.gc_pause_max_ns,
            "gc_pause_sum_ns": pulse.gc_pause_sum_ns,
            "gc_pauses": pulse.gc_pauses,
            "run_wait_ns": (after_ns or 0) - (before_ns or 0) if is_known else None,
            "stall_max_ns": self._stall_max_ns,
            "canary_p50_ns": quantile_ns(errors_ns, 0.5),
            "canary_p95_ns": quantile_ns(errors_ns, 0.95),
            "canary_p99_ns": quantile_ns(errors_ns, 0.99),
            "canary_max_ns": quantile_ns(errors_ns, 1.0),
            "canary_wait_p50_ns": quantile_ns(self.canary.waits_ns, 0.5),
            "canary_wait_p95_ns": quantile_ns(self.canary.waits_ns, 0.95),
            "canary_wait_p99_ns": quantile_ns(self.canary.waits_ns, 0.99),
            "canary_n": len(errors_ns),
            "canary_stamp": self.canary.stamp if errors_ns else "",
            "scribe_behind_ns": self._behind_looks * LOOK_PERIOD_NS,
            "scribe_behind_bytes": self._behind_bytes,
        }
