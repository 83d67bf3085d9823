"""Least squares of one column over others, with intervals that don't assume much.

Gross outliers (a stall of one request) weigh less, by Huber's rule so far out that the line stays
that of the mean: skewed noise would bend a tighter one. Intervals by a sandwich that allows for
unequal noise and for neighbours in time that share theirs. Sources: Huber 1981, Robust Statistics,
ch. 7; MacKinnon and White 1985 (HC3); Liang and Zeger 1986 (clusters).
"""

from dataclasses import dataclass

import numpy as np

from loadgen.analysis.statistics.distributions import student_quantile
from loadgen.model.table import Floats, Ints

TUNING = 8.0
"""Residuals beyond so many scales count by their size alone. At the usual 1.345 noise that is
skewed and grows with the request moved slopes by 3 % (simulated); here by under 1 %."""
MAD_TO_SD = 1.4826
ROUNDS = 50
SETTLED_FRAC = 1e-9
LEAST_CLUSTERS = 8
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Slopes:
    """Coefficients with 95 % intervals, one a column; `base` is the line at zero of all columns."""

    base: float
    values: Floats
    low: Floats
    high: Floats


def robust_slopes(columns: Floats, y: Floats, clusters: Ints) -> Slopes:
    """The line through `y`, float64[n], over `columns`, float64[n, k]; n > k + 1.

    `clusters` numbers the stretch of time that each row falls into; under 8 stretches rows count
    as independent of their neighbours.
    """
    means = columns.mean(axis=0)
    scales = columns.std(axis=0)
    design = np.column_stack([np.ones(len(y)), (columns - means) / scales])
    line, weights = _huber(design, y)
    errors, degrees = _errors(design, y - design @ line, weights, clusters)
    half = student_quantile(0.5 + LEVEL / 2.0, degrees) * errors[1:] / scales
    slopes = line[1:] / scales
    base = float(line[0] - slopes @ means)
    return Slopes(base, slopes, slopes - half, slopes + half)


def _huber(design: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The line and the weight of each row, by reweighting until it no longer moves."""
    weights = np.ones(len(y))
    line = _solved(design, y, weights)
    for _ in range(ROUNDS):
        residuals = y - design @ line
        scale = MAD_TO_SD * float(np.median(np.abs(residuals - np.median(residuals))))
        if scale <= SETTLED_FRAC * float(np.abs(y).max()):
            break
        weights = np.minimum(1.0, TUNING * scale / np.maximum(np.abs(residuals), 1e-300))
        before, line = line, _solved(design, y, weights)
        if np.abs(line - before).max() <= SETTLED_FRAC * np.abs(line).max():
            break
    return line, weights


def _solved(design: Floats, y: Floats, weights: Floats) -> Floats:
    root = np.sqrt(weights)
    found, *_ = np.linalg.lstsq(design * root[:, None], y * root, rcond=None)
    return np.asarray(found, dtype=np.float64)


def _errors(
    design: Floats, residuals: Floats, weights: Floats, clusters: Ints
) -> tuple[Floats, float]:
    """Standard errors of the line, and the degrees of freedom that go with them."""
    n, k = design.shape
    inner = weights >= 1.0
    within = design[inner] if inner.sum() > k else design
    bread = np.linalg.pinv(within.T @ within)
    leverage = np.einsum("ij,jk,ik->i", design, np.linalg.pinv(design.T @ design), design)
    scores = design * (weights * residuals / np.maximum(1.0 - leverage, 1e-9))[:, None]
    alone = np.sqrt(np.diag(bread @ (scores.T @ scores) @ bread))
    groups, owner = np.unique(clusters, return_inverse=True)
    if len(groups) < LEAST_CLUSTERS:
        return alone, float(n - k)
    sums = np.zeros((len(groups), k))
    np.add.at(sums, owner, scores)
    together = np.sqrt(np.diag(bread @ (sums.T @ sums) @ bread))
    together *= np.sqrt(len(groups) / (len(groups) - 1.0))
    if (together <= alone).all():
        return alone, float(n - k)
    return np.maximum(alone, together), float(min(n - k, len(groups) - 1))
