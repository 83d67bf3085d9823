"""Where more load stops paying, and the answer in one glance. No fit: measured points only.

Rule: gain per doubling between neighbouring points is (X2/X1)^(1/log2(c2/c1)) - 1, which does not
depend on how far apart they stand. The knee is the smallest concurrency after which every further
step gains less than 3 % per doubling. With one point or two there is none.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

from loadgen.model.summary import Headline, PointSummary

KNEE_GAIN = 0.03
MIN_POINTS = 3


def headline_of(points: Sequence[PointSummary]) -> Headline:
    """Indices (`PointSummary.index`) of single stream, best aggregate and knee."""
    rated = [(point, rate) for point in points if (rate := _rate(point)) is not None]
    single = next((p.index for p in points if p.concurrency == 1), None)
    best = max(rated, key=lambda pair: pair[1])[0].index if rated else None
    knee, text = knee_of([(p, rate) for p, rate in rated if p.concurrency])
    return Headline(single_stream=single, best_aggregate=best, knee=knee, knee_text=text)


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
        return None, f"not reached: still {gains[-1]:+.1%} per doubling up to c={last}"
    after = ordered[flat_from + 1][0].concurrency
    text = f"c={after} gains {gains[flat_from]:+.1%} per doubling, under 3 %; each further step too"
    if flat_from == len(gains) - 1:
        text = f"c={after} gains {gains[flat_from]:+.1%} per doubling, under 3 %"
    return ordered[flat_from][0].index, text


def _gain(low: tuple[PointSummary, float], high: tuple[PointSummary, float]) -> float:
    doublings = math.log2((high[0].concurrency or 1) / (low[0].concurrency or 1))
    return float((high[1] / low[1]) ** (1.0 / doublings)) - 1.0


def _rate(point: PointSummary) -> float | None:
    measure = point.measures.get("out_tps")
    return None if measure is None else measure.value
