import pytest

from loadgen.analysis.comparison.noise import noise_of, repetition_of
from tests.reviewed import Figure, run, runs

AROUND: Figure = (100.0, 99.0, 101.0)


def test_the_spread_from_run_to_run_is_told_with_what_it_lets_be_seen() -> None:
    (spread,) = noise_of(runs("out_tps", [100.0, 102.0, 98.0, 101.0, 99.0])).spreads
    assert spread.mean == pytest.approx(100, rel=0.001)
    assert spread.spread_frac == pytest.approx(0.0158, rel=0.01)
    assert spread.widest_frac == pytest.approx(102 / 98 - 1)
    assert spread.low < 100 < spread.high
    assert spread.tells_frac["3"] > spread.tells_frac["5"] > spread.tells_frac["10"]
    assert not spread.noisy


def test_a_place_that_differs_from_itself_by_more_than_the_margin_is_noisy() -> None:
    (spread,) = noise_of(runs("out_tps", [100.0, 106.0, 100.0, 106.0])).spreads
    assert spread.halves_frac == pytest.approx(0.06)
    assert spread.noisy


def test_two_runs_are_held_against_each_other() -> None:
    assert noise_of(runs("out_tps", [100.0, 104.0])).spreads[0].noisy
    assert not noise_of(runs("out_tps", [100.0, 101.0])).spreads[0].noisy


def test_figures_that_a_run_lacks_are_left_out() -> None:
    other = run({"closed:1": {"ttft_s.p50": 0.1}})
    assert noise_of([*runs("out_tps", [1.0]), other]).spreads == ()


def test_a_run_that_comes_out_the_same_is_reproduced() -> None:
    told = repetition_of(run({"c": {"out_tps": AROUND}}), run({"c": {"out_tps": (100.5, 99, 102)}}))
    assert told.verdict == "reproduced"
    assert "1 of 1 figures agree" in told.text


def test_a_change_beyond_the_margin_is_not_reproduced_and_named() -> None:
    told = repetition_of(run({"c": {"out_tps": AROUND}}), run({"c": {"out_tps": (80.0, 79, 81)}}))
    assert told.verdict == "not_reproduced"
    assert "out_tps at c -20.0 %" in told.text


def test_one_small_difference_may_be_chance_two_of_two_are_not() -> None:
    small: Figure = (102.5, 101.6, 103.4)
    one = repetition_of(
        run({"c": {"out_tps": AROUND, "ttft_s.p50": AROUND}}),
        run({"c": {"out_tps": small, "ttft_s.p50": AROUND}}),
    )
    assert one.verdict == "reproduced"
    both = repetition_of(
        run({"c": {"out_tps": AROUND}, "d": {"out_tps": AROUND}}),
        run({"c": {"out_tps": small}, "d": {"out_tps": small}}),
    )
    assert both.verdict == "not_reproduced"


def test_figures_without_intervals_can_tell_nothing() -> None:
    told = repetition_of(run({"c": {"out_tps": 100.0}}), run({"c": {"out_tps": 50.0}}))
    assert told.verdict == "cannot_tell"
    assert "no interval" in told.text


def test_runs_without_a_common_point_can_tell_nothing() -> None:
    told = repetition_of(run({"c": {"out_tps": AROUND}}), run({"d": {"out_tps": AROUND}}))
    assert told.verdict == "cannot_tell"
