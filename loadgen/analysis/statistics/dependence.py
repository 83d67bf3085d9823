"""How much n is worth when neighbours are alike: effective n, bootstrap over blocks of time.

Requests in one engine share batches and queues, so intervals that take them as independent are too
narrow: at an autocorrelation of 0.9 half of them miss.
"""

import math

import numpy as np

from loadgen.analysis.statistics.distributions import ranks as rank_of
from loadgen.analysis.statistics.distributions import student_quantile
from loadgen.analysis.statistics.trend import autocorrelations
from loadgen.model.table import Floats, Ints

SOKAL_FACTOR = 5.0
NOISE_SDS = 3.0
MIN_N = 30
BATCHES = 20
MIN_BOOTSTRAP_BLOCKS = 10
SLICES_PER_BLOCK = 4
MAX_SLICES = 400
GRID = 400
REPLICATES = 2000
CUT_THROUGH = 8.0 / 7.0
"""Blocks of four effective samples miss an eighth of the variance of an AR(1)."""
BOOTSTRAP_SEED = 20260


def effective_n(values: Floats) -> int:
    """What n is worth: n / (1 + 2 sum rho_k) of values in order of time, n where they are unlike.

    Rank autocorrelations, summed up to the first lag of 5 times the sum so far (Sokal 1997). A sum
    within 3 of its standard errors of 1 counts as 1. Waves that come and go would fool it: where
    the scatter of 20 batch means shows under half of it, that counts.
    """
    n = len(values)
    if n < MIN_N:
        return n
    ranks = rank_of(values)
    rho = autocorrelations(ranks)[: n // 2]
    times = 2.0 * np.cumsum(rho) - 1.0
    lags = np.arange(len(times))
    enough = np.flatnonzero(lags >= SOKAL_FACTOR * np.maximum(times, 1.0))
    window = int(enough[0]) if len(enough) else len(times) - 1
    found = float(times[window])
    if found <= 1.0 + NOISE_SDS * 2.0 * math.sqrt(window / n):
        return n
    batched = _batch_ratio(ranks)
    if batched < found / 2.0:
        found = max(1.0, batched)
    return max(1, math.floor(n / found))


def _batch_ratio(values: Floats) -> float:
    """1 + 2 sum rho_k: variance of 20 batch means, times their size, over that of the values."""
    size = len(values) // BATCHES
    spread = float(values.var())
    if not size or spread <= 0:
        return math.inf
    means = values[: size * BATCHES].reshape(BATCHES, size).mean(axis=1)
    return size * float(means.var(ddof=1)) / spread


def block_bootstrap(
    values: Floats, at_s: Floats, fraction: float, block_s: float, reps: int = REPLICATES
) -> tuple[float, float] | None:
    """95 % percentile interval of a quantile by moving blocks of time; None under 10 blocks.

    Blocks of `block_s` start at any quarter of one; seeded, so that equal data give equal
    intervals; widened as t with as many blocks, and by the variance that blocks cut through. The
    quantile is read off at most 400 of the sorted values. Source: Kuensch 1989.
    """
    span_s = float(at_s.max() - at_s.min()) if len(at_s) else 0.0
    if not block_s > 0 or span_s < MIN_BOOTSTRAP_BLOCKS * block_s:
        return None
    slices = min(MAX_SLICES, int(span_s / block_s * SLICES_PER_BLOCK))
    slice_of = np.minimum((at_s - at_s.min()) / span_s * slices, slices - 1).astype(np.int64)
    grid, counts = _counts_below(values, slice_of, slices)
    moving = np.lib.stride_tricks.sliding_window_view(counts, SLICES_PER_BLOCK, axis=0).sum(axis=-1)
    starts = len(moving)
    drawn = math.ceil(slices / SLICES_PER_BLOCK)
    chance = np.random.default_rng(BOOTSTRAP_SEED)
    times = chance.multinomial(drawn, np.full(starts, 1.0 / starts), size=reps)
    below = times.astype(np.float64) @ moving
    wanted = np.ceil(fraction * below[:, -1:] - 1e-9)
    found = grid[np.argmax(below >= wanted, axis=1)]
    low, middle, high = np.quantile(found, [0.025, 0.5, 0.975])
    blocks = span_s / block_s
    widened = (
        student_quantile(0.975, blocks - 1) / 1.96 * math.sqrt(CUT_THROUGH * blocks / (blocks - 1))
    )
    return float(middle - widened * (middle - low)), float(middle + widened * (high - middle))


def _counts_below(values: Floats, slice_of: Ints, slices: int) -> tuple[Floats, Floats]:
    """Thinned sorted values, and how many of each slice lie at or below each of them."""
    ordered = np.sort(values)
    ranks = np.unique(np.linspace(0, len(ordered) - 1, GRID).astype(np.int64))
    grid = np.unique(ordered[ranks])
    place = np.searchsorted(grid, values, side="left")
    counts = np.zeros((slices, len(grid)))
    np.add.at(counts, (slice_of, place), 1.0)
    return grid, np.cumsum(counts, axis=1)
