import math
from typing import Any

import numpy as np
import pytest

from loadgen.analysis.comparison.compare import alternate, compare, margin_of, points_by_load
from loadgen.analysis.statistics.ratio import SideFigure, least_change, more_runs, ratio_of
from loadgen.model.comparison import Comparison, FigureChange
from tests.reviewed import Figure, run, runs

QUIET = [100.0, 100.4, 99.7, 100.2, 99.8]


def only(comparison: Comparison) -> FigureChange:
    (row,) = [row for row in comparison.figures if row.point]
    return row


def one_each(key: str, base: Figure, new: Figure, **margins: float) -> FigureChange:
    before, after = (run({"closed:1": {key: figure}}) for figure in (base, new))
    return only(compare([before], [after], [key], margins))


@pytest.mark.parametrize(
    ("new", "verdict", "direction"),
    [
        ((110, 109, 111), "faster", ""),
        ((90, 89, 91), "slower", ""),
        ((100.5, 99.9, 101.1), "equivalent", ""),
        ((103, 101.5, 104.5), "size_unclear", "faster"),
        ((97, 95.5, 98.5), "size_unclear", "slower"),
        ((101, 94, 108), "inconclusive", ""),
    ],
)
def test_the_verdict_is_the_interval_against_the_margin(
    new: Figure, verdict: str, direction: str
) -> None:
    row = one_each("out_tps", (100, 99.5, 100.5), new)
    assert (row.verdict, row.direction) == (verdict, direction)


def test_a_time_that_shrinks_is_faster() -> None:
    row = one_each("tpot_s.p50", (0.010, 0.0099, 0.0101), (0.008, 0.0079, 0.0081))
    assert row.verdict == "faster"
    assert row.change_frac == pytest.approx(-0.2)
    assert row.low_frac is not None
    assert row.high_frac is not None
    assert row.low_frac < -0.2 < row.high_frac


def test_single_runs_join_their_own_intervals() -> None:
    row = one_each("out_tps", (100, 97, 103), (100, 97, 103))
    assert row.high_frac == pytest.approx(math.expm1(math.hypot(math.log(1.03), -math.log(0.97))))
    assert "within one run" in row.interval


def test_single_runs_without_interval_are_told_to_be_repeated() -> None:
    row = one_each("out_tps", 100.0, 200.0)
    assert row.verdict == "inconclusive"
    assert "repeat" in row.reason
    assert row.change_frac == pytest.approx(1.0)


def test_a_withheld_figure_says_whose_and_why() -> None:
    row = one_each("ttft_s.p99", (0.1, 0.09, 0.11), None)
    assert row.base == pytest.approx(0.1)
    assert row.new is None
    assert row.reason == "new: n=100 < 299"


def test_a_figure_of_nothing_has_no_ratio() -> None:
    assert "0 has no ratio" in one_each("error_frac", 0.0, 0.0).reason


def test_with_several_runs_their_spread_decides_not_each_run_s_own_interval() -> None:
    base = [run({"closed:1": {"out_tps": (v, v - 0.01, v + 0.01)}}) for v in (90.0, 100.0, 110.0)]
    new = [run({"closed:1": {"out_tps": (v, v - 0.01, v + 0.01)}}) for v in (95.0, 105.0, 115.0)]
    row = only(compare(base, new, ["out_tps"]))
    assert row.verdict == "inconclusive"
    assert "Welch" in row.interval
    assert row.more_runs
    assert row.more_runs > 3


def test_five_quiet_runs_a_side_show_ten_percent() -> None:
    faster = [value * 1.1 for value in QUIET]
    base, new = runs("out_tps", QUIET), runs("out_tps", faster, first_s=100)
    row = only(compare(base, new, ["out_tps"]))
    assert row.verdict == "faster"
    assert row.more_runs is None
    assert only(compare(new, base, ["out_tps"])).verdict == "slower"


def test_alternating_runs_are_compared_in_pairs_so_that_a_common_drift_cancels() -> None:
    drift = [100.0, 110.0, 120.0, 130.0]
    at = [1, 4, 5, 8]
    other = [2, 3, 6, 7]
    base = [run({"closed:1": {"out_tps": v}}, at_s=t) for v, t in zip(drift, at, strict=True)]
    new = [
        run({"closed:1": {"out_tps": v * 1.1 + n % 2}}, at_s=t)
        for n, (v, t) in enumerate(zip(drift, other, strict=True))
    ]
    comparison = compare(base, new, ["out_tps"])
    assert comparison.paired
    assert only(comparison).verdict == "faster"
    apart = [
        run({"closed:1": {"out_tps": v * 1.1}}, at_s=t + 100)
        for v, t in zip(drift, at, strict=True)
    ]
    blocks = compare(base, apart, ["out_tps"])
    assert not blocks.paired
    assert only(blocks).verdict == "inconclusive"


def test_two_pairs_or_runs_without_a_start_are_no_alternation() -> None:
    assert not alternate(runs("out_tps", [1.0, 2.0]), runs("out_tps", [1.0, 2.0]))
    unknown = [run({"closed:1": {"out_tps": 1.0}}) for _ in range(3)]
    assert not alternate(unknown, unknown)


def test_one_run_against_several_takes_their_spread_for_both() -> None:
    row = only(compare(runs("out_tps", QUIET), runs("out_tps", [110.0]), ["out_tps"]))
    assert row.verdict == "faster"
    assert "one run against the spread of 5" in row.interval


@pytest.mark.parametrize(
    ("of_new", "what"),
    [
        ({"workload": "other"}, "workload"),
        ({"verdict": "invalid"}, "verdict"),
        ({"client_grade": "C"}, "client"),
        ({"steady": None}, "steady"),
        ({"window": None}, "window"),
    ],
)
def test_unlike_or_unreliable_runs_get_no_verdict(of_new: dict[str, Any], what: str) -> None:
    figures: dict[str, Figure] = {"out_tps": (100.0, 99.5, 100.5)}
    faster: dict[str, Figure] = {"out_tps": (120.0, 119.5, 120.5)}
    comparison = compare([run({"c": figures})], [run({"c": faster}, **of_new)], ["out_tps"])
    assert only(comparison).verdict == "inconclusive"
    assert what in only(comparison).reason
    assert what in {one.what for one in comparison.unlike if one.blocks}


@pytest.mark.parametrize(("key", "apart"), [("error_frac", 0.006), ("cached_frac", 0.03)])
def test_other_shares_of_errors_or_cached_tokens_get_no_verdict(key: str, apart: float) -> None:
    base = run({"c": {"out_tps": (100.0, 99.0, 101.0), key: 0.1}})
    new = run({"c": {"out_tps": (120.0, 119.0, 121.0), key: 0.1 + apart}})
    assert only(compare([base], [new], ["out_tps"])).verdict == "inconclusive"
    near = run({"c": {"out_tps": (120.0, 119.0, 121.0), key: 0.1 + apart / 2}})
    assert only(compare([base], [near], ["out_tps"])).verdict == "faster"


def test_another_model_or_seed_is_told_and_forbids_nothing() -> None:
    base = run({"c": {"out_tps": (100.0, 99.0, 101.0)}})
    new = run({"c": {"out_tps": (120.0, 119.0, 121.0)}}, plan={"seed": 2})
    comparison = compare([base], [new], ["out_tps"])
    assert only(comparison).verdict == "faster"
    assert [one.what for one in comparison.unlike] == ["seed"]


def test_one_unsteady_run_of_five_is_told_most_of_five_forbid() -> None:
    steady = runs("out_tps", QUIET)
    odd = run({"closed:1": {"out_tps": 100.0}}, at_s=9, steady=None)
    few = compare(steady, [*runs("out_tps", QUIET[:4]), odd], ["out_tps"])
    assert only(few).verdict == "equivalent"
    assert not any(one.blocks for one in few.unlike)
    assert "1 of 5 runs" in few.unlike[0].text


def test_points_without_a_partner_are_named() -> None:
    figures: dict[str, Figure] = {"out_tps": (100.0, 99.0, 101.0)}
    base, new = run({"closed:1": figures, "closed:2": figures}), run({"closed:2": figures})
    comparison = compare([base], [new], ["out_tps"])
    assert comparison.unmatched == ("closed:1",)
    assert {row.point for row in comparison.figures} == {"closed:2"}


def test_the_mean_over_points_shows_what_no_single_point_can() -> None:
    loads = [f"closed:{n}" for n in range(1, 9)]
    base = run({load: {"out_tps": (100.0, 95.0, 105.0)} for load in loads})
    new = run({load: {"out_tps": (107.0, 102.0, 112.0)} for load in loads})
    rows = compare([base], [new], ["out_tps"]).figures
    assert {row.verdict for row in rows if row.point} == {"inconclusive"}
    assert [row.verdict for row in rows if not row.point] == ["faster"]


def test_a_load_that_was_measured_twice_is_two_points() -> None:
    made = run({"closed:1": {}, "closed:2": {}})
    twice = made.summary.points[0]
    assert set(points_by_load(made)) == {"closed:1", "closed:2"}
    assert twice.load == "closed:1"


@pytest.mark.parametrize(
    ("key", "given", "share"),
    [
        ("out_tps", {}, 0.03),
        ("tpot_s.p90", {}, 0.05),
        ("ttft_s.p90", {}, 0.10),
        ("ttft_s.p90", {"": 0.01}, 0.01),
        ("ttft_s.p90", {"": 0.01, "ttft_s": 0.2}, 0.2),
        ("ttft_s.p90", {"ttft_s": 0.2, "ttft_s.p90": 0.3}, 0.3),
    ],
)
def test_the_nearest_margin_holds(key: str, given: dict[str, float], share: float) -> None:
    assert margin_of(key, given) == share


def test_more_runs_are_as_many_as_bring_the_half_width_to_the_margin() -> None:
    scatter, margin = 0.05, math.log1p(0.03)
    n = 5 + more_runs(scatter, margin, 5)
    assert math.log1p(least_change(scatter, n)) <= margin
    assert math.log1p(least_change(scatter, n - 1)) > margin


def test_equal_runs_without_any_scatter_have_an_interval_of_no_width() -> None:
    side = SideFigure(np.zeros(3), np.zeros(3), np.zeros(3))
    ratio = ratio_of(side, side, paired=False)
    assert (ratio.low, ratio.high) == (0.0, 0.0)
