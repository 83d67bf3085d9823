"""How many times one side's figure is the other's, with an interval: runs as the unit, if it can.

Everything is in logarithms, so that twice as fast and half as fast are equally far from no change.
"""

import math
from dataclasses import dataclass

import numpy as np

from loadgen.analysis.statistics.distributions import student_quantile
from loadgen.model.table import Floats

LEVEL = 0.95
Z = 1.959964
RUNS_MAX = 1000
"""No more runs are ever asked for."""


@dataclass(frozen=True, slots=True)
class SideFigure:
    """Logarithms of one figure over a side's runs, float64[n_runs], with each run's own interval.

    `lows` and `highs` are NaN where a run gave none.
    """

    logs: Floats
    lows: Floats
    highs: Floats


@dataclass(frozen=True, slots=True)
class Ratio:
    """log(new / base) with its interval; None where there is none, `reason` then says why.

    `scatter` is the standard deviation of one run's logarithm, as far as it is known.
    """

    log: float
    low: float | None = None
    high: float | None = None
    interval: str = ""
    scatter: float | None = None
    reason: str = ""


def ratio_of(base: SideFigure, new: SideFigure, *, paired: bool) -> Ratio:
    """The ratio of two sides, by the best interval that their runs carry."""
    runs = len(base.logs), len(new.logs)
    if min(runs) > 1 and paired and runs[0] == runs[1]:
        return _by_pairs(base.logs, new.logs)
    if min(runs) > 1:
        return _by_runs(base.logs, new.logs)
    if max(runs) > 1:
        return _one_against_many(base.logs, new.logs)
    return _within_runs(base, new)


def more_runs(scatter: float, margin_log: float, runs: int) -> int:
    """Runs a side, beyond `runs`, until the half width t s sqrt(2/n) is at most the margin.

    Source: docs/definitions.md#comparing-runs; t with 2n - 2 degrees of freedom.
    """
    for n in range(2, RUNS_MAX):
        half = student_quantile(0.5 + LEVEL / 2, 2 * n - 2) * scatter * math.sqrt(2 / n)
        if half <= margin_log:
            return max(1, n - runs)
    return RUNS_MAX


def least_change(scatter: float, runs: int) -> float:
    """The least change (share) that `runs` a side show as one, by the same half width."""
    half = student_quantile(0.5 + LEVEL / 2, 2 * runs - 2) * scatter * math.sqrt(2 / runs)
    return math.expm1(half)


def mean_interval(logs: Floats) -> tuple[float, float]:
    """95 % interval of the mean logarithm over runs: t, n - 1 degrees of freedom."""
    n = len(logs)
    half = student_quantile(0.5 + LEVEL / 2, n - 1) * float(logs.std(ddof=1)) / math.sqrt(n)
    return float(logs.mean()) - half, float(logs.mean()) + half


def _by_pairs(base: Floats, new: Floats) -> Ratio:
    """Student's t over pairs of runs that stood beside each other in time."""
    changes = new - base
    low, high = mean_interval(changes)
    scatter = float(changes.std(ddof=1)) / math.sqrt(2)
    how = f"95 %, t over {len(base)} pairs of runs"
    return Ratio(float(changes.mean()), low, high, how, scatter)


def _by_runs(base: Floats, new: Floats) -> Ratio:
    """Welch's t with runs as the unit. Source: Welch 1947."""
    parts = [float(logs.var(ddof=1)) / len(logs) for logs in (base, new)]
    total = sum(parts)
    log = float(new.mean() - base.mean())
    how = f"95 %, Welch's t, {len(base)} and {len(new)} runs"
    scatter = math.sqrt(float(base.var(ddof=1) + new.var(ddof=1)) / 2)
    if total <= 0:
        return Ratio(log, log, log, how, 0.0)
    freedoms = (len(base) - 1, len(new) - 1)
    degrees = total**2 / sum(p**2 / free for p, free in zip(parts, freedoms, strict=True))
    half = student_quantile(0.5 + LEVEL / 2, degrees) * math.sqrt(total)
    return Ratio(log, log - half, log + half, how, scatter)


def _one_against_many(base: Floats, new: Floats) -> Ratio:
    """A single run against several: their spread from run to run counts for both."""
    many = base if len(base) > 1 else new
    k = len(many)
    scatter = float(many.std(ddof=1))
    half = student_quantile(0.5 + LEVEL / 2, k - 1) * scatter * math.sqrt(1 + 1 / k)
    log = float(new.mean() - base.mean())
    how = f"95 %, one run against the spread of {k}"
    return Ratio(log, log - half, log + half, how, scatter)


def _within_runs(base: SideFigure, new: SideFigure) -> Ratio:
    """Two single runs: their intervals joined. Source: MOVER, Zou and Donner 2008."""
    log = float(new.logs[0] - base.logs[0])
    ends = np.array([base.lows[0], base.highs[0], new.lows[0], new.highs[0]])
    if not np.isfinite(ends).all():
        return Ratio(log, reason="no interval within one run; repeat both")
    down = math.hypot(new.logs[0] - new.lows[0], base.highs[0] - base.logs[0])
    up = math.hypot(new.highs[0] - new.logs[0], base.logs[0] - base.lows[0])
    scatter = math.sqrt(float((ends[1] - ends[0]) ** 2 + (ends[3] - ends[2]) ** 2) / 2) / (2 * Z)
    how = "95 %, within one run a side: says nothing of what differs from run to run"
    return Ratio(log, log - down, log + up, how, scatter)
