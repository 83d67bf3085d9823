"""NEW beside BASE: for each figure of each point a verdict by interval against a margin.

Runs are the unit where there are several; a single run a side has the intervals of its blocks
only. Pure: reviewed runs in, a Comparison out.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace

from loadgen.analysis.comparison.likeness import unlike_points, unlike_runs
from loadgen.analysis.statistics.ratio import Ratio, SideFigure, more_runs, ratio_of
from loadgen.model.comparison import Change, Comparison, FigureChange, ReviewedRun, Unlike
from loadgen.model.summary import Measure, PointSummary

KEYS = (
    "out_tps",
    "ttft_s.p50",
    "ttft_s.p90",
    "tpot_s.p50",
    "tpot_s.p90",
    "e2e_s.p50",
    "e2e_s.p90",
)
"""What is compared where nothing else is asked for."""
RATE_MARGIN, TIME_MARGIN, FIRST_MARGIN = 0.03, 0.05, 0.10
FIRST_TIMES = ("ttft", "ttfb", "ttfr", "ttfa", "first_token")
ALL = ""
"""In margins: every figure that isn't named. As a point: the mean over all points."""

Margins = Mapping[str, float]
Sides = tuple[Sequence[PointSummary], Sequence[PointSummary]]


def margin_of(key: str, given: Margins) -> float:
    """The share by which this figure may differ and count as equal: by key, metric, `ALL`, default.

    3 % for rates, 5 % for times, 10 % for times to first something. Source: docs/definitions.md.
    """
    metric = key.partition(".")[0]
    for name in (key, metric, ALL):
        if name in given:
            return given[name]
    if not metric.endswith("_s"):
        return RATE_MARGIN
    return FIRST_MARGIN if metric.startswith(FIRST_TIMES) else TIME_MARGIN


def compare(
    base: Sequence[ReviewedRun],
    new: Sequence[ReviewedRun],
    keys: Sequence[str] = KEYS,
    margins: Margins | None = None,
) -> Comparison:
    """Every figure of every point that all runs of both sides have."""
    given = margins or {}
    base, new = _by_start(base), _by_start(new)
    points, unmatched = _matched(base, new)
    paired = alternate(base, new)
    general = list(unlike_runs(base, new))
    figures: list[FigureChange] = []
    unlike = [*general]
    usable: dict[str, Sides] = {}
    for point, sides in points.items():
        found = list(unlike_points(point, *sides))
        unlike += found
        reasons = _blocking([*general, *found])
        figures += _figures(point, sides, keys, given, paired, reasons)
        if not reasons:
            usable[point] = sides
    if len(usable) > 1:
        figures += _over_points(usable, keys, given, paired)
    return Comparison(
        base=tuple(run.name for run in base),
        new=tuple(run.name for run in new),
        figures=tuple(figures),
        unlike=tuple(unlike),
        paired=paired,
        unmatched=unmatched,
    )


def alternate(base: Sequence[ReviewedRun], new: Sequence[ReviewedRun]) -> bool:
    """Whether each run has one of the other side beside it in time: ABBA, ABAB; 3 pairs at least.

    Both in order of time. Runs without a start are in no order.
    """
    if len(base) != len(new) or len(base) < 3:
        return False
    told = [(run.started_wall_ns, side) for side, runs in enumerate((base, new)) for run in runs]
    if not all(at for at, _ in told):
        return False
    sides = [side for _, side in sorted(told)]
    return all(sides[at] != sides[at + 1] for at in range(0, len(sides), 2))


def points_by_load(run: ReviewedRun) -> dict[str, PointSummary]:
    """A run's points by their load; the second of one load bears ` (2)`."""
    found: dict[str, PointSummary] = {}
    for point in run.summary.points:
        name, number = point.load, 1
        while name in found:
            number += 1
            name = f"{point.load} ({number})"
        found[name] = point
    return found


def side_figure(points: Sequence[PointSummary], key: str) -> SideFigure | str:
    """The logarithms of one figure over a side's runs, or why there are none."""
    measures = [point.measures.get(key) for point in points]
    for measure in measures:
        if measure is None:
            return "no such figure"
        if measure.value is None:
            return measure.reason or "not measured"
        if measure.value <= 0:
            return "a figure of 0 has no ratio"
    told = [measure for measure in measures if measure is not None]
    return SideFigure(
        np.array([math.log(measure.value or 1.0) for measure in told]),
        np.array([_log(measure.low) for measure in told]),
        np.array([_log(measure.high) for measure in told]),
    )


def verdict_of(ratio: Ratio, margin_frac: float, *, higher_is_better: bool) -> Change:
    """The verdict by interval against margin: wholly beyond it, wholly inside, or neither."""
    if ratio.low is None or ratio.high is None:
        return "inconclusive"
    margin = math.log1p(margin_frac)
    low, high = ratio.low, ratio.high
    if not higher_is_better:
        low, high = -high, -low
    if low > margin:
        return "faster"
    if high < -margin:
        return "slower"
    if low >= -margin and high <= margin:
        return "equivalent"
    return "size_unclear" if low > 0 or high < 0 else "inconclusive"


def _by_start(runs: Sequence[ReviewedRun]) -> list[ReviewedRun]:
    return sorted(runs, key=lambda run: run.started_wall_ns)


def _log(value: float | None) -> float:
    return math.log(value) if value is not None and value > 0 else math.nan


def _matched(
    base: Sequence[ReviewedRun], new: Sequence[ReviewedRun]
) -> tuple[dict[str, Sides], tuple[str, ...]]:
    """The points that all runs have, in order, and those that only some have."""
    sides = [[points_by_load(run) for run in runs] for runs in (base, new)]
    names = list(dict.fromkeys(name for side in sides for run in side for name in run))
    common = [name for name in names if all(name in run for side in sides for run in side)]
    points: dict[str, Sides] = {
        name: ([run[name] for run in sides[0]], [run[name] for run in sides[1]]) for name in common
    }
    return points, tuple(name for name in names if name not in points)


def _blocking(unlike: Sequence[Unlike]) -> str:
    """What allows no verdict, in words; empty where nothing does."""
    return ", ".join(dict.fromkeys(one.what for one in unlike if one.blocks))


@dataclass(frozen=True, slots=True)
class _Asked:
    """One figure of one point."""

    point: str
    key: str
    margin_frac: float
    like: Measure
    runs: tuple[int, int]


def _figures(
    point: str, sides: Sides, keys: Sequence[str], margins: Margins, paired: bool, blocked: str
) -> list[FigureChange]:
    """One row a key that either side knows."""
    rows = []
    for key in keys:
        like = next((p.measures[key] for side in sides for p in side if key in p.measures), None)
        if like is None:
            continue
        asked = _Asked(point, key, margin_of(key, margins), like, (len(sides[0]), len(sides[1])))
        found = [side_figure(side, key) for side in sides]
        row = _row(asked, found[0], found[1], paired)
        if blocked and row.verdict != "inconclusive":
            row = replace(row, verdict="inconclusive", direction="")
        if blocked:
            row = replace(row, reason=f"unlike: {blocked}", more_runs=None)
        rows.append(row)
    return rows


def _over_points(
    points: Mapping[str, Sides], keys: Sequence[str], margins: Margins, paired: bool
) -> list[FigureChange]:
    """The mean change over all points, for figures that every point has on both sides."""
    rows = []
    for key in keys:
        found = [[side_figure(side, key) for side in sides] for sides in points.values()]
        if any(isinstance(figure, str) for sides in found for figure in sides):
            continue
        first = next(iter(points.values()))
        asked = _Asked(
            ALL,
            key,
            margin_of(key, margins),
            first[0][0].measures[key],
            (len(first[0]), len(first[1])),
        )
        base, new = (_mean_figure([sides[at] for sides in found]) for at in (0, 1))
        rows.append(replace(_row(asked, base, new, paired), base=None, new=None))
    return rows


def _mean_figure(figures: Sequence[SideFigure | str]) -> SideFigure:
    """The mean of several points' logarithms; each run's interval as of independent points."""
    known = [figure for figure in figures if isinstance(figure, SideFigure)]
    n = len(known)
    logs = np.mean([figure.logs for figure in known], axis=0)
    down = np.sqrt(np.sum([(figure.logs - figure.lows) ** 2 for figure in known], axis=0)) / n
    up = np.sqrt(np.sum([(figure.highs - figure.logs) ** 2 for figure in known], axis=0)) / n
    return SideFigure(logs, logs - down, logs + up)


def _row(
    asked: _Asked, base: SideFigure | str, new: SideFigure | str, paired: bool
) -> FigureChange:
    """The figure with its change, interval and verdict."""
    row = FigureChange(
        point=asked.point,
        key=asked.key,
        unit=asked.like.unit,
        better=asked.like.better,
        base=None if isinstance(base, str) else math.exp(float(base.logs.mean())),
        new=None if isinstance(new, str) else math.exp(float(new.logs.mean())),
        margin_frac=asked.margin_frac,
        verdict="inconclusive",
        base_runs=asked.runs[0],
        new_runs=asked.runs[1],
    )
    if isinstance(base, str) or isinstance(new, str):
        sides = [
            f"{name}: {why}" for name, why in (("base", base), ("new", new)) if isinstance(why, str)
        ]
        return replace(row, reason="; ".join(sides))
    ratio = ratio_of(base, new, paired=paired)
    row = replace(row, change_frac=math.expm1(ratio.log), reason=ratio.reason)
    if ratio.low is None or ratio.high is None:
        return row
    return _judged(row, ratio)


def _judged(row: FigureChange, ratio: Ratio) -> FigureChange:
    """The row with its interval, the verdict by it, and what would narrow it."""
    low, high = ratio.low or 0.0, ratio.high or 0.0
    verdict = verdict_of(ratio, row.margin_frac, higher_is_better=row.better == "higher")
    better = (low > 0) == (row.better == "higher")
    open_ended = verdict in {"inconclusive", "size_unclear"}
    needed = None
    if open_ended and ratio.scatter:
        runs = min(row.base_runs, row.new_runs)
        needed = more_runs(ratio.scatter, math.log1p(row.margin_frac), runs)
    return replace(
        row,
        low_frac=math.expm1(low),
        high_frac=math.expm1(high),
        interval=ratio.interval,
        verdict=verdict,
        direction=("faster" if better else "slower") if verdict == "size_unclear" else "",
        more_runs=needed,
        reason="the interval is wider than the margin" if verdict == "inconclusive" else "",
    )
