"""Where more load stops paying, and the answer in one glance.

With 6 points and more, concurrency 1 among them, by the fitted curve: the smallest measured
concurrency that reaches 95 % of the curve's highest rate. With fewer, or where no curve fits, by
the simple rule: gain per doubling between neighbouring points is (X2/X1)^(1/log2(c2/c1)) - 1, which
does not depend on how far apart they stand; the knee is the smallest concurrency after which every
further step gains less than 3 % per doubling. With one point or two there is none.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

from loadgen.analysis.saturation import MIN_POINTS as ENOUGH_FOR_A_CURVE
from loadgen.analysis.saturation import fit
from loadgen.analysis.words import in_percent
from loadgen.model.summary import Headline, PointSummary, SaturationFit

KNEE_GAIN = 0.03
MIN_POINTS = 3
ROUNDING = 0.01
UNKNOWN_FRAC = 0.02


def headline_of(points: Sequence[PointSummary]) -> Headline:
    """Indices (`PointSummary.index`) of single stream, best aggregate and knee."""
    rated = [(point, rate) for point in points if (rate := _rate(point)) is not None]
    single = next((p.index for p in points if p.concurrency == 1), None)
    best = max(rated, key=lambda pair: pair[1])[0].index if rated else None
    closed = [(p, rate) for p, rate in rated if p.concurrency and rate > 0]
    curve = _curve_of(closed)
    knee, text = knee_of(closed) if curve is None else knee_on(curve, closed)
    if curve is None and len(closed) >= ENOUGH_FOR_A_CURVE and single is not None:
        text += "; no curve comes within 5 % of every point"
    return Headline(single_stream=single, best_aggregate=best, knee=knee, knee_text=text, fit=curve)


def knee_on(
    curve: SaturationFit, rated: Sequence[tuple[PointSummary, float]]
) -> tuple[int | None, str]:
    """Index of the first point at or above the curve's knee; None where none was measured."""
    low = "" if curve.knee_low_c is None else f"{curve.knee_low_c:.3g}"
    high = "more" if curve.knee_high_c is None else f"{curve.knee_high_c:.3g}"
    span = f" (95 %: {low} to {high})" if low else ""
    names = {"usl": "USL", "saturating": "a saturating curve"}
    by = f"by {names[curve.model]} through {len(rated)} points"
    if curve.knee_c is None:
        return None, f"not reached: no end in sight {by}"
    reached = sorted((p.concurrency or 0, p.index) for p, _ in rated)
    least = curve.knee_c * (1 - ROUNDING)
    at = next((index for c, index in reached if c >= least), None)
    if at is None:
        text = f"not reached: 95 % of the fitted maximum lies at c={curve.knee_c:.3g}{span}, {by}"
        return None, text
    found = f"c={curve.knee_c:.3g}{span}: 95 % of {curve.max_tps:.4g} tok/s"
    return at, f"the first point past the fitted {found}, {by}"


def _curve_of(rated: Sequence[tuple[PointSummary, float]]) -> SaturationFit | None:
    by_load = {point.concurrency or 0: (point, rate) for point, rate in rated}
    loads = sorted(by_load)
    rates = [by_load[c][1] for c in loads]
    return fit(loads, rates, [_error(*by_load[c]) for c in loads])


def _error(point: PointSummary, rate: float) -> float:
    """Standard error of a rate from its 95 % interval; 2 % where it has none."""
    measure = point.measures["out_tps"]
    if measure.low is None or measure.high is None:
        return UNKNOWN_FRAC * rate
    return (measure.high - measure.low) / (2.0 * 1.96)


def knee_of(rated: Sequence[tuple[PointSummary, float]]) -> tuple[int | None, str]:
    """Index of the knee with a sentence; None and why where there is none."""
    by_load = {point.concurrency or 0: (point, rate) for point, rate in rated if rate > 0}
    ordered = [by_load[c] for c in sorted(by_load)]
    if len(ordered) < MIN_POINTS:
        return None, f"a knee needs {MIN_POINTS} points with an output rate, got {len(ordered)}"
    gains = [_gain(low, high) for low, high in pairwise(ordered)]
    flat_from = len(gains)
    while flat_from > 0 and gains[flat_from - 1] < KNEE_GAIN:
        flat_from -= 1
    if flat_from == len(gains):
        last = ordered[-1][0].concurrency
        gain = in_percent(gains[-1], signed=True)
        return None, f"not reached: still {gain} per doubling up to c={last}"
    after = ordered[flat_from + 1][0].concurrency
    gain = in_percent(gains[flat_from], signed=True)
    text = f"c={after} gains {gain} per doubling, under 3 %; each further step too"
    if flat_from == len(gains) - 1:
        text = f"c={after} gains {gain} per doubling, under 3 %"
    return ordered[flat_from][0].index, text


def _gain(low: tuple[PointSummary, float], high: tuple[PointSummary, float]) -> float:
    doublings = math.log2((high[0].concurrency or 1) / (low[0].concurrency or 1))
    return float((high[1] / low[1]) ** (1.0 / doublings)) - 1.0


def _rate(point: PointSummary) -> float | None:
    measure = point.measures.get("out_tps")
    return None if measure is None else measure.value
