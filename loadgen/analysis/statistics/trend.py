"""Does a series warm up, drift or step? MSER-5, Mann-Kendall with Hamed-Rao, Pettitt.

Each takes plain values in order of time and says what it found; none knows what a request is.
"""

import math
from dataclasses import dataclass

import numpy as np

from loadgen.analysis.statistics.distributions import normal_two_sided
from loadgen.analysis.statistics.distributions import ranks as rank_of
from loadgen.model.table import Floats

MSER_BATCH = 5
AUTOCORRELATION_Z = 1.96


@dataclass(frozen=True, slots=True)
class Trend:
    """Mann-Kendall: `p_value` two-sided; `slope` a step by Theil-Sen; `inflation` of the variance.

    `inflation` is n/n* of Hamed and Rao: 1 where neighbours are unlike, never under 1.
    """

    tau: float
    p_value: float
    slope: float
    inflation: float


@dataclass(frozen=True, slots=True)
class Shift:
    """Pettitt: the second level begins at index `at`; its two-sided `p_value`, approximate."""

    at: int
    p_value: float


def mser(values: Floats, slack: float = 1.0) -> int | None:
    """Index from which the series stands level; None where that is not in its first half.

    d* = argmin over d <= n/2 of sum_(i>d) (Y_i - mean_(>d))^2 / (n - d)^2, or with `slack` the
    first d within that factor of the minimum: alike neighbours let the minimum overshoot.
    Source: White 1997 (MSER); a minimum at the last d allowed means "too short".
    """
    n = len(values)
    if n < 4:
        return None
    backwards = values[::-1].astype(np.float64) - values[-1]
    count = np.arange(1, n + 1)
    spread = np.cumsum(backwards**2) - np.cumsum(backwards) ** 2 / count
    error = (np.maximum(spread, 0.0) / count.astype(np.float64) ** 2)[::-1]
    allowed = error[: n // 2 + 1]
    if int(np.argmin(allowed)) >= n // 2:
        return None
    return int(np.flatnonzero(allowed <= slack * allowed.min())[0])


def mser5(values: Floats, slack: float = 1.0) -> int | None:
    """MSER over means of 5, as the index of an observation; NaNs are left out of their mean.

    Source: White, Cobb and Spratt 2000. None: too short, or level in the second half only.
    """
    batches = means_of(values, MSER_BATCH)
    seen = ~np.isnan(batches)
    if seen.sum() < 4:
        return None
    at = np.arange(len(batches), dtype=np.float64)
    filled = np.interp(at, at[seen], batches[seen])
    found = mser(filled, slack)
    return None if found is None else found * MSER_BATCH


def means_of(values: Floats, size: int) -> Floats:
    """Means of `size` neighbours, the remainder left out; NaN where all of them are."""
    k = len(values) // size
    parts = values[: k * size].reshape(k, size)
    seen = ~np.isnan(parts)
    n = seen.sum(axis=1)
    total = np.where(seen, parts, 0.0).sum(axis=1)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)


def mann_kendall(values: Floats) -> Trend:
    """Whether the values rise or fall for good, neighbours' likeness allowed for.

    Var(S) = n(n-1)(2n+5)/18 less the ties, times n/n* = 1 + 2/(n(n-1)(n-2)) sum (n-i)(n-i-1)(n-i-2)
    rho_i over the significant rank autocorrelations of the detrended series; continuity of 1.
    Source: Hamed and Rao 1998; slope: Theil 1950, Sen 1968.
    """
    n = len(values)
    if n < 3 or np.ptp(values) == 0:
        return Trend(0.0, 1.0, 0.0, 1.0)
    later = np.triu_indices(n, 1)
    s = float(np.sign(values[later[1]] - values[later[0]]).sum())
    _, ties = np.unique(values, return_counts=True)
    tied = float((ties * (ties - 1) * (2 * ties + 5)).sum())
    variance = (n * (n - 1) * (2 * n + 5) - tied) / 18.0
    slope = float(np.median((values[later[1]] - values[later[0]]) / (later[1] - later[0])))
    inflation = _inflation(values - slope * np.arange(n))
    z = (s - math.copysign(1.0, s)) / math.sqrt(variance * inflation) if s else 0.0
    return Trend(2.0 * s / (n * (n - 1)), normal_two_sided(z), slope, inflation)


def pettitt(values: Floats, inflation: float = 1.0) -> Shift:
    """The most likely place of one change of level, p = 2 exp(-6 K^2 / (n^3 + n^2)) at most 1.

    `inflation` of the variance (see `Trend`) divides K^2, since alike neighbours wander.
    Source: Pettitt 1979.
    """
    n = len(values)
    ranks = rank_of(values)
    passed = np.arange(1, n)
    u = 2.0 * np.cumsum(ranks)[:-1] - passed * (n + 1)
    at = int(np.argmax(np.abs(u)))
    k_squared = float(u[at]) ** 2 / inflation
    return Shift(at + 1, min(1.0, 2.0 * math.exp(-6.0 * k_squared / (n**3 + n**2))))


def steps_rather_than_slopes(values: Floats, at: int) -> bool:
    """Whether two levels that part at `at` describe the values better than one straight line.

    Residual squares are compared: both have two means or an offset and a slope, and a place.
    """
    x = np.arange(len(values), dtype=np.float64)
    line = values - np.polyval(np.polyfit(x, values, 1), x)
    first, second = values[:at], values[at:]
    levels = ((first - first.mean()) ** 2).sum() + ((second - second.mean()) ** 2).sum()
    return bool(levels < (line**2).sum())


def flattens(values: Floats, at: int) -> bool:
    """Whether a ramp or a step that ends at `at` describes the values better than one line does.

    A steady drift looks like a warm-up to MSER, which cuts half of it; the line tells them apart.
    """
    x = np.arange(len(values), dtype=np.float64)
    line = values - np.polyval(np.polyfit(x, values, 1), x)
    straight = float((line**2).sum())
    bends = (np.maximum(at - x, 0.0), (x < at).astype(np.float64))
    return min(_residual(values, bend) for bend in bends) < straight


def _residual(values: Floats, bend: Floats) -> float:
    """Sum of squares that a level and one more shape leave."""
    columns = np.column_stack([np.ones(len(values)), bend])
    found, *_ = np.linalg.lstsq(columns, values, rcond=None)
    return float(((values - columns @ found) ** 2).sum())


def autocorrelations(values: Floats) -> Floats:
    """rho_0 ... rho_(n-1), by the biased estimator; zeros but the first where all are alike."""
    n = len(values)
    spread = values - values.mean()
    size = 1 << (2 * n - 1).bit_length()
    power = np.abs(np.fft.rfft(spread, size)) ** 2
    covariance = np.fft.irfft(power, size)[:n]
    if not covariance[0] > 1e-12 * max(float(np.abs(values).max()) ** 2, 1e-300):
        return np.concatenate([[1.0], np.zeros(n - 1)])
    return np.asarray(covariance / covariance[0], dtype=np.float64)


def _inflation(detrended: Floats) -> float:
    """n/n* of Hamed and Rao, at least 1."""
    n = len(detrended)
    rho = autocorrelations(rank_of(detrended))
    lag = np.arange(1, n)
    significant = np.abs(rho[1:]) > AUTOCORRELATION_Z / math.sqrt(n)
    weight = (n - lag) * (n - lag - 1.0) * (n - lag - 2.0)
    total = float((weight * rho[1:])[significant].sum())
    return max(1.0, 1.0 + 2.0 / (n * (n - 1.0) * (n - 2.0)) * total)
