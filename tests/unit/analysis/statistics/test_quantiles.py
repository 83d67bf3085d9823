import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from loadgen.analysis.statistics.quantiles import (
    Estimate,
    Samples,
    batch_rate,
    batches_for,
    interval_ranks,
    min_n,
    percentile,
    quantile,
    reciprocal,
    summarise_stat,
)


@pytest.mark.parametrize(
    ("fraction", "n"), [(0.5, 6), (0.9, 29), (0.95, 59), (0.99, 299), (0.999, 2995)]
)
def test_the_smallest_n_that_carries_an_interval(fraction: float, n: int) -> None:
    assert min_n(fraction) == n
    assert interval_ranks(n - 1, fraction) is None
    assert interval_ranks(n, fraction) is not None


@pytest.mark.parametrize(("fraction", "value"), [(0.5, 5), (0.9, 9), (0.99, 10)])
def test_percentiles_are_nearest_rank(fraction: float, value: float) -> None:
    assert quantile(np.arange(1.0, 11.0), fraction) == value


def test_a_percentile_beyond_what_n_supports_is_withheld_with_its_n() -> None:
    samples = Samples(np.arange(180.0))

    assert percentile(samples, 0.99) == Estimate(None, 180, reason="n=180 < 299", needs_more=119)
    assert summarise_stat(samples, "max").value == 179


@pytest.mark.parametrize("n", [7, 40, 101, 299, 1000])
@pytest.mark.parametrize("fraction", [0.5, 0.9, 0.95, 0.99])
def test_order_statistics_cover_at_least_95_percent(n: int, fraction: float) -> None:
    ranks = interval_ranks(n, fraction)
    if ranks is None:
        assert n < min_n(fraction)
        return
    low, high = ranks
    covered = scipy_stats.binom.cdf(high - 1, n, fraction) - scipy_stats.binom.cdf(
        low - 1, n, fraction
    )
    assert covered >= 0.95
    peer = np.asarray(
        scipy_stats.quantile_test(np.arange(1.0, n + 1), p=fraction).confidence_interval(0.95)
    )
    if not np.isnan(peer).any():
        assert ranks == tuple(peer)


def test_weights_count_a_value_as_often_as_they_say() -> None:
    values, weights = np.array([3.0, 1.0, 2.0]), np.array([1.0, 6.0, 3.0])
    spelled = np.repeat(values, weights.astype(int))

    for fraction in (0.1, 0.5, 0.6, 0.61, 0.9, 0.95, 1.0):
        assert quantile(values, fraction, weights) == quantile(spelled, fraction)


def test_requests_that_had_not_ended_push_the_quantile_up_and_are_not_dropped() -> None:
    values = np.concatenate([np.arange(1.0, 71.0), np.full(30, 20.5)])
    censored = np.concatenate([np.zeros(70, dtype=bool), np.ones(30, dtype=bool)])

    seen_only = percentile(Samples(values[:70]), 0.5).value
    estimate = percentile(Samples(values, censored=censored), 0.5)

    assert seen_only == 35
    assert estimate.value is not None
    assert estimate.value > 35
    assert estimate.n == 100


def test_a_quantile_in_the_censored_part_is_none_with_the_reason() -> None:
    values = np.concatenate([np.arange(1.0, 51.0), np.full(50, 60.0)])
    censored = np.concatenate([np.zeros(50, dtype=bool), np.ones(50, dtype=bool)])

    estimate = percentile(Samples(values, censored=censored), 0.9)

    assert estimate.value is None
    assert estimate.reason == "censored: 50 of 100 requests had not ended when they were last seen"


def test_a_mean_of_censored_values_is_not_given() -> None:
    samples = Samples(np.array([1.0, 2.0]), censored=np.array([False, True]))

    assert summarise_stat(samples, "mean").reason == "censored: 1 of 2 requests had not ended"


def test_the_batch_interval_encloses_the_rate_it_belongs_to() -> None:
    sums = np.random.default_rng(3).poisson(1000, 24).astype(float)

    found = batch_rate(sums, 2.0)

    assert found is not None
    low, high, how = found
    assert low < sums.sum() / 48 < high
    assert how == "95 %, 24 batch means, within this run"
    peer = scipy_stats.t.interval(0.95, 23, sums.mean() / 2, scipy_stats.sem(sums / 2))
    assert (low, high) == pytest.approx(peer)


def test_batch_intervals_cover_an_autocorrelated_rate() -> None:
    chance = np.random.default_rng(11)
    covered = 0
    for _ in range(200):
        noise = np.zeros(3000)
        shocks = chance.normal(0, 1, 3000)
        for i in range(1, 3000):
            noise[i] = 0.9 * noise[i - 1] + shocks[i]
        found = batch_rate((100 + noise).reshape(30, 100).sum(axis=1), 100.0)
        assert found is not None
        covered += found[0] <= 100 <= found[1]

    assert covered >= 0.88 * 200


def test_fewer_than_ten_batches_give_no_interval() -> None:
    assert batch_rate(np.ones(9), 1.0) is None
    assert batches_for(9.5, 1.0) == 0
    assert batches_for(25.5, 1.0) == 24
    assert batches_for(1000.0, 1.0) == 30
    assert batches_for(10.0, math.nan) == 0


def test_a_reciprocal_turns_its_interval_round() -> None:
    assert reciprocal(Estimate(2.0, 9, 1.0, 4.0, "how")) == Estimate(0.5, 9, 0.25, 1.0, "how")
    assert reciprocal(Estimate(0.0, 9)).value is None
    assert reciprocal(Estimate(None, 9, reason="why")).reason == "why"
