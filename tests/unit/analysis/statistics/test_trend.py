import math

import numpy as np
import pytest
from scipy import stats

from loadgen.analysis.statistics.trend import (
    autocorrelations,
    mann_kendall,
    means_of,
    mser,
    mser5,
    pettitt,
    steps_rather_than_slopes,
)
from loadgen.model.table import Floats


def ar1(chance: np.random.Generator, n: int, rho: float, sd: float = 1.0) -> Floats:
    """Stationary AR(1) of mean 0 and standard deviation `sd`."""
    values = np.empty(n)
    values[0] = chance.normal(0, sd)
    shocks = chance.normal(0, sd * math.sqrt(1 - rho**2), n)
    for i in range(1, n):
        values[i] = rho * values[i - 1] + shocks[i]
    return values


def test_mser_is_the_minimum_of_its_formula() -> None:
    values = np.random.default_rng(1).normal(10, 1, 41)
    values[:9] += 8
    errors = [((values[d:] - values[d:].mean()) ** 2).sum() / (41 - d) ** 2 for d in range(21)]

    assert mser(values) == int(np.argmin(errors)) == 9


def test_a_series_that_never_stands_level_is_too_short_for_mser() -> None:
    assert mser(np.arange(40.0)) is None
    assert mser(np.ones(3)) is None


def test_mser5_answers_in_observations_and_passes_over_gaps() -> None:
    values = np.concatenate([np.full(50, 3.0), np.full(150, 1.0)])
    values += np.random.default_rng(2).normal(0, 0.01, 200)
    values[60:66] = math.nan
    values[3] = math.nan

    assert mser5(values) == 50
    assert mser5(np.full(40, math.nan)) is None


def test_means_of_neighbours_leave_the_remainder_out() -> None:
    means = means_of(np.array([1.0, math.nan, 3.0, math.nan, math.nan, 9.0, 7.0]), 3)

    assert means.tolist() == [2.0, 9.0]


@pytest.mark.parametrize("seed", range(5))
def test_mann_kendall_of_independent_values_is_kendalls_tau_against_time(seed: int) -> None:
    values = np.random.default_rng(seed).normal(0, 1, 30)
    peer = stats.kendalltau(np.arange(30), values)

    found = mann_kendall(values)

    assert found.tau == pytest.approx(peer.statistic)
    if found.inflation == 1.0:
        s = found.tau * 30 * 29 / 2
        z = (abs(s) - 1) / math.sqrt(30 * 29 * 65 / 18)
        assert found.p_value == pytest.approx(2 * stats.norm.sf(z))
        assert found.p_value == pytest.approx(peer.pvalue, abs=0.02)


def test_ties_narrow_the_variance_as_in_kendalls_tau_b() -> None:
    values = np.random.default_rng(13).integers(0, 4, 30).astype(float)
    peer = stats.kendalltau(np.arange(30), values, method="asymptotic")

    found = mann_kendall(values)

    assert found.inflation == 1.0
    assert found.p_value == pytest.approx(peer.pvalue, abs=0.02)
    assert mann_kendall(np.ones(30)).p_value == 1.0


def test_the_slope_is_theil_sens() -> None:
    values = np.arange(20.0) * 0.5 + np.random.default_rng(4).normal(0, 1, 20)

    assert mann_kendall(values).slope == pytest.approx(stats.theilslopes(values).slope)


def test_alike_neighbours_are_no_trend() -> None:
    """Nominal 5 %: of AR(1) 0.7 the plain test calls 40 % a trend; blocks are less alike."""
    chance, plain, corrected = np.random.default_rng(5), 0, 0
    for _ in range(300):
        values = ar1(chance, 60, 0.7)
        plain += int(stats.kendalltau(np.arange(60), values).pvalue < 0.05)
        corrected += int(mann_kendall(values).p_value < 0.05)

    assert plain > 0.25 * 300
    assert corrected < 0.7 * plain


def test_a_trend_under_noise_is_found() -> None:
    chance = np.random.default_rng(6)
    found = [mann_kendall(0.1 * np.arange(30) + chance.normal(0, 1, 30)) for _ in range(50)]

    assert sum(one.p_value < 0.01 and one.tau > 0 for one in found) >= 45


def test_pettitt_finds_the_step() -> None:
    values = np.random.default_rng(7).normal(0, 1, 40)
    values[25:] += 4

    found = pettitt(values)

    assert found.at == 25
    assert found.p_value < 0.001
    assert pettitt(values[:25]).p_value > 0.05


def test_pettitts_statistic_is_the_largest_mann_whitney() -> None:
    values = np.random.default_rng(8).normal(0, 1, 24)
    u = [
        2 * (stats.mannwhitneyu(values[:t], values[t:]).statistic - t * (24 - t) / 2)
        for t in range(1, 24)
    ]
    largest = float(np.max(np.abs(u)))

    found = pettitt(values)

    assert found.at == int(np.argmax(np.abs(u))) + 1
    assert found.p_value == pytest.approx(min(1.0, 2 * math.exp(-6 * largest**2 / (24**3 + 24**2))))
    assert pettitt(values, inflation=4.0).p_value >= found.p_value


def test_a_step_and_a_slope_are_told_apart() -> None:
    noise = np.random.default_rng(9).normal(0, 0.2, 30)

    assert steps_rather_than_slopes(noise + np.where(np.arange(30) < 12, 0.0, 3.0), 12)
    assert not steps_rather_than_slopes(noise + 0.1 * np.arange(30), 15)


def test_autocorrelations_are_the_textbooks() -> None:
    values = np.random.default_rng(10).normal(0, 1, 50)
    spread = values - values.mean()
    expected = [float((spread[k:] * spread[: 50 - k]).sum() / (spread**2).sum()) for k in range(50)]

    assert autocorrelations(values) == pytest.approx(np.array(expected))
    assert autocorrelations(np.ones(4)).tolist() == [1.0, 0.0, 0.0, 0.0]
