"""Reads the progress map of a running point into what the progress line shows."""

from collections import deque
from collections.abc import Sequence

from loadgen import clock
from loadgen.measure.status import Status
from loadgen.model.plan import Plan, PointPlan
from loadgen.store.progress import Progress, ScribeRow, WorkerRow
from loadgen.units import NS_PER_MS, NS_PER_S, s_from_ns

RATE_SPAN_NS = 3 * NS_PER_S
CLIENT_LATE_NS = 50 * NS_PER_MS
"""A loop that was this late is shown as `client late` while the run goes on."""


class Watcher:
    """Sums over all shares; rates over the last three seconds."""

    def __init__(self, plan: Plan, progress: Progress) -> None:
        self._plan = plan
        self._progress = progress
        self._tokens: deque[tuple[int, int]] = deque()
        self._started_ns = 0
        self._point: PointPlan | None = None
        self._warmup_most = 0
        self._before = _Totals(0, 0, 0, 0)

    def start_point(self, point: PointPlan, start_at_ns: int) -> None:
        """The following looks are at this point."""
        self._point = point
        self._started_ns = start_at_ns
        self._warmup_most = 0
        self._tokens.clear()
        self._before = self._totals()

    def mean_e2e_ns(self) -> int | None:
        """Mean time from due to done over all answers so far; None before the first."""
        rows = [self._progress.scribe(share) for share in range(self._plan.workers)]
        count = sum(row.e2e_count for row in rows)
        return sum(row.e2e_sum_ns for row in rows) // count if count else None

    def look(self) -> Status:
        """The state of the point now."""
        point = self._point
        assert point is not None
        now_ns = clock.now_ns()
        totals = self._totals()
        workers = [self._progress.worker(share) for share in range(self._plan.workers)]
        elapsed_s = s_from_ns(max(0, now_ns - self._started_ns))
        warming = self._plan.replay is not None and bool(_warmup_left(workers))
        planned_s = None
        if point.duration_ns is not None and not warming:
            planned_s = s_from_ns(point.duration_ns)
        ok = totals.ok - self._before.ok
        failed = totals.failed - self._before.failed
        return Status(
            point_no=self._plan.points.index(point) + 1,
            points=len(self._plan.points),
            load=point.load,
            phase=self._phase(ok + failed, workers),
            elapsed_s=elapsed_s,
            planned_s=planned_s,
            in_flight=sum(row.in_flight for row in workers),
            issued=sum(row.issued for row in workers),
            ok=ok,
            failed=failed,
            out_tps=self._rate(now_ns, totals.tokens),
            ttft_p50_s=_median_ttft_s([row.ttft_p50_ns for row in self._scribes()]),
            eta_s=self._warm_eta_s(elapsed_s, workers) if warming else self._eta_s(elapsed_s),
            sessions=self._sessions(workers, totals.tokens - self._before.tokens),
            client_ok=all(row.loop_lag_max_ns < CLIENT_LATE_NS for row in workers),
        )

    def _phase(self, ended: int, workers: Sequence[WorkerRow]) -> str:
        assert self._point is not None
        if self._plan.replay is not None:
            return "warm-up" if _warmup_left(workers) else "profiling"
        return "warm-up" if ended < self._point.warmup_requests else "window"

    def _sessions(self, workers: Sequence[WorkerRow], tokens: int) -> str:
        """How far a replay is; empty for other runs."""
        if self._plan.replay is None:
            return ""
        primers = sum(row.primers_left for row in workers)
        if primers or _warmup_left(workers):
            left = sum(row.warmup_left for row in workers)
            lanes = sum(row.lanes for row in workers)
            to_do = f"{lanes} lanes, {primers} primers and {left} warm-up requests left"
            return f"{to_do}, {tokens:,} tokens served"
        finished = sum(row.sessions_finished for row in workers)
        subagents = sum(row.subagents_live for row in workers)
        return f"{finished} sessions finished, {subagents} subagents at work"

    def _warm_eta_s(self, elapsed_s: float, workers: Sequence[WorkerRow]) -> float | None:
        """The warm-up's rest at its pace so far, and all that follows; None before any pace."""
        left = _warmup_left(workers)
        self._warmup_most = max(self._warmup_most, left)
        done = self._warmup_most - left
        after_s = self._eta_s(0.0)
        return elapsed_s * left / done + after_s if done and after_s is not None else None

    def _eta_s(self, elapsed_s: float) -> float | None:
        points = self._plan.points
        assert self._point is not None
        ahead = points[points.index(self._point) + 1 :]
        spans = [point.duration_ns for point in (self._point, *ahead)]
        known = [span for span in spans if span is not None]
        if len(known) < len(spans):
            return None
        return max(0.0, s_from_ns(sum(known)) - elapsed_s)

    def _rate(self, now_ns: int, tokens: int) -> float | None:
        self._tokens.append((now_ns, tokens))
        while len(self._tokens) > 2 and now_ns - self._tokens[0][0] > RATE_SPAN_NS:
            self._tokens.popleft()
        then_ns, then_tokens = self._tokens[0]
        return (tokens - then_tokens) / s_from_ns(now_ns - then_ns) if now_ns > then_ns else None

    def _scribes(self) -> list[ScribeRow]:
        return [self._progress.scribe(share) for share in range(self._plan.workers)]

    def _totals(self) -> "_Totals":
        rows = self._scribes()
        return _Totals(
            ok=sum(row.ok for row in rows),
            failed=sum(row.failed for row in rows),
            tokens=sum(row.tokens for row in rows),
            records=sum(row.records for row in rows),
        )


class _Totals:
    def __init__(self, ok: int, failed: int, tokens: int, records: int) -> None:
        self.ok, self.failed, self.tokens, self.records = ok, failed, tokens, records


def _warmup_left(workers: Sequence[WorkerRow]) -> int:
    return sum(row.primers_left + row.warmup_left for row in workers)


def _median_ttft_s(ttfts_ns: Sequence[int]) -> float | None:
    known = sorted(ttft for ttft in ttfts_ns if ttft > 0)
    return s_from_ns(known[len(known) // 2]) if known else None
