"""Frontier and ladder of several runs, against a few independent lines."""

import math

import numpy as np
import pytest
from msgspec import structs

from loadgen.analysis.ladders import ladders_of
from loadgen.model.measured import MeasuredRun
from loadgen.model.summary import Headline, Summary
from tests.unit.analysis.test_frontier import independent
from tests.unit.audit.runs import point

TARGETS = (10.0, 30.0, 50.0, 75.0, 100.0, 150.0, 200.0, 400.0)


def run_of(name: str, gpus: float | None, users: list[float], totals: list[float]) -> MeasuredRun:
    points = tuple(
        point(
            at,
            2**at,
            {
                "intvty_tps.p50": user,
                "intvty_tps.p90": user * 0.9,
                "total_tps": total,
                "out_tps": total / (4 + at),
            },
        )
        for at, (user, total) in enumerate(zip(users, totals, strict=True))
    )
    summary = Summary(name, "valid", "A", (), points, Headline(), "complete")
    return MeasuredRun(name, summary, gpus=gpus, models=("m",), usd_per_gpu_h=2.0, tier="declared")


def random_runs(seed: int) -> tuple[MeasuredRun, MeasuredRun]:
    chance = np.random.default_rng(seed)
    first, second = (
        run_of(
            name,
            gpus,
            [float(x) for x in chance.uniform(20, 220, 7)],
            [float(y) for y in chance.uniform(100, 90_000, 7)],
        )
        for name, gpus in (("one", 4.0), ("two", 8.0))
    )
    return first, second


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("statistic", ["p50", "p90"])
def test_a_few_independent_lines_find_the_same_frontier_and_ladder(
    seed: int, statistic: str
) -> None:
    runs = random_runs(seed)
    found = next(one for one in ladders_of(runs, TARGETS).ladders if one.statistic == statistic)
    points = sorted(
        (
            p.measures[f"intvty_tps.{statistic}"].value or 0.0,
            (p.measures["total_tps"].value or 0.0) / (run.gpus or 1.0),
            (p.measures["out_tps"].value or 0.0) / (run.gpus or 1.0),
        )
        for run in runs
        for p in run.summary.points
    )
    edge = [p for p in points if not any(q[0] >= p[0] and q[1] >= p[1] and q != p for q in points)]
    assert [(k.user_tps, k.total_tps, k.output_tps) for k in found.frontier] == edge
    xs, totals, outputs = ([one[part] for one in edge] for part in range(3))
    for row in found.rows:
        if not xs[0] <= row.target_tps <= xs[-1]:
            assert row.total_tps is None
            assert row.output_tps is None
            assert row.usd_per_1m is None
            side = "slow" if row.target_tps < xs[0] else "fast"
            assert f"that {side}" in row.reason
            continue
        assert not row.reason
        total, output = (independent(xs, ys, row.target_tps) for ys in (totals, outputs))
        assert math.isclose(row.total_tps or 0.0, total, rel_tol=1e-9)
        assert math.isclose(row.output_tps or 0.0, output, rel_tol=1e-9)
        assert math.isclose(row.usd_per_1m or 0.0, 2.0 * 1e6 / (total * 3600), rel_tol=1e-9)
        assert row.measured is not None
        above = max((one for one in points if one[0] >= row.target_tps), key=lambda one: one[1])
        assert (row.measured.user_tps, row.measured.total_tps) == above[:2]


def test_neighbours_are_named_by_run_and_load_and_beaten_points_by_what_beats_them() -> None:
    one = run_of("one", 2, [120, 80], [200, 1000])
    two = run_of("two", 1, [100, 70], [400, 450])
    told = ladders_of([one, two], (90.0, 110.0)).ladders[0]
    assert [point.name for point in told.frontier] == ["A c=2", "B c=1", "A c=1"]
    assert {p.name: p.beaten_by for p in told.points if p.beaten_by} == {"B c=2": "A c=2"}
    assert [row.between for row in told.rows] == [("A c=2", "B c=1"), ("B c=1", "A c=1")]
    assert told.rows[0].measured is not None
    assert told.rows[0].measured.name == "B c=1"


def test_between_runs_of_two_prices_there_is_no_price() -> None:
    one = run_of("one", 1, [120, 80], [200, 1000])
    two = structs.replace(run_of("two", 1, [100], [400]), usd_per_gpu_h=3.0)
    rows = ladders_of([one, two], (90.0, 100.0)).ladders[0].rows
    assert rows[0].usd_per_1m is None
    assert rows[1].usd_per_1m == pytest.approx(3.0 * 1e6 / (400 * 3600))


def test_runs_without_gpus_invalid_ones_and_points_without_figures_are_left_out_by_name() -> None:
    invalid = run_of("bad", 1, [90], [10])
    invalid = structs.replace(
        invalid,
        summary=structs.replace(invalid.summary, verdict="invalid", verdict_reasons=("why",)),
    )
    lacking = run_of("part", 1, [100, 50], [10, 20])
    first = structs.replace(lacking.summary.points[0], measures={})
    points = (first, lacking.summary.points[1])
    lacking = structs.replace(lacking, summary=structs.replace(lacking.summary, points=points))
    told = ladders_of([run_of("none", None, [1], [1]), invalid, lacking])
    assert [point.name for point in told.ladders[0].points] == ["C c=2"]
    assert told.left_out[0].startswith("A none: how many GPUs served isn't told")
    assert told.left_out[1] == "B bad: its result is invalid: why"
    assert told.left_out[2].startswith("C c=1: no p50 speed")
    assert told.unlike == ("verdict: A valid; B invalid; C valid",)


def test_runs_of_two_models_are_said_to_be_unlike() -> None:
    one = run_of("one", 1, [120], [200])
    assert ladders_of([one, structs.replace(one, models=("n",))]).unlike == ("model: A m; B n",)


def test_a_point_that_is_beaten_within_the_intervals_only_is_a_tie() -> None:
    one = run_of("one", 1, [100, 50], [1000, 2000])
    near = run_of("near", 1, [99.5], [990])  # each value of these runs has an interval of 1 %
    far = run_of("far", 1, [90], [900])
    points = {point.name: point for point in ladders_of([one, near, far]).ladders[0].points}
    assert (points["B c=1"].beaten_by, points["B c=1"].tied) == ("A c=1", True)
    assert (points["C c=1"].beaten_by, points["C c=1"].tied) == ("A c=1", False)
    assert not points["A c=1"].tied
