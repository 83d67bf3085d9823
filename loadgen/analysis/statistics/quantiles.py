"""Quantiles and intervals that claim no more than n carries. Pure numpy and scipy.special.

Percentiles are nearest rank (`inverted_cdf`: the smallest value with at least that share of the
samples at or below it), never interpolated. Below the n at which a two-sided 95 % interval exists
at all (p50 6, p90 29, p95 59, p99 299, p99.9 2,995) a percentile is withheld.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from loadgen.analysis.statistics.dependence import block_bootstrap, effective_n
from loadgen.analysis.statistics.distributions import (
    binomial_cdf,
    binomial_quantile,
    student_quantile,
)
from loadgen.analysis.statistics.survival import censored_quantile
from loadgen.model.table import Flags, Floats

LEVEL = 0.95
ALPHA = 1.0 - LEVEL
MIN_BATCHES = 10
MAX_BATCHES = 30
MAX_LAG1 = 0.2
MOST_LAG1 = 0.8
ORDER_INTERVAL = "95 %, order statistics, within this run, requests taken as independent"
ALIKE_INTERVAL = "95 %, order statistics of effective n={}, within this run"
BOOTSTRAP_INTERVAL = "95 %, moving-block bootstrap over time, within this run"
TAIL = 0.95
"""Percentiles from here on are withheld by effective n, not by n alone."""
CERTAIN = 0.99
ALIKE_TIMES = 4.0
"""A block of the bootstrap holds this many times the span that one effective sample stands for."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its n and interval; `value` is None where `reason` says why."""

    value: float | None
    n: int
    low: float | None = None
    high: float | None = None
    interval: str = ""
    reason: str = ""
    certified: float | None = None
    needs_more: int | None = None


@dataclass(frozen=True)
class Samples:
    """A pool of values. `weights` count each value's tokens; `censored` values are lower bounds.

    `independent` is False for several values a request: then
    no interval is given, since gaps of one stream share its fate. `at_s` says when each value
    began, in order, where neighbours may be alike; blocks of a bootstrap are `block_s` long.
    """

    values: Floats
    weights: Floats | None = None
    censored: Flags | None = None
    independent: bool = True
    at_s: Floats | None = None
    block_s: float = 0.0

    @cached_property
    def effective_n(self) -> int:
        """What n is worth; n itself where the order isn't known."""
        return len(self.values) if self.at_s is None else effective_n(self.values)


def percent_of(stat: str) -> float | None:
    """`p99.9` -> 0.999; None for a statistic that is no percentile."""
    return float(stat[1:]) / 100.0 if stat.startswith("p") and stat[1:2].isdigit() else None


def min_n(fraction: float) -> int:
    """Samples from which a two-sided 95 % order-statistic interval exists: p^n + (1-p)^n <= 5 %."""
    tail = max(fraction, 1.0 - fraction)
    n = max(1, math.ceil(math.log(ALPHA) / math.log(tail)))
    while fraction**n + (1.0 - fraction) ** n > ALPHA:
        n += 1
    return n


def quantile(values: Floats, fraction: float, weights: Floats | None = None) -> float:
    """Nearest-rank quantile of a non-empty pool; `weights` say how often each value counts."""
    if weights is None:
        rank = max(1, math.ceil(fraction * len(values) - 1e-9))
        return float(np.partition(values, rank - 1)[rank - 1])
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    wanted = fraction * reached[-1] * (1.0 - 1e-12)
    at = int(np.searchsorted(reached, wanted, side="left"))
    return float(values[order[min(at, len(order) - 1)]])


def interval_ranks(n: int, fraction: float) -> tuple[int, int] | None:
    """1-based ranks whose values enclose the quantile with at least 95 %; None where none do.

    Symmetric tails where both fit; otherwise the extreme value and what it leaves of the 5 %.
    Source: binomial order statistics (Conover 1999, 3.2).
    """
    if n < min_n(fraction):
        return None
    above, below = fraction**n, (1.0 - fraction) ** n
    low_budget = ALPHA - above if above > ALPHA / 2 else ALPHA / 2
    high_budget = ALPHA - below if below > ALPHA / 2 else ALPHA / 2
    low = 1 if below > ALPHA / 2 else binomial_quantile(low_budget, n, fraction)
    high = n if above > ALPHA / 2 else binomial_quantile(1.0 - high_budget, n, fraction) + 1
    return max(low, 1), min(high, n)


def percentile(samples: Samples, fraction: float) -> Estimate:
    """The percentile with its interval, or why it can't be given."""
    values = samples.values
    n = len(values)
    if n == 0:
        return Estimate(None, 0, reason="no samples")
    needed = min_n(fraction)
    if n < needed:
        return Estimate(None, n, reason=f"n={n} < {needed}", needs_more=needed - n)
    if samples.censored is not None and samples.censored.any():
        return _censored_percentile(values, samples.censored, fraction)
    if not samples.independent or samples.weights is not None:
        return Estimate(quantile(values, fraction, samples.weights), n)
    worth = samples.effective_n
    if fraction >= TAIL and worth < needed:
        reason = f"effective n={worth} of {n} < {needed}: neighbours are alike"
        return Estimate(None, n, reason=reason, needs_more=math.ceil(needed * n / worth) - n)
    return _with_interval(samples, fraction, worth)


def _with_interval(samples: Samples, fraction: float, worth: int) -> Estimate:
    """The quantile with its interval: order statistics, or a bootstrap where n is worth less."""
    ordered, n = np.sort(samples.values), len(samples.values)
    value = quantile(ordered, fraction)
    above = certified_rank(n, worth, fraction)
    certified = None if above is None else float(ordered[above - 1])
    if worth < n and fraction < TAIL and samples.at_s is not None:
        block_s = max(samples.block_s, ALIKE_TIMES * float(np.ptp(samples.at_s)) / worth)
        found = block_bootstrap(samples.values, samples.at_s, fraction, block_s)
        if found is not None:
            low, high = min(found[0], value), max(found[1], value)
            return Estimate(value, n, low, high, BOOTSTRAP_INTERVAL, certified=certified)
    ranks = interval_ranks(worth, fraction)
    if ranks is None:
        return Estimate(value, n, certified=certified)
    first = max(1, math.floor(ranks[0] * n / worth))
    last = min(n, math.ceil(ranks[1] * n / worth))
    how = ORDER_INTERVAL if worth == n else ALIKE_INTERVAL.format(worth)
    low, high = float(ordered[first - 1]), float(ordered[last - 1])
    return Estimate(value, n, low, high, how, certified=certified)


def certified_rank(n: int, worth: int, fraction: float) -> int | None:
    """1-based rank of the value that the quantile is, with 99 % certainty, at most.

    The t-th highest, t >= 1 the largest with P(Binom(n, 1 - p) <= t) < 1 %: from p90 64, p95 130,
    p99 662, p99.9 6,636 samples; `worth` counts where neighbours are alike. None where n is too
    few. Source: MLPerf LoadGen, early stopping.
    """
    t = binomial_quantile(1.0 - CERTAIN, worth, 1.0 - fraction)
    while t >= 1 and binomial_cdf(t, worth, 1.0 - fraction) >= 1.0 - CERTAIN:
        t -= 1
    if t < 1:
        return None
    return n - math.floor(t * n / worth) + 1


def _censored_percentile(values: Floats, censored: Flags, fraction: float) -> Estimate:
    """Kaplan-Meier quantile; None where the estimate never gets that far."""
    n = len(values)
    share = f"{censored.sum()} of {n} requests had not ended when they were last seen"
    value = censored_quantile(values, censored, fraction)
    return Estimate(value, n, reason="" if value is not None else f"censored: {share}")


def summarise_stat(samples: Samples, stat: str) -> Estimate:
    """One statistic by name: a percentile, `mean`, `max` or `min`."""
    fraction = percent_of(stat)
    if fraction is not None:
        return percentile(samples, fraction)
    values, n = samples.values, len(samples.values)
    if n == 0:
        return Estimate(None, 0, reason="no samples")
    if samples.censored is not None and samples.censored.any():
        reason = f"censored: {samples.censored.sum()} of {n} requests had not ended"
        return Estimate(None, n, reason=reason)
    if stat == "mean":
        return Estimate(float(np.average(values, weights=samples.weights)), n)
    return Estimate(float(values.max() if stat == "max" else values.min()), n)


def reciprocal(estimate: Estimate, scale: float = 1.0) -> Estimate:
    """`scale` over the estimate, its interval turned round; the reason stays where it is None."""
    if not estimate.value:
        reason = estimate.reason or "the denominator is 0"
        return Estimate(None, estimate.n, reason=reason, needs_more=estimate.needs_more)
    value = scale / estimate.value
    if not estimate.low or not estimate.high:
        return Estimate(value, estimate.n)
    low, high = scale / estimate.high, scale / estimate.low
    return Estimate(value, estimate.n, low, high, estimate.interval)


def batch_rate(batch_sums: Floats, batch_s: float) -> tuple[float, float, str] | None:
    """Interval (low, high, how) of a rate from sums over equal batches; None under 10 batches.

    With equal batches the ratio estimator is the mean of the batch rates, so the interval
    encloses the printed rate. Neighbours that resemble each other (lag-1 r >= 0.2) are merged
    while 10 batches remain; what likeness is left widens the interval by (1 + r)/(1 - r), that of
    an AR(1). Source: batch means, t with k-1 degrees of freedom.
    """
    k = len(batch_sums)
    if k < MIN_BATCHES or batch_s <= 0:
        return None
    rates, lag1 = batch_sums / batch_s, _lag1(batch_sums)
    while lag1 >= MAX_LAG1 and k % 2 == 0 and k // 2 >= MIN_BATCHES:
        rates = rates.reshape(-1, 2).mean(axis=1)
        k, lag1 = k // 2, _lag1(rates)
    mean = float(rates.mean())
    left = min(max(lag1, 0.0), MOST_LAG1)
    alike = (1.0 + left) / (1.0 - left) if lag1 >= MAX_LAG1 else 1.0
    half = student_quantile(1.0 - ALPHA / 2, k - 1) * float(rates.std(ddof=1))
    half *= math.sqrt(alike / k)
    note = f", neighbours still alike (lag-1 r {lag1:.2f})" if lag1 >= MAX_LAG1 else ""
    return max(mean - half, 0.0), mean + half, f"95 %, {k} batch means, within this run{note}"


def batches_for(span_s: float, cycle_s: float) -> int:
    """Equal batches a window splits into, each a mean request long; 0 where 10 don't fit."""
    if not cycle_s > 0:
        return 0
    k = min(MAX_BATCHES, int(span_s / cycle_s))
    if k < MIN_BATCHES:
        return 0
    return k if k < 2 * MIN_BATCHES else k - k % 2


def _lag1(values: Floats) -> float:
    spread = values - values.mean()
    total = float(np.dot(spread, spread))
    return float(np.dot(spread[1:], spread[:-1])) / total if total > 0 else 0.0
