from collections.abc import Callable, Mapping

import msgspec
import numpy as np
import pytest

from loadgen.analysis import summarise
from loadgen.analysis.frame import Known, window_frame
from loadgen.analysis.knee import headline_of
from loadgen.analysis.littles_law import in_flight_max, mismatch
from loadgen.analysis.requests import Requests
from loadgen.analysis.saturation import USL, knee_of_curve, saturating_rate, usl_rate
from loadgen.model.summary import Counts, Headline, Measure, PointSummary
from loadgen.model.table import Floats
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
    assert headline.knee_text == (
        "c=16 gains +1.7 % per doubling, under 3 %; each further step too; "
        "no curve comes within 5 % of every point"
    )
    assert headline.fit is None


def rates_by(curve: Callable[[Floats], Floats], loads: tuple[int, ...]) -> dict[int, float | None]:
    noise = np.random.default_rng(1).normal(1, 0.005, len(loads))
    rates = curve(np.array(loads, dtype=float)) * noise
    return {c: float(rate) for c, rate in zip(loads, rates, strict=True)}


def test_six_points_and_more_are_fitted_and_the_knee_has_an_interval() -> None:
    loads = (1, 2, 4, 8, 16, 32, 64, 128)
    headline = headline_of(points(rates_by(lambda c: usl_rate(c, 100, 0.02, 0.0005), loads)))

    assert headline.fit is not None
    assert headline.fit.model == "usl"
    assert headline.fit.parameters["alpha"] == pytest.approx(0.02, rel=0.1)
    low, high = headline.fit.knee_low_c, headline.fit.knee_high_c
    assert low is not None
    assert high is not None
    true_knee, _ = knee_of_curve(USL, np.array([100, 0.02, 0.0005]))
    assert low <= true_knee <= high
    assert headline.knee == 5
    assert headline.knee_text.startswith("the first point past the fitted c=")
    assert ": 95 % of 15" in headline.knee_text
    assert "by USL through 8 points" in headline.knee_text


def test_the_plainer_curve_wins_where_it_says_as_much() -> None:
    loads = (1, 2, 4, 8, 16, 32, 64, 128, 256)
    headline = headline_of(points(rates_by(lambda c: saturating_rate(c, 5000, 8), loads)))

    assert headline.fit is not None
    assert headline.fit.model == "saturating"
    assert headline.fit.knee_c == pytest.approx(19 * 8, rel=0.05)
    assert headline.knee == 8


def test_a_curve_still_rising_says_where_its_knee_would_lie() -> None:
    loads = (1, 2, 4, 8, 16, 32)
    headline = headline_of(points(rates_by(lambda c: saturating_rate(c, 5000, 8), loads)))
    straight = headline_of(points(rates_by(lambda c: 100 * c, loads)))

    assert headline.knee is None
    assert headline.knee_text.startswith("not reached: 95 % of the fitted maximum lies at c=1")
    assert straight.knee is None
    assert "no end in sight" in straight.knee_text
    assert msgspec.json.decode(msgspec.json.encode(straight), type=Headline) == straight


def test_without_concurrency_1_no_curve_is_fitted() -> None:
    loads = (2, 4, 8, 16, 32, 64)

    assert headline_of(points(rates_by(lambda c: saturating_rate(c, 5000, 8), loads))).fit is None


@pytest.mark.parametrize("parameters", [(100, 0.02, 0.0005), (100, 0.05, 0.0), (100, 1.0, 0.01)])
def test_the_knee_of_a_curve_stands_at_95_percent_of_its_height(
    parameters: tuple[float, ...],
) -> None:
    knee, highest = knee_of_curve(USL, np.array(parameters))
    rates = usl_rate(np.arange(1.0, 100_001.0), *parameters)

    assert float(rates.max()) == pytest.approx(highest, rel=0.001)
    at_knee = float(usl_rate(np.array([knee]), *parameters)[0])
    assert knee == 1 or at_knee == pytest.approx(0.95 * highest, rel=1e-6)


def test_a_dip_on_the_way_up_is_no_knee() -> None:
    assert headline_of(points({1: 100, 2: 101, 4: 300, 8: 302})).knee == 2


def test_steps_count_by_doubling_however_far_apart_the_points_stand() -> None:
    assert headline_of(points({8: 1000, 12: 1016, 16: 1030})).knee is None
    assert headline_of(points({8: 1000, 12: 1010, 16: 1018})).knee == 0


def test_a_curve_that_still_rises_has_no_knee_and_says_so() -> None:
    headline = headline_of(points({1: 100, 2: 190, 4: 350}))

    assert headline.knee is None
    assert headline.knee_text == "not reached: still +84.2 % per doubling up to c=4"


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
