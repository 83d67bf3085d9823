"""How far the client can be trusted with what it measured: grade A, B, C or refuse, per point.

Columns of the grade table: error left in stamps, loop lag, lateness of sends. A kernel stamp is
exact while its read holds one event, so a late loop costs nothing there; it errs by at most the
read's wait where one read brought several events. User stamps err by the loop lag itself.

Where a canary was read beside the load, its p99 is the error left in stamps, measured. Its events
are 50 ms apart and so never share a read with another: where measured ones did, the time that
the canary's waited to be read bounds their error, and the tighter of both bounds counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from loadgen.analysis.frame import Frame
from loadgen.analysis.rates import clipped_ns
from loadgen.analysis.requests import seconds_between
from loadgen.analysis.speed import tpot_s
from loadgen.analysis.statistics.quantiles import quantile
from loadgen.analysis.words import counted, in_percent
from loadgen.model.exchange import StampKind
from loadgen.model.observed import ClientHealth
from loadgen.model.provenance import Calibration
from loadgen.model.table import ABSENT, Flags
from loadgen.units import MS_PER_S, NS_PER_S

GRADES = ("A", "B", "C", "refuse")
UNGRADED = "ungraded"

STAMP_FRACS = (0.02, 0.10, 0.25)
STAMP_A_MAX_S = 0.001
LOOP_LAG_S = (0.001, 0.010, 0.050)
SEND_FRACS = (0.01, 0.05, 0.10)
SEND_FLOORS_S = (0.002, 0.005, 0.010)
GC_A_MAX_S = 0.002
CANARY_N_MIN = 20
"""A second of canary: fewer events tell nothing."""
P99_N = 299
"""As for every p99; fewer sends or canary events are judged by their p95, or one hiccup would be
the grade."""
TAILS = {"p95": 0.95, "p99": 0.99}
PRESSURE_A_MAX = 0.20
STEAL_A_MAX = 0.01
KERNEL_STAMP_S = 0.00003
"""p99 error of a kernel stamp whose read held one event, measured on loopback."""


@dataclass(frozen=True, slots=True)
class Fidelity:
    """The grade, the figures it rests on (seconds; None where nothing told), and which decided."""

    grade: str
    basis: str
    stamp_error_s: float | None = None
    loop_lag_s: float | None = None
    send_lag_s: float | None = None
    multi_read_frac: float = 0.0
    kernel: bool = False
    stat: str = "p99"
    """Which quantile `stamp_error_s` is."""
    send_stat: str = "p99"
    """Which quantile `send_lag_s` is."""
    canary_n: int = 0
    """Events of the canary behind `stamp_error_s`; 0: it is a bound, not measured."""
    step_s: float | None = None
    """What the stamp error is held against: median TPOT, without one the time in flight."""
    bound_s: float | None = None
    """What the events of reads with several can err by; None where such reads are few."""
    late_n: int = 0
    """Requests flagged `late_stamps`; `late_s` is the most that a stamp of theirs can be late."""
    late_s: float = 0.0


@dataclass(frozen=True, slots=True)
class CanarySays:
    """The worst worker's canary: the tail of stamp error and of time to be read, seconds."""

    error_s: float
    wait_s: float
    n: int
    kernel: bool
    stat: str


def fidelity(
    frame: Frame, health: Sequence[ClientHealth], calibration: Calibration | None = None
) -> Fidelity:
    """The client's grade at one point: canary, stamps, reads, sends, the loop's own probe, host."""
    rows = frame.chosen & (frame.requests.table.sent_at_ns != ABSENT)
    if not rows.any():
        return Fidelity(UNGRADED, "no request to judge by, no canary")
    canary = canary_says(health)
    kernel = bool((frame.requests.table.stamp_kind[rows] == str(StampKind.KERNEL)).all())
    lags = [h.loop_lag_p99_ns for h in health if h.loop_lag_p99_ns is not None]
    loop_lag_s = max(lags) / NS_PER_S if lags else None
    multi_frac = _multi_read_frac(frame, rows)
    bound_s = _kernel_error_s(frame, rows, multi_frac) if kernel and multi_frac > 0.01 else None
    stamp_s = _stamp_error_s(canary, bound_s, loop_lag_s, kernel=kernel)
    held_back = any(h.rate_waits for h in health)
    send_stat = _tail(int(rows.sum()))
    send_s = None if held_back else _send_lag_s(frame, rows, send_stat)
    if stamp_s is None:
        return Fidelity(
            UNGRADED,
            "user stamps and no loop probe, no canary",
            send_lag_s=send_s,
            send_stat=send_stat,
        )
    late = rows & frame.requests.flagged("late_stamps")
    seen_ns = frame.requests.table.seen_lag_max_ns[late]
    step_s = _step_s(frame)
    marks = {
        "stamps": _stamp_grade(stamp_s, step_s),
        "loop lag": _loop_grade(loop_lag_s, health, kernel=kernel),
        "sends": _send_grade(send_s, _gap_s(frame)),
        "host": _host_grade(health),
    }
    worst = max(marks.values())
    said = ", ".join(name for name, mark in marks.items() if mark == worst and worst > 0)
    basis = f"{said or 'stamps, loop lag and sends'}; {_vouched(canary, calibration)}"
    return Fidelity(
        grade=GRADES[worst],
        basis=basis,
        stamp_error_s=stamp_s,
        loop_lag_s=loop_lag_s,
        send_lag_s=send_s,
        multi_read_frac=multi_frac,
        kernel=kernel,
        stat=canary.stat if canary is not None else "p99",
        send_stat=send_stat,
        canary_n=canary.n if canary is not None else 0,
        step_s=step_s,
        bound_s=bound_s,
        late_n=int(late.sum()),
        late_s=float(seen_ns.max()) / NS_PER_S if len(seen_ns) else 0.0,
    )


def canary_says(health: Sequence[ClientHealth]) -> CanarySays | None:
    """The worst of all workers; None where one of them heard less than a second of it."""
    heard = [h for h in health if h.canary_n >= CANARY_N_MIN and h.canary_p99_ns is not None]
    if not heard or len(heard) < len(health):
        return None
    long = min(h.canary_n for h in heard) >= P99_N
    if not long and any(h.canary_p95_ns is None for h in heard):
        long = True  # recorded before a p95 was kept
    errors = [h.canary_p99_ns if long else h.canary_p95_ns for h in heard]
    waits = [h.canary_wait_p99_ns if long else h.canary_wait_p95_ns for h in heard]
    return CanarySays(
        error_s=max(error or 0 for error in errors) / NS_PER_S,
        wait_s=max(wait or 0 for wait in waits) / NS_PER_S,
        n=sum(h.canary_n for h in heard),
        kernel=all(h.canary_stamp == str(StampKind.KERNEL) for h in heard),
        stat="p99" if long else "p95",
    )


def _stamp_error_s(
    canary: CanarySays | None, bound_s: float | None, loop_lag_s: float | None, *, kernel: bool
) -> float | None:
    """Measured where a canary was heard; else what kernel or loop let one expect."""
    if canary is None:
        return (bound_s or KERNEL_STAMP_S) if kernel else loop_lag_s
    if not kernel:
        return canary.wait_s
    return max(canary.error_s, min(bound_s, canary.wait_s) if bound_s is not None else 0.0)


def _vouched(canary: CanarySays | None, calibration: Calibration | None) -> str:
    if canary is None:
        return "no canary" if calibration is None else "no canary, calibrated by selftest"
    beside = "alone, not calibrated" if calibration is None else "and calibration"
    return f"canary {beside} ({canary.n} events)"


def describe_timing(found: Sequence[Fidelity]) -> str:
    """One sentence on how exact the stamps are; empty where no point was judged."""
    known = [f for f in found if f.stamp_error_s is not None]
    if not known:
        return ""
    error = in_ms(max(f.stamp_error_s or 0.0 for f in known))
    source = "kernel" if all(f.kernel for f in known) else "user"
    measured = ", measured by the canary" if all(f.canary_n for f in known) else ""
    share = max(f.multi_read_frac for f in known)
    stat = max(known, key=lambda f: f.stamp_error_s or 0.0).stat
    bounds = [f.bound_s for f in known if f.bound_s is not None]
    bound = f" (late by {in_ms(max(bounds))} at most)" if bounds and measured else ""
    return (
        f"stamps ±{error} at {stat} ({source}{measured}), "
        f"{in_percent(share)} of the reads with text brought several events{bound}"
        f"{_late(known)}"
    )


def _late(found: Sequence[Fidelity]) -> str:
    """`; 3 requests hold stamps up to 12 ms late`; empty where none is flagged so."""
    n = sum(one.late_n for one in found)
    if not n:
        return ""
    held = counted(n, "request holds", "requests hold")
    return f"; {held} stamps up to {in_ms(max(one.late_s for one in found))} late"


def in_ms(seconds: float) -> str:
    """`0.03 ms`, `8.2 ms`, `152 ms`."""
    ms = seconds * MS_PER_S
    return f"{ms:.2f} ms" if ms < 1 else f"{ms:.1f} ms" if ms < 10 else f"{ms:.0f} ms"


def _multi_read_frac(frame: Frame, rows: Flags) -> float:
    """Reads with several events among the reads with text."""
    table, requests = frame.requests.table, frame.requests
    multi = int(table.multi_event_reads[rows].sum())
    texts = np.bincount(requests.event_row[requests.text_index], minlength=len(requests))
    reads = int(np.minimum(table.reads, texts)[rows].sum())
    return multi / reads if reads else 0.0


def _kernel_error_s(frame: Frame, rows: Flags, multi_frac: float) -> float:
    """p99 over reads: exact where single, else at most as late as the read waited.

    For shares above 1 %. Lateness joins two events only by waiting a whole gap. Where no read of a
    request waited as long as its TPOT, the server sent them together, and they waited as a read
    usually does.
    """
    table = frame.requests.table
    longest_s = table.seen_lag_max_ns / NS_PER_S
    usual_s = table.seen_lag_sum_ns / np.maximum(table.reads, 1) / NS_PER_S
    together = longest_s < np.nan_to_num(tpot_s(frame.requests))
    wait_s = np.where(together, usual_s, longest_s)[rows]
    weights = table.multi_event_reads[rows].astype(np.float64)
    return max(KERNEL_STAMP_S, quantile(wait_s, 1.0 - 0.01 / multi_frac, weights))


def _step_s(frame: Frame) -> float | None:
    """What a stamp error is held against: median TPOT, else the median time in flight."""
    values = tpot_s(frame.requests)[frame.chosen]
    values = values[~np.isnan(values)]
    if len(values):
        return quantile(values, 0.5)
    stays = clipped_ns(frame)[frame.chosen & frame.requests.ok] / NS_PER_S
    return quantile(stays, 0.5) if len(stays) else None


def _gap_s(frame: Frame) -> float | None:
    """What a late send is held against: the mean time between the sends of one slot."""
    due = np.sort(frame.requests.table.due_at_ns[frame.chosen])
    if len(due) < 2 or due[-1] == due[0]:
        return None
    return float(due[-1] - due[0]) / (len(due) - 1) / NS_PER_S * (frame.slots or 1)


def _send_lag_s(frame: Frame, rows: Flags, stat: str) -> float:
    table = frame.requests.table
    return quantile(seconds_between(table.due_at_ns, table.sent_at_ns)[rows], TAILS[stat])


def _tail(n: int) -> str:
    """Which tail n values can carry."""
    return "p99" if n >= P99_N else "p95"


def _mark(value: float, limits: Sequence[float]) -> int:
    """0 for A ... 3 for refuse."""
    return sum(value > limit for limit in limits)


def _stamp_grade(error_s: float, step_s: float | None) -> int:
    if step_s is None:
        return int(error_s > STAMP_A_MAX_S)
    floor = KERNEL_STAMP_S
    mark = _mark(error_s, [max(frac * step_s, floor) for frac in STAMP_FRACS])
    return max(mark, int(error_s > STAMP_A_MAX_S))


def _loop_grade(lag_s: float | None, health: Sequence[ClientHealth], *, kernel: bool) -> int:
    """Kernel stamps bound what a late loop does to arrivals, so it costs A there, never B."""
    mark = _mark(lag_s, LOOP_LAG_S) if lag_s is not None else 0
    if any(h.gc_pause_max_ns > GC_A_MAX_S * NS_PER_S for h in health):
        mark = max(mark, 1)
    return min(mark, 1) if kernel else mark


def _host_grade(health: Sequence[ClientHealth]) -> int:
    """A throttled, stolen or crowded core costs A: the canary tells whether it cost more."""
    hosts = [h.host for h in health if h.host is not None]
    return int(
        any(
            (host.throttles or 0) > 0
            or (host.steal_frac or 0.0) >= STEAL_A_MAX
            or (host.pressure_frac or 0.0) >= PRESSURE_A_MAX
            for host in hosts
        )
    )


def _send_grade(lag_s: float | None, gap_s: float | None) -> int:
    """Late sends change the load, not the stamps: C at worst, since both series are printed."""
    if lag_s is None:
        return 0
    limits = [
        max(floor, frac * (gap_s or 0.0))
        for floor, frac in zip(SEND_FLOORS_S, SEND_FRACS, strict=True)
    ]
    return min(_mark(lag_s, limits), GRADES.index("C"))
