from collections.abc import Mapping

import pytest

from loadgen.analysis import summarise
from loadgen.analysis.frame import Known, window_frame
from loadgen.analysis.knee import headline_of
from loadgen.analysis.littles_law import in_flight_max, mismatch
from loadgen.analysis.requests import Requests
from loadgen.model.summary import Counts, Measure, PointSummary
from tests.tables import closed_loop, recording, table


def points(rates: Mapping[int, float | None]) -> list[PointSummary]:
    return [
        PointSummary(
            index=index,
            load=f"closed:{c}",
            concurrency=c,
            counts=Counts(1, {"ok": 1}),
            window=None,
            measures={"out_tps": Measure("out_tps", "value", "tok/s", "higher", rate, 1)},
            whole={},
        )
        for index, (c, rate) in enumerate(rates.items())
    ]


def test_the_knee_is_where_every_further_step_gains_under_three_percent() -> None:
    headline = headline_of(points({1: 100, 2: 190, 4: 350, 8: 600, 16: 610, 32: 612}))

    assert headline.knee == 3
    assert headline.single_stream == 0
    assert headline.best_aggregate == 5
    assert headline.knee_text == "c=16 gains +1.7% per doubling, under 3 %; each further step too"


def test_a_dip_on_the_way_up_is_no_knee() -> None:
    assert headline_of(points({1: 100, 2: 101, 4: 300, 8: 302})).knee == 2


def test_steps_count_by_doubling_however_far_apart_the_points_stand() -> None:
    assert headline_of(points({8: 1000, 12: 1016, 16: 1030})).knee is None
    assert headline_of(points({8: 1000, 12: 1010, 16: 1018})).knee == 0


def test_a_curve_that_still_rises_has_no_knee_and_says_so() -> None:
    headline = headline_of(points({1: 100, 2: 190, 4: 350}))

    assert headline.knee is None
    assert headline.knee_text == "not reached: still +84.2% per doubling up to c=4"


@pytest.mark.parametrize("rates", [{}, {1: 100.0}, {1: 100.0, 2: None, 4: 300.0}])
def test_two_points_make_no_knee(rates: dict[int, float | None]) -> None:
    headline = headline_of(points(rates))

    assert headline.knee is None
    assert "needs 3 points" in headline.knee_text


def test_time_in_flight_adds_up_in_two_ways() -> None:
    frame, _ = window_frame(Requests(table(closed_loop(8, 10))), "closed:8", Known())

    assert mismatch(frame) < 1e-9
    assert in_flight_max(frame) == 8


def test_indices_of_the_headline_are_those_of_the_points_even_when_one_is_missing() -> None:
    calls = closed_loop(2, 10, point=1) + closed_loop(4, 10, point=2)

    summary = summarise(recording(calls, ["closed:1", "closed:2", "closed:4"]))

    assert [point.index for point in summary.points] == [1, 2]
    assert summary.headline.single_stream is None
    assert summary.headline.best_aggregate == 2
