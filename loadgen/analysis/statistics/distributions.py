"""Tails, quantiles and ranks by scipy.special: importing scipy.stats costs 0.5 s of CPU a run."""

import math

import numpy as np
from scipy import special

from loadgen.model.table import Floats


def binomial_cdf(k: int, n: int, p: float) -> float:
    """P(Binom(n, p) <= k)."""
    return float(special.bdtr(k, n, p)) if k < n else 1.0


def binomial_quantile(q: float, n: int, p: float) -> int:
    """The least k with P(Binom(n, p) <= k) >= q."""
    k = math.ceil(float(special.bdtrik(q, n, p)))
    below = max(k - 1, 0)
    return below if binomial_cdf(below, n, p) >= q else k


def student_quantile(q: float, degrees: float) -> float:
    """The q quantile of Student's t with so many degrees of freedom."""
    return float(special.stdtrit(degrees, q))


def normal_two_sided(z: float) -> float:
    """P(|Z| >= |z|) of a standard normal."""
    return 2.0 * float(special.ndtr(-abs(z)))


def ranks(values: Floats) -> Floats:
    """Ranks from 1, float64[n]; equal values share the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2.0)[inverse], dtype=np.float64)


def wilson(k: int, n: int, level: float) -> tuple[float, float]:
    """Wilson's score interval of a share k/n at that level. Source: Wilson 1927."""
    z = float(special.ndtri(0.5 + level / 2.0))
    centre = (k + z * z / 2.0) / (n + z * z)
    half = z / (n + z * z) * math.sqrt(k * (n - k) / n + z * z / 4.0)
    low = 0.0 if k == 0 else centre - half
    return low, 1.0 if k == n else centre + half


def welch_p(first: Floats, second: Floats) -> float:
    """Two-sided p of equal means, variances unlike. Source: Welch 1947, Satterthwaite 1946."""
    parts = [float(values.var(ddof=1)) / len(values) for values in (first, second)]
    total = sum(parts)
    if total <= 0:
        return 0.0 if first.mean() != second.mean() else 1.0
    freedoms = (len(first) - 1, len(second) - 1)
    degrees = total**2 / sum(part**2 / free for part, free in zip(parts, freedoms, strict=True))
    t = abs(float(first.mean()) - float(second.mean())) / math.sqrt(total)
    return 2.0 * float(special.stdtr(degrees, -t))
