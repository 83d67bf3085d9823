"""The frontier and the ladder, against a few independent lines and known values."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.analysis.frontier import Knot, frontier, ladder, ladder_of, steffen
from loadgen.model.summary import Counts, Measure, PointSummary

POINTS = st.lists(
    st.tuples(st.floats(1, 300), st.floats(1, 90_000)), min_size=1, max_size=12, unique=True
)


def independent(xs: list[float], ys: list[float], x: float) -> float:
    """d3's curveMonotoneX in its own words: Bezier control points a third of the way."""
    n = len(xs)
    if n == 2:
        return ys[0] + (ys[1] - ys[0]) * (x - xs[0]) / (xs[1] - xs[0])
    h = np.diff(xs)
    s = np.diff(ys) / h
    m = np.zeros(n)
    for k in range(1, n - 1):
        p = (s[k - 1] * h[k] + s[k] * h[k - 1]) / (h[k - 1] + h[k])
        m[k] = (np.sign(s[k - 1]) + np.sign(s[k])) * min(abs(s[k - 1]), abs(s[k]), 0.5 * abs(p))
    m[0], m[-1] = (3 * s[0] - m[1]) / 2, (3 * s[-1] - m[-2]) / 2
    k = min(int(np.searchsorted(xs, x, side="left")) - 1, n - 2)
    k = max(k, 0)
    b0, b3 = ys[k], ys[k + 1]
    b1, b2 = b0 + m[k] * h[k] / 3, b3 - m[k + 1] * h[k] / 3
    t = (x - xs[k]) / h[k]
    value = b0 * (1 - t) ** 3 + 3 * b1 * t * (1 - t) ** 2 + 3 * b2 * t * t * (1 - t) + b3 * t**3
    return float(np.clip(value, min(b0, b3), max(b0, b3)))


@given(POINTS)
def test_no_point_beats_one_of_the_frontier_and_every_other_is_beaten(
    points: list[tuple[float, float]],
) -> None:
    knots = [Knot(x, y) for x, y in points]
    edge = frontier(knots)
    for knot in knots:
        beaten = any(other.x >= knot.x and other.y >= knot.y and other != knot for other in knots)
        assert (knot in edge) is not beaten


@given(POINTS, st.floats(0, 1))
def test_the_interpolation_agrees_with_an_independent_one_to_1e9(
    points: list[tuple[float, float]], share: float
) -> None:
    edge = frontier([Knot(x, y) for x, y in points])
    if len(edge) < 2 or any(b.x - a.x < 1e-6 for a, b in pairwise(edge)):
        return
    x = edge[0].x + share * (edge[-1].x - edge[0].x)
    found = steffen(edge, min(x, edge[-1].x))
    assert found is not None
    expected = independent([k.x for k in edge], [k.y for k in edge], min(x, edge[-1].x))
    assert math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9)


def test_the_interpolation_goes_through_its_knots() -> None:
    edge = [Knot(30, 900), Knot(50, 700), Knot(100, 650), Knot(200, 100)]
    assert [steffen(edge, knot.x) for knot in edge] == pytest.approx([900, 700, 650, 100])


def test_targets_outside_the_measured_range_are_blank_with_the_reason() -> None:
    rungs = ladder([Knot(40, 800, "c=32"), Knot(90, 300, "c=4")], (30, 50, 90, 100))
    assert [rung.interpolated is None for rung in rungs] == [True, False, False, True]
    assert "that slow: the slowest has 40" in rungs[0].reason
    assert "that fast: the fastest has 90" in rungs[3].reason
    assert rungs[0].measured is not None
    assert rungs[0].measured.name == "c=32"
    assert rungs[1].between == ("c=32", "c=4")
    assert rungs[2].between == ("c=4",)
    assert rungs[3].measured is None


def test_measured_at_or_above_is_the_fastest_enough_point_with_most_throughput() -> None:
    knots = [Knot(60, 500, "a"), Knot(55, 400, "beaten"), Knot(120, 200, "b")]
    rung = ladder(knots, (50, 100))
    assert [r.measured.name for r in rung if r.measured] == ["a", "b"]


def test_without_a_point_nothing_is_read() -> None:
    assert ladder([], (50,))[0].reason == "no point was measured"


def point_at(concurrency: int, user_tps: float | None, total_tps: float) -> PointSummary:
    def one(name: str, value: float | None) -> Measure:
        return Measure(name, "value", "tok/s", "higher", value, 10)

    measures = {"intvty_tps.p50": one("intvty_tps", user_tps), "total_tps": one("t", total_tps)}
    counts = Counts(issued=10, outcomes={"ok": 10})
    load = f"closed:{concurrency}"
    return PointSummary(concurrency, load, concurrency, counts, None, measures, measures)


def test_a_sweeps_ladder_is_per_gpu_and_priced() -> None:
    points = [point_at(1, 120, 200), point_at(8, 80, 1600), point_at(32, 45, 3200)]
    rungs = {r.target_tps: r for r in ladder_of(points, {"gpus": 2, "gpu_usd_per_h": 3.6})}
    assert rungs[30].interpolated_tps is None
    assert (rungs[50].measured_tps, rungs[50].measured_at) == (800, "c=8")
    assert rungs[50].between == ("c=32", "c=8")
    assert rungs[50].interpolated_tps is not None
    assert rungs[50].usd_per_1m == pytest.approx(3.6e6 / 3600 / rungs[50].interpolated_tps)
    assert rungs[150].reason.startswith("no point is that fast")


def test_without_declared_gpus_or_with_one_point_there_is_no_ladder() -> None:
    points = [point_at(1, 120, 200), point_at(8, None, 1600)]
    assert ladder_of(points, {}) == ()
    assert ladder_of(points, {"gpus": 1}) == ()
