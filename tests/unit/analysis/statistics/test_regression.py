"""The fit's slopes, and how often their intervals hold them under ill-behaved noise."""

from collections.abc import Callable

import numpy as np
import pytest

from loadgen.analysis.statistics.regression import robust_slopes
from loadgen.model.table import Floats

LAW = np.array([1 / 20_000, 1 / 150])
BASE = 0.02
Noise = Callable[[np.random.Generator, Floats], Floats]


def lengths(rng: np.random.Generator, n: int) -> Floats:
    prompts = np.round(rng.lognormal(6.5, 0.8, n))
    return np.column_stack([prompts, np.round(rng.lognormal(4.8, 0.6, n))])


def even(rng: np.random.Generator, y: Floats) -> Floats:
    return y + rng.normal(0, 0.05, len(y))


def growing(rng: np.random.Generator, y: Floats) -> Floats:
    return y * (1 + rng.normal(0, 0.1, len(y)))


def skewed(rng: np.random.Generator, y: Floats) -> Floats:
    return y + rng.exponential(0.1, len(y))


def alike(rng: np.random.Generator, y: Floats) -> Floats:
    noise = rng.normal(0, 1, len(y))
    for at in range(1, len(y)):
        noise[at] = 0.9 * noise[at - 1] + np.sqrt(1 - 0.81) * noise[at]
    return y + 0.1 * noise


def stalling(rng: np.random.Generator, y: Floats) -> Floats:
    return even(rng, y) + np.where(rng.random(len(y)) < 0.03, 5.0, 0.0)


@pytest.mark.parametrize("noise", [even, growing, skewed, alike, stalling])
def test_intervals_hold_the_law_as_often_as_they_say(noise: Noise) -> None:
    rng = np.random.default_rng(20261201)
    held = np.zeros(2)
    times = 200
    for _ in range(times):
        columns = lengths(rng, 120)
        fit = robust_slopes(columns, noise(rng, BASE + columns @ LAW), np.arange(120) // 8)
        held += (fit.low <= LAW) & (fit.high >= LAW)

    # 95 % of 200, less three standard errors
    assert (held / times >= 0.90).all()


def test_a_line_without_noise_is_found_exactly() -> None:
    columns = lengths(np.random.default_rng(1), 50)
    fit = robust_slopes(columns, BASE + columns @ LAW, np.zeros(50, dtype=np.int64))

    assert fit.base == pytest.approx(BASE)
    assert fit.values == pytest.approx(LAW)
    assert fit.low == pytest.approx(fit.high)


def test_a_stall_of_one_request_hardly_moves_the_line() -> None:
    rng = np.random.default_rng(3)
    columns = lengths(rng, 100)
    calm = even(rng, BASE + columns @ LAW)
    stalled = calm.copy()
    stalled[17] += 60.0
    fits = [robust_slopes(columns, y, np.arange(100) // 5) for y in (calm, stalled)]

    assert fits[1].values[1] == pytest.approx(fits[0].values[1], rel=0.05)
    assert fits[1].low[1] > 0


def test_skewed_noise_that_grows_leaves_the_slope_of_the_mean() -> None:
    rng = np.random.default_rng(5)
    columns = lengths(rng, 20_000)
    y = (BASE + columns @ LAW) * (0.9 + rng.exponential(0.1, len(columns)))
    fit = robust_slopes(columns, y, np.arange(len(columns)))

    assert fit.values[1] == pytest.approx(LAW[1], rel=0.015)


def test_neighbours_that_share_their_noise_widen_the_interval() -> None:
    rng = np.random.default_rng(9)
    columns = np.repeat(lengths(rng, 30), 10, axis=0)
    y = BASE + columns @ LAW + np.repeat(rng.normal(0, 0.1, 30), 10)
    blind = robust_slopes(columns, y, np.zeros(300, dtype=np.int64))
    seeing = robust_slopes(columns, y, np.arange(300) // 10)

    assert (seeing.high - seeing.low)[1] > 2 * (blind.high - blind.low)[1]
