"""How much runs of one plan differ by themselves (A/A), and whether a run repeated another."""

import math
from collections.abc import Sequence

import numpy as np

from loadgen.analysis.comparison.compare import (
    KEYS,
    Margins,
    compare,
    margin_of,
    points_by_load,
    side_figure,
)
from loadgen.analysis.comparison.likeness import unlike_points, unlike_runs
from loadgen.analysis.statistics.ratio import least_change, mean_interval
from loadgen.model.comparison import (
    Comparison,
    FigureChange,
    FigureSpread,
    Noise,
    Repetition,
    Reproduced,
    ReviewedRun,
)
from loadgen.model.summary import PointSummary
from loadgen.model.table import Floats

TOLD_RUNS = (3, 5, 10)
CHANCE_FRAC = 0.1
"""So many figures of a repetition may differ by less than their margin: each interval has 5 %."""
HALVES_MIN = 4


def noise_of(
    runs: Sequence[ReviewedRun], keys: Sequence[str] = KEYS, margins: Margins | None = None
) -> Noise:
    """Spread from run to run of every figure that all runs have; two runs at least."""
    runs = sorted(runs, key=lambda run: run.started_wall_ns)
    by_load = [points_by_load(run) for run in runs]
    unlike = list(unlike_runs(runs, ()))
    spreads: list[FigureSpread] = []
    for point in by_load[0]:
        if not all(point in points for points in by_load):
            continue
        points = [points[point] for points in by_load]
        unlike += unlike_points(point, points, ())
        for key in keys:
            spread = _spread(point, points, key, margin_of(key, margins or {}))
            spreads += [] if spread is None else [spread]
    return Noise(tuple(run.name for run in runs), tuple(spreads), tuple(unlike))


def _spread(
    point: str, points: Sequence[PointSummary], key: str, margin_frac: float
) -> FigureSpread | None:
    """One figure over the runs; None where a run lacks it."""
    figure = side_figure(points, key)
    if isinstance(figure, str):
        return None
    logs, measure = figure.logs, points[0].measures[key]
    low, high = mean_interval(logs)
    scatter = float(logs.std(ddof=1))
    halves, widest = _halves(logs), math.expm1(float(np.ptp(logs)))
    return FigureSpread(
        point=point,
        key=key,
        unit=measure.unit,
        better=measure.better,
        values=tuple(float(value) for value in np.exp(logs)),
        mean=math.exp(float(logs.mean())),
        low=math.exp(low),
        high=math.exp(high),
        spread_frac=scatter,
        widest_frac=widest,
        halves_frac=halves,
        margin_frac=margin_frac,
        noisy=abs(math.log1p(widest if halves is None else halves)) > math.log1p(margin_frac),
        tells_frac={str(n): least_change(scatter, n) for n in TOLD_RUNS},
    )


def _halves(logs: Floats) -> float | None:
    """Every other run against the rest; None under 4 runs."""
    if len(logs) < HALVES_MIN:
        return None
    return math.expm1(float(logs[1::2].mean() - logs[::2].mean()))


def repetition_of(earlier: ReviewedRun, again: ReviewedRun) -> Repetition:
    """Whether the earlier run's figures came again within the intervals of both.

    Not reproduced: a figure changed by more than its margin for certain, or more figures differ
    at all than chance explains. Can't tell: no figure has an interval on both sides.
    """
    comparison = compare([earlier], [again])
    rows = [row for row in comparison.figures if row.point]
    judged = [row for row in rows if _is_told(row)]
    moved = [row for row in judged if row.verdict in {"faster", "slower"}]
    differ = [row for row in judged if row.verdict == "size_unclear"]
    verdict: Reproduced = "reproduced"
    if not judged:
        verdict = "cannot_tell"
    elif moved or len(differ) > max(1.0, CHANCE_FRAC * len(judged)):
        verdict = "not_reproduced"
    return Repetition(verdict, _words(comparison, judged, moved, differ), comparison)


def _is_told(row: FigureChange) -> bool:
    """Whether both runs gave the figure with an interval and nothing forbids the look."""
    return row.low_frac is not None and not row.reason.startswith("unlike")


def _words(
    comparison: Comparison,
    judged: Sequence[FigureChange],
    moved: Sequence[FigureChange],
    differ: Sequence[FigureChange],
) -> str:
    """What was found, in one sentence."""
    rows = [row for row in comparison.figures if row.point]
    if not rows:
        return "no point was measured in both runs"
    if not judged:
        reasons = list(dict.fromkeys(row.reason for row in rows if row.reason))
        return f"none of {len(rows)} figures can be held against the earlier run: {reasons[0]}"
    held = len(judged) - len(moved) - len(differ)
    words = f"{held} of {len(judged)} figures agree within both runs' intervals"
    if moved:
        words += f"; beyond the margin: {_named(moved)}"
    if differ:
        words += f"; different, by how much is unclear: {_named(differ)}"
    left = len(rows) - len(judged)
    return f"{words}; {left} without an interval or not alike" if left else words


def _named(rows: Sequence[FigureChange]) -> str:
    """The first figures with their change."""
    told = [f"{row.key} at {row.point} {(row.change_frac or 0) * 100:+.1f} %" for row in rows[:3]]
    return ", ".join(told) + (f" and {len(rows) - 3} more" if len(rows) > 3 else "")
