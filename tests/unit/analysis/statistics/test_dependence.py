import numpy as np
import pytest
from scipy import stats as scipy_stats

from loadgen.analysis.statistics.dependence import block_bootstrap, effective_n
from loadgen.analysis.statistics.quantiles import (
    BOOTSTRAP_INTERVAL,
    ORDER_INTERVAL,
    Samples,
    certified_rank,
    interval_ranks,
    percentile,
)
from tests.simulations import ar1


@pytest.mark.parametrize("rho", [0.5, 0.8, 0.9])
def test_effective_n_is_that_of_the_autocorrelation(rho: float) -> None:
    found = effective_n(ar1(np.random.default_rng(1), 20_000, rho))

    assert found == pytest.approx(20_000 * (1 - rho) / (1 + rho), rel=0.3)


def test_unlike_neighbours_keep_their_n() -> None:
    chance = np.random.default_rng(2)

    kept = [effective_n(chance.lognormal(0, 1, n)) == n for n in (40, 300, 3000) for _ in range(40)]

    assert sum(kept) >= 0.97 * len(kept)
    assert effective_n(np.ones(100)) == 100
    assert effective_n(np.arange(10.0)) == 10


def test_waves_that_come_and_go_cost_no_n() -> None:
    """Slots in step queue up behind one another: a saw-tooth that repeats exactly."""
    teeth = np.tile(np.arange(64.0), 20) + np.random.default_rng(3).normal(0, 1, 1280)

    assert effective_n(teeth) > 640


def test_blocks_of_one_value_give_scipys_bootstrap() -> None:
    values = np.random.default_rng(4).lognormal(0, 0.5, 400)
    peer = scipy_stats.bootstrap(
        (values,),
        lambda v, axis: np.quantile(v, 0.5, axis=axis, method="inverted_cdf"),
        method="percentile",
        n_resamples=2000,
        rng=np.random.default_rng(5),
    ).confidence_interval

    found = block_bootstrap(values, np.arange(400.0), 0.5, 4.0)

    assert found is not None
    assert found[0] == pytest.approx(peer.low, rel=0.05)
    assert found[1] == pytest.approx(peer.high, rel=0.05)
    assert found == block_bootstrap(values, np.arange(400.0), 0.5, 4.0)


def test_a_bootstrap_needs_ten_blocks() -> None:
    values = np.random.default_rng(6).normal(0, 1, 100)

    assert block_bootstrap(values, np.arange(100.0), 0.5, 10.0) is None
    assert block_bootstrap(values, np.arange(100.0), 0.5, 0.0) is None


def test_alike_neighbours_widen_the_interval_of_a_percentile() -> None:
    values = 10 + ar1(np.random.default_rng(7), 2000, 0.9)
    plain = percentile(Samples(values), 0.5)
    alike = percentile(Samples(values, at_s=np.arange(2000.0), block_s=2.0), 0.5)

    assert plain.interval == ORDER_INTERVAL
    assert alike.interval == BOOTSTRAP_INTERVAL
    assert alike.value == plain.value
    assert plain.high is not None
    assert plain.low is not None
    assert alike.high is not None
    assert alike.low is not None
    assert alike.high - alike.low > 2 * (plain.high - plain.low)


def test_a_tail_is_withheld_where_n_is_worth_too_little() -> None:
    values = 10 + ar1(np.random.default_rng(8), 600, 0.9)
    samples = Samples(values, at_s=np.arange(600.0), block_s=2.0)

    found = percentile(samples, 0.99)

    assert found.value is None
    assert found.reason.startswith("effective n=")
    assert found.reason.endswith("of 600 < 299: neighbours are alike")
    assert found.needs_more is not None
    assert found.needs_more > 600
    assert percentile(samples, 0.9).value is not None


@pytest.mark.parametrize(("fraction", "n"), [(0.9, 64), (0.95, 130), (0.99, 662), (0.999, 6636)])
def test_a_certified_bound_begins_where_mlperfs_early_stopping_does(
    fraction: float, n: int
) -> None:
    assert certified_rank(n - 1, n - 1, fraction) is None
    assert certified_rank(n, n, fraction) == n


@pytest.mark.parametrize("n", [64, 300, 2000])
def test_a_certified_bound_is_99_percent_sure(n: int) -> None:
    rank = certified_rank(n, n, 0.9)

    assert rank is not None
    too_low = scipy_stats.binom.sf(rank - 1, n, 0.9)
    assert too_low < 0.01
    one_lower = scipy_stats.binom.cdf(n - rank + 2, n, 0.1)
    assert one_lower >= 0.01


def test_a_certified_bound_lies_above_the_percentile() -> None:
    found = percentile(Samples(np.random.default_rng(9).lognormal(0, 1, 500)), 0.95)
    ranks = interval_ranks(500, 0.95)

    assert ranks is not None
    assert found.value is not None
    assert found.certified is not None
    assert found.certified > found.value
