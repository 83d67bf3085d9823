"""Did the point stand level? Warm-up that the plateau still holds, drift, a change of level.

`judge` answers with the verdicts of MLPerf Endpoints (docs/definitions.md#steadiness) and with the
window that figures should come from: the plateau less a warm-up, or up to the first change for the
worse. What is too short to be judged is left as it is.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace

from loadgen.analysis.blocks import (
    FULL_BLOCK,
    MIN_BLOCKS,
    SLICES_PER_ANSWER,
    Series,
    answer_s,
    block_count,
    out_by_block,
    series_of,
    slice_edges,
    tpot_by_block,
)
from loadgen.analysis.frame import Frame, frame_in
from loadgen.analysis.statistics.distributions import welch_p
from loadgen.analysis.statistics.quantiles import quantile
from loadgen.analysis.statistics.trend import (
    autocorrelations,
    flattens,
    mann_kendall,
    means_of,
    mser5,
    pettitt,
    steps_rather_than_slopes,
)
from loadgen.analysis.words import in_percent
from loadgen.model.summary import BlockSeries, Steadiness, SteadyVerdict, Window
from loadgen.model.table import Floats
from loadgen.units import NS_PER_S

MATERIAL_FRAC = 0.05
"""A change under a twentieth is within the noise, however sure."""
TREND_P = 0.001
SHIFT_P = 0.01
SHIFT_SDS = 3.0
MIN_LEVEL = 3
WARM_SDS = 4.0
MSER_SLACK = 1.5
FLOOR_S = 600.0
FLOOR_ANSWERS = 5.0


@dataclass(frozen=True, slots=True)
class Judged:
    """What one series says: `at` is the block where its second level begins."""

    verdict: SteadyVerdict
    change_frac: float | None = None
    p_value: float | None = None
    at: int | None = None


def judge(frame: Frame, window: Window | None, floor: str) -> tuple[Steadiness, Window | None]:
    """The verdict on a plateau, and the window that is left of it."""
    if window is None:
        return Steadiness("not_found", "no plateau", floor), None
    told = Steadiness(
        "not_found",
        "",
        floor,
        plateau_start_at_ns=window.start_at_ns,
        plateau_end_at_ns=window.end_at_ns,
    )
    k, reason = block_count(frame)
    if not k:
        return replace(told, reason=reason), window
    edges = np.linspace(frame.start_at_ns, frame.end_at_ns, k + 1)
    series, found = _judged(frame, frame, edges, 0)
    worse = _worse_at(series, found)
    if worse is not None:
        until = _first_level(frame, window, int(edges[worse - 1]))
        return _told(told, edges, 0, series, found), until
    rest, cut_s = _without_warmup(frame, window)
    if not cut_s:
        return _told(told, edges, 0, series, found), window
    return _judge_rest(replace(told, cut_s=cut_s), frame, rest), rest


def _judge_rest(told: Steadiness, plateau: Frame, window: Window) -> Steadiness:
    """The verdict on what a warm-up left, its blocks continued over the warm-up for the eye."""
    rest = frame_in(plateau.requests, plateau.load, window, plateau.known)
    k, reason = block_count(rest)
    if not k:
        return replace(told, reason=f"{reason}, {told.cut_s:.3g} s of warm-up being cut")
    edges, first = _edges_back(rest, plateau, k)
    series, found = _judged(plateau, rest, edges, first)
    return _told(told, edges, first, series, found)


def _judged(
    plateau: Frame, rest: Frame, edges: Floats, first: int
) -> tuple[tuple[Series, ...], list[Judged]]:
    """The series over all blocks, and what each says from block `first` on."""
    series = series_of(plateau, edges)
    per_block = float(rest.chosen.sum()) / (len(edges) - 1 - first)
    material = MATERIAL_FRAC * max(1.0, math.sqrt(FULL_BLOCK / max(per_block, 1.0)))
    return series, [judge_series(one.values[first:], material) for one in series]


def _told(
    told: Steadiness,
    edges: Floats,
    first: int,
    series: Sequence[Series],
    found: Sequence[Judged],
) -> Steadiness:
    verdict, reason = _decide(series, found, len(edges) - 1 - first)
    return replace(
        told,
        verdict=verdict,
        reason=reason,
        block_edges_ns=tuple(int(edge) for edge in edges),
        judged_from=first,
        series=tuple(_drawn(one, mark) for one, mark in zip(series, found, strict=True)),
    )


def floors_missed(frame: Frame, steady: Steadiness) -> tuple[str, ...]:
    """Which floors of a certified window this one misses, each with both figures.

    600 s, 5 times the p90 answer, and (1.96 CoV / 5 %)^2 blocks, CoV being that of the blocks'
    median TPOT. Source: MLPerf Endpoints, minimum window duration.
    """
    if not frame.steady:
        return ("no plateau",)
    ok = frame.chosen & frame.requests.ok
    missed = []
    if frame.span_s < FLOOR_S:
        missed.append(f"{frame.span_s:.3g} s of {FLOOR_S:g} s")
    if ok.any():
        took = (frame.requests.end_at_ns[ok] - frame.requests.table.due_at_ns[ok]) / NS_PER_S
        wanted_s = FLOOR_ANSWERS * quantile(took, 0.9)
        if frame.span_s < wanted_s:
            missed.append(f"{frame.span_s:.3g} s of {wanted_s:.3g} s (5 x p90 answer)")
    needed, n = _blocks_for_precision(steady)
    if needed > n:
        missed.append(f"{n} blocks of {needed} for 5 % at this scatter")
    return tuple(missed)


def _blocks_for_precision(steady: Steadiness) -> tuple[int, int]:
    """(needed, had); needed is at least MIN_BLOCKS, which every judged point has."""
    if not steady.series:
        return MIN_BLOCKS, 0
    values = [v for v in steady.series[0].values[steady.judged_from :] if v is not None]
    if len(values) < 2:
        return MIN_BLOCKS, len(values)
    mean = float(np.mean(values))
    cov = float(np.std(values, ddof=1)) / mean if mean else 0.0
    return max(MIN_BLOCKS, math.ceil((1.96 * cov / MATERIAL_FRAC) ** 2)), len(values)


def judge_series(values: Floats, material_frac: float) -> Judged:
    """One series of blocks: level, a drift, or one change of level; NaN blocks are left out."""
    at_block = np.flatnonzero(~np.isnan(values))
    seen = values[at_block]
    middle = float(np.median(np.abs(seen))) if len(seen) else 0.0
    if len(seen) < MIN_BLOCKS or middle == 0.0:
        return Judged("not_found")
    trend = mann_kendall(seen)
    shift = pettitt(seen, trend.inflation)
    if MIN_LEVEL <= shift.at <= len(seen) - MIN_LEVEL:
        change = _level_change(seen, shift.at)
        sure = _is_sure(seen, shift.at, shift.p_value)
        steps = steps_rather_than_slopes(seen, shift.at)
        if sure and steps and abs(change) >= material_frac:
            return Judged("anomaly", change, shift.p_value, int(at_block[shift.at]))
    change = trend.slope * (len(seen) - 1) / middle
    if trend.p_value < TREND_P and abs(change) >= material_frac:
        way: SteadyVerdict = "drifting_up" if change > 0 else "drifting_down"
        return Judged(way, change, trend.p_value)
    return Judged("steady", change, trend.p_value)


def warmup_ends(series: Sequence[Floats]) -> int:
    """Slices to cut from the start, by the series that shows the warm-up clearest; 0: none is sure.

    MSER-5 proposes, and the cut is made where its mean lies a twentieth and 4 standard errors away
    from the rest, and the rest is no drift that goes on. It is half at most.
    """
    proposed = [_warm_slices(values) for values in series]
    clearness, cut = max(proposed, default=(0.0, 0))
    return cut if clearness >= WARM_SDS else 0


def _warm_slices(values: Floats) -> tuple[float, int]:
    """How many standard errors the start lies off, and where it ends; (0, 0) where it doesn't."""
    cut = mser5(values, MSER_SLACK)
    batches = means_of(values, SLICES_PER_ANSWER)
    if not cut or len(batches) < 2 * MIN_BLOCKS:
        return 0.0, 0
    seen = ~np.isnan(batches)
    begun = int(seen[: cut // SLICES_PER_ANSWER].sum())
    batches = batches[seen]
    first, rest = batches[:begun], batches[begun:]
    if not len(first) or len(rest) < MIN_BLOCKS:
        return 0.0, 0
    rho = max(float(autocorrelations(rest)[1]), 0.0)
    alike = (1.0 + rho) / max(1.0 - rho, 0.1)
    error = float(rest.std(ddof=1)) * math.sqrt(alike * (1.0 / len(first) + 1.0 / len(rest)))
    level = abs(float(rest.mean()))
    off = abs(float(first.mean()) - float(rest.mean()))
    if off < MATERIAL_FRAC * level or not flattens(batches, begun):
        return 0.0, 0
    return off / max(error, 1e-9 * level), cut


def _without_warmup(frame: Frame, window: Window) -> tuple[Window, float]:
    """The window from the first issue after the warm-up on, and the seconds that were cut."""
    if frame.span_s < 2 * MIN_BLOCKS * answer_s(frame):
        return window, 0.0
    edges = slice_edges(frame)
    series = [out_by_block(frame, edges)]
    if not (frame.withheld or frame.buffered):
        series.append(tpot_by_block(frame, edges))
    cut = warmup_ends(series)
    if not cut:
        return window, 0.0
    due = frame.requests.table.due_at_ns[frame.chosen]
    later = due[due >= edges[cut]]
    if not len(later) or later.min() >= window.end_at_ns:
        return window, 0.0
    start = int(later.min())
    cut_s = (start - window.start_at_ns) / NS_PER_S
    rule = f"{window.rule}; its first {cut_s:.3g} s cut as warm-up (MSER-5)"
    return Window(start, window.end_at_ns, rule), cut_s


def _first_level(frame: Frame, window: Window, ends_at_ns: int) -> Window:
    """The window up to the last issue before the block in which the level changed."""
    due = frame.requests.table.due_at_ns[frame.chosen]
    before = due[due <= ends_at_ns]
    if len(before) < 2 or before.max() <= window.start_at_ns:
        return window
    rule = f"{window.rule}; up to a change of level (Pettitt)"
    return Window(window.start_at_ns, int(before.max()), rule)


def _edges_back(rest: Frame, plateau: Frame, k: int) -> tuple[Floats, int]:
    """Edges of k blocks over the rest, continued backwards over the plateau; whole blocks only."""
    width = (rest.end_at_ns - rest.start_at_ns) / k
    before = int((rest.start_at_ns - plateau.start_at_ns) / width)
    start = rest.start_at_ns - before * width
    return np.linspace(start, rest.end_at_ns, before + k + 1), before


def _worse_at(series: Sequence[Series], found: Sequence[Judged]) -> int | None:
    """The first block after a change for the worse, or one late in the point; None without.

    A level that gets better within the first half is a warm-up, and MSER-5's to cut.
    """
    places = []
    for one, mark in zip(series, found, strict=True):
        if not one.weighs or mark.at is None or mark.change_frac is None:
            continue
        worse = (mark.change_frac > 0) == one.up_is_worse
        if worse or mark.at > len(one.values) // 2:
            places.append(mark.at)
    return min(places, default=None)


def _level_change(values: Floats, at: int) -> float:
    before = float(np.median(values[:at]))
    return (float(np.median(values[at:])) - before) / before if before else 0.0


def _is_sure(values: Floats, at: int, p_value: float) -> bool:
    """Levels 3 standard deviations apart, by Pettitt or (few blocks) Welch over all places."""
    first, second = values[:at], values[at:]
    apart = abs(float(second.mean()) - float(first.mean()))
    spread = math.sqrt((float(first.var(ddof=1)) + float(second.var(ddof=1))) / 2.0)
    if apart < SHIFT_SDS * spread:
        return False
    if p_value < SHIFT_P or spread < 1e-9 * apart:
        return True
    return welch_p(first, second) * (len(values) - 1) < TREND_P


def _decide(series: Sequence[Series], found: Sequence[Judged], n: int) -> tuple[SteadyVerdict, str]:
    """A change of level, else the first drift, else steady; only series that weigh count."""
    weighing = [(s, m) for s, m in zip(series, found, strict=True) if s.weighs]
    for wanted in (("anomaly",), ("drifting_up", "drifting_down")):
        for one, mark in weighing:
            if mark.verdict in wanted and mark.change_frac is not None:
                return _turned(one, mark), _said(one, mark, n)
    if not any(mark.verdict == "steady" for _, mark in weighing):
        return "not_found", "too little came in each block"
    return "steady", f"{n} blocks, none drifts by {in_percent(MATERIAL_FRAC)} or steps"


def _turned(one: Series, mark: Judged) -> SteadyVerdict:
    """The verdict on the point: up is worse, so a rate that rises is a point drifting down."""
    if mark.verdict == "anomaly" or one.up_is_worse:
        return mark.verdict
    return "drifting_down" if mark.verdict == "drifting_up" else "drifting_up"


def _said(one: Series, mark: Judged, n: int) -> str:
    """`tpot_s.p50 rises by 12 % over the window`."""
    change = mark.change_frac or 0.0
    if mark.verdict == "anomaly":
        return f"{one.name} steps by {in_percent(change, signed=True)} after block {mark.at} of {n}"
    moved = f"{'rises' if change > 0 else 'falls'} by {in_percent(abs(change))}"
    return f"{one.name} {moved} over the window"


def _drawn(one: Series, mark: Judged) -> BlockSeries:
    values = tuple(None if math.isnan(value) else float(value) for value in one.values)
    return BlockSeries(
        one.name, one.unit, one.weighs, values, mark.verdict, mark.change_frac, mark.p_value
    )
