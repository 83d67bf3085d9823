"""Quantiles and intervals that claim no more than n carries. Pure numpy and scipy.

Percentiles are nearest rank (`inverted_cdf`: the smallest value with at least that share of the
samples at or below it), never interpolated. Below the n at which a two-sided 95 % interval exists
at all (p50 6, p90 29, p95 59, p99 299, p99.9 2,995) a percentile is withheld.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from loadgen.model.table import Flags, Floats

LEVEL = 0.95
ALPHA = 1.0 - LEVEL
MIN_BATCHES = 10
MAX_BATCHES = 30
MAX_LAG1 = 0.2
ORDER_INTERVAL = "95 %, order statistics, within this run, requests taken as independent"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its n and interval; `value` is None where `reason` says why."""

    value: float | None
    n: int
    low: float | None = None
    high: float | None = None
    interval: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Samples:
    """A pool of values. `weights` count each value's tokens; `censored` values are lower bounds.

    `independent` is False for several values a request: then
    no interval is given, since gaps of one stream share its fate.
    """

    values: Floats
    weights: Floats | None = None
    censored: Flags | None = None
    independent: bool = True


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
    low = 1 if below > ALPHA / 2 else int(stats.binom.ppf(low_budget, n, fraction))
    high = n if above > ALPHA / 2 else int(stats.binom.ppf(1.0 - high_budget, n, fraction)) + 1
    return max(low, 1), min(high, n)


def percentile(samples: Samples, fraction: float) -> Estimate:
    """The percentile with its interval, or why it can't be given."""
    values = samples.values
    n = len(values)
    if n == 0:
        return Estimate(None, 0, reason="no samples")
    if n < (needed := min_n(fraction)):
        return Estimate(None, n, reason=f"n={n} < {needed}")
    if samples.censored is not None and samples.censored.any():
        return _censored_percentile(values, samples.censored, fraction)
    value = quantile(values, fraction, samples.weights)
    ranks = interval_ranks(n, fraction)
    if ranks is None or not samples.independent or samples.weights is not None:
        return Estimate(value, n)
    ordered = np.sort(values)
    low, high = float(ordered[ranks[0] - 1]), float(ordered[ranks[1] - 1])
    return Estimate(value, n, low, high, ORDER_INTERVAL)


def _censored_percentile(values: Floats, censored: Flags, fraction: float) -> Estimate:
    """Kaplan-Meier quantile; None where the estimate never gets that far."""
    n = len(values)
    share = f"{censored.sum()} of {n} requests had not ended when they were last seen"
    if censored.all():
        return Estimate(None, n, reason=f"censored: {share}")
    data = stats.CensoredData.right_censored(values, censored)
    cdf = stats.ecdf(data).cdf
    reached = np.flatnonzero(cdf.probabilities >= fraction - 1e-12)
    if not len(reached):
        return Estimate(None, n, reason=f"censored: {share}")
    return Estimate(float(cdf.quantiles[reached[0]]), n)


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
        return Estimate(None, estimate.n, reason=reason)
    value = scale / estimate.value
    if not estimate.low or not estimate.high:
        return Estimate(value, estimate.n)
    low, high = scale / estimate.high, scale / estimate.low
    return Estimate(value, estimate.n, low, high, estimate.interval)


def batch_rate(batch_sums: Floats, batch_s: float) -> tuple[float, float, str] | None:
    """Interval (low, high, how) of a rate from sums over equal batches; None under 10 batches.

    With equal batches the ratio estimator is the mean of the batch rates, so the interval
    encloses the printed rate. Neighbours that resemble each other (lag-1 r >= 0.2) are merged
    while 10 batches remain. Source: batch means, t with k-1 degrees of freedom.
    """
    k = len(batch_sums)
    if k < MIN_BATCHES or batch_s <= 0:
        return None
    rates, lag1 = batch_sums / batch_s, _lag1(batch_sums)
    while lag1 >= MAX_LAG1 and k % 2 == 0 and k // 2 >= MIN_BATCHES:
        rates = rates.reshape(-1, 2).mean(axis=1)
        k, lag1 = k // 2, _lag1(rates)
    mean = float(rates.mean())
    half = float(stats.t.ppf(1.0 - ALPHA / 2, k - 1)) * float(rates.std(ddof=1)) / math.sqrt(k)
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
