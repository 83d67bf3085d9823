"""Kaplan-Meier against scipy.stats, the independent judge."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from loadgen.analysis.statistics.survival import censored_quantile, kaplan_meier

seen = st.lists(st.tuples(st.integers(1, 12), st.booleans()), min_size=1, max_size=60)


@given(seen)
def test_the_share_that_ended_is_scipys_ecdf(pairs: list[tuple[int, bool]]) -> None:
    values = np.array([value for value, _ in pairs], dtype=np.float64)
    censored = np.array([cut for _, cut in pairs])
    times, ended_frac = kaplan_meier(values, censored)
    if censored.all():
        assert len(times) == 0
        return
    peer = stats.ecdf(stats.CensoredData.right_censored(values, censored)).cdf
    assert ended_frac == pytest.approx(peer.evaluate(times), abs=1e-12)
    assert set(times) == set(values[~censored])


@pytest.mark.parametrize("fraction", [0.1, 0.5, 0.9, 0.99])
def test_quantiles_are_the_first_of_scipys_quantiles_that_reach_the_share(fraction: float) -> None:
    chance = np.random.default_rng(7)
    values, censored = chance.exponential(size=500), chance.random(500) < 0.3
    cdf = stats.ecdf(stats.CensoredData.right_censored(values, censored)).cdf
    expected = cdf.quantiles[np.flatnonzero(cdf.probabilities >= fraction)[0]]
    assert censored_quantile(values, censored, fraction) == expected


def test_without_censoring_it_is_the_nearest_rank_quantile() -> None:
    values = np.arange(1.0, 101.0)
    assert censored_quantile(values, np.zeros(100, dtype=bool), 0.95) == 95.0


def test_a_share_that_was_never_reached_has_no_quantile() -> None:
    values, censored = np.array([1.0, 2.0, 3.0, 4.0]), np.array([False, False, True, True])
    assert censored_quantile(values, censored, 0.5) == 2.0
    assert censored_quantile(values, censored, 0.75) is None
    assert censored_quantile(values, np.ones(4, dtype=bool), 0.5) is None
