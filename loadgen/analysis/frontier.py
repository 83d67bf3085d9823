"""The frontier of a sweep (speed of a user against throughput a GPU) and the ladder read off it.

Published ladders read a monotone cubic (Steffen 1990) through the frontier; so do we, beside the
measured point at or above each target, and never outside the measured range.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from loadgen.model.summary import LadderRung, PointSummary, ReplaySummary
from loadgen.physics import usd_per_mtok

TARGETS_TPS = (30.0, 50.0, 75.0, 100.0, 150.0, 200.0)
"""Speeds a user at which ladders are published, tokens a second."""


@dataclass(frozen=True, slots=True)
class Knot:
    """A measured point: `x` tok/s a user, `y` tok/s a GPU, `name` what it is (`c=16`)."""

    x: float
    y: float
    name: str = ""


@dataclass(frozen=True, slots=True)
class Rung:
    """One target. A value that can't be given is None and `reason` says why."""

    target: float
    measured: Knot | None
    """The point with the most throughput among those at least as fast as the target."""
    interpolated: float | None
    between: tuple[str, ...] = ()
    """The neighbours that the interpolation stands on."""
    reason: str = ""


USER, TOTAL = "intvty_tps.p50", "total_tps"
LEAST_POINTS = 2


def ladder_of(
    points: Sequence[PointSummary],
    prices: Mapping[str, float],
    replays: Sequence[ReplaySummary] = (),
    targets: Sequence[float] = TARGETS_TPS,
) -> tuple[LadderRung, ...]:
    """The ladder of a sweep; empty where no GPUs were declared or fewer than two points stand.

    A replay's points stand on its own figures: p90 interactivity, all tokens over its span.
    """
    gpus, usd_per_gpu_h = prices.get("gpus"), prices.get("gpu_usd_per_h")
    if gpus is None and usd_per_gpu_h is None:
        return ()
    told = {replay.point: replay for replay in replays}
    found = (_knot(point, told.get(point.index), gpus or 1.0) for point in points)
    knots = [knot for knot in found if knot is not None]
    if len(knots) < LEAST_POINTS:
        return ()
    return tuple(
        LadderRung(
            target_tps=rung.target,
            measured_tps=None if rung.measured is None else rung.measured.y,
            measured_at="" if rung.measured is None else rung.measured.name,
            interpolated_tps=rung.interpolated,
            between=rung.between,
            usd_per_1m=(
                None
                if usd_per_gpu_h is None or not rung.interpolated
                else usd_per_mtok(usd_per_gpu_h, rung.interpolated)
            ),
            reason=rung.reason,
        )
        for rung in ladder(knots, targets)
    )


def _knot(point: PointSummary, replay: ReplaySummary | None, gpus: float) -> Knot | None:
    if replay is None:
        user, total = (_value(point, name) for name in (USER, TOTAL))
    else:
        user, total = replay.intvty_tps["p90"], replay.total_tps
    if user is None or total is None:
        return None
    name = point.load if point.concurrency is None else f"c={point.concurrency}"
    return Knot(user, total / gpus, name)


def _value(point: PointSummary, name: str) -> float | None:
    measure = point.measures.get(name)
    return None if measure is None else measure.value


def frontier(knots: Sequence[Knot]) -> tuple[Knot, ...]:
    """The points that no other beats in both, by rising `x`; `y` falls along them."""
    kept: list[Knot] = []
    for knot in sorted(knots, key=lambda knot: (knot.x, -knot.y)):
        while kept and kept[-1].y <= knot.y:
            kept.pop()
        if not kept or knot.x > kept[-1].x:
            kept.append(knot)
    return tuple(kept)


def ladder(knots: Sequence[Knot], targets: Sequence[float] = TARGETS_TPS) -> tuple[Rung, ...]:
    """A rung for each target, read off the frontier of the points."""
    edge = frontier(knots)
    return tuple(_rung(edge, target) for target in targets)


def steffen(knots: Sequence[Knot], x: float) -> float | None:
    """The monotone cubic through knots of rising `x`; None outside them.

    Slopes inside are (sign s0 + sign s1) min(|s0|, |s1|, |p| / 2) with p the parabola's; at an end
    (3 s - m) / 2. Two knots make a straight line. Source: Steffen 1990, A&A 239, 443.
    """
    if not knots or not knots[0].x <= x <= knots[-1].x:
        return None
    if len(knots) == 1:
        return knots[0].y
    slopes = _slopes(knots)
    at = next(n for n, (_, right) in enumerate(pairwise(knots)) if x <= right.x)
    left, right = knots[at], knots[at + 1]
    width = right.x - left.x
    t = (x - left.x) / width
    value = (
        left.y * (1 + 2 * t) * (1 - t) ** 2
        + slopes[at] * width * t * (1 - t) ** 2
        + right.y * t * t * (3 - 2 * t)
        + slopes[at + 1] * width * t * t * (t - 1)
    )
    low, high = sorted((left.y, right.y))
    return min(max(value, low), high)


def _slopes(knots: Sequence[Knot]) -> list[float]:
    """The cubic's slope at each knot."""
    widths = [right.x - left.x for left, right in pairwise(knots)]
    secants = [(r.y - left.y) / (r.x - left.x) for left, r in pairwise(knots)]
    if len(knots) == 2:
        return [secants[0], secants[0]]
    inner = []
    for (s0, s1), (h0, h1) in zip(pairwise(secants), pairwise(widths), strict=True):
        parabola = (s0 * h1 + s1 * h0) / (h0 + h1)
        inner.append((_sign(s0) + _sign(s1)) * min(abs(s0), abs(s1), 0.5 * abs(parabola)))
    first = (3 * secants[0] - inner[0]) / 2
    last = (3 * secants[-1] - inner[-1]) / 2
    return [first, *inner, last]


def _sign(value: float) -> float:
    return (value > 0) - (value < 0)


def _rung(edge: Sequence[Knot], target: float) -> Rung:
    if not edge:
        return Rung(target, None, None, reason="no point was measured")
    if target > edge[-1].x:
        reason = f"no point is that fast: the fastest has {edge[-1].x:.4g} tok/s a user"
        return Rung(target, None, None, reason=reason)
    measured = next(knot for knot in edge if knot.x >= target)
    if target < edge[0].x:
        reason = f"no point was measured that slow: the slowest has {edge[0].x:.4g} tok/s a user"
        return Rung(target, measured, None, reason=reason)
    around = [knot for knot in edge if knot.x == target] or [
        max((k for k in edge if k.x < target), key=lambda k: k.x),
        measured,
    ]
    return Rung(target, measured, steffen(edge, target), tuple(knot.name for knot in around))
