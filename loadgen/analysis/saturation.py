"""Output rate against concurrency as a curve: USL or plain saturation, and the knee on it.

A curve describes, it does not explain; it is fitted to 6 points and more, concurrency 1 among them.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from loadgen.model.summary import SaturationFit
from loadgen.model.table import Floats

MIN_POINTS = 6
KNEE_FRAC = 0.95
REPLICATES = 200
SEED = 20261
LEAST_SE_FRAC = 0.005
FLAT = 1e-9
MISS_FRAC = 0.05
SEEN_TIMES = 10.0
"""A knee beyond this many times the highest measured concurrency is out of sight."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One law: rate of concurrency by its parameters, and where a search for them begins."""

    name: str
    parameters: tuple[str, ...]
    rate: Callable[..., Floats]


def usl_rate(c: Floats, gamma: float, alpha: float, beta: float) -> Floats:
    """Universal scalability: gamma c / (1 + alpha (c - 1) + beta c (c - 1)). Source: Gunther."""
    return gamma * c / (1.0 + alpha * (c - 1.0) + beta * c * (c - 1.0))


def saturating_rate(c: Floats, x_max: float, half: float) -> Floats:
    """Plain saturation: x_max c / (c + half), half the ceiling at c = half."""
    return x_max * c / (c + half)


USL = Curve("usl", ("gamma", "alpha", "beta"), usl_rate)
SATURATING = Curve("saturating", ("x_max", "half"), saturating_rate)
CURVES = (USL, SATURATING)


def fit(c: Sequence[int], rates: Sequence[float], errors: Sequence[float]) -> SaturationFit | None:
    """The better of the curves by AICc with its knee; None under 6 points, or without c = 1.

    A curve that misses a point by over 5 % is none: servers that stop dead at a limit fit neither.

    `errors` are standard errors of the rates; at least half a percent each counts.
    """
    if len(c) < MIN_POINTS or min(c) != 1:
        return None
    x, y = np.array(c, dtype=np.float64), np.array(rates, dtype=np.float64)
    se = np.maximum(np.array(errors, dtype=np.float64), LEAST_SE_FRAC * y)
    found = {curve.name: _fitted(curve, x, y, se) for curve in CURVES}
    aicc = {
        curve.name: _aicc(curve, values, x, y, se)
        for curve in CURVES
        if (values := found[curve.name]) is not None
    }
    for curve in sorted(CURVES, key=lambda one: aicc.get(one.name, math.inf)):
        values = found[curve.name]
        if values is not None and _misses(curve, values, x, y) <= MISS_FRAC:
            return _described(curve, values, aicc, x, se)
    return None


def _described(
    curve: Curve, values: Floats, aicc: dict[str, float], x: Floats, se: Floats
) -> SaturationFit:
    knee, highest = knee_of_curve(curve, values)
    seen = knee <= SEEN_TIMES * float(x.max())
    low, high = _knee_interval(curve, values, x, se) if seen else (None, None)
    return SaturationFit(
        model=curve.name,
        parameters=dict(zip(curve.parameters, (float(v) for v in values), strict=True)),
        aicc=aicc,
        max_tps=highest if seen else None,
        knee_c=knee if seen else None,
        knee_low_c=low,
        knee_high_c=high,
    )


def _misses(curve: Curve, values: Floats, x: Floats, y: Floats) -> float:
    """The largest relative distance between curve and points."""
    return float(np.max(np.abs(curve.rate(x, *values) - y) / y))


def knee_of_curve(curve: Curve, parameters: Floats) -> tuple[float, float]:
    """Smallest concurrency with 95 % of the curve's highest rate, and that rate.

    USL peaks at sqrt((1 - alpha) / beta); with beta near 0 its ceiling is gamma / alpha.
    """
    if curve is SATURATING:
        x_max, half = parameters
        return KNEE_FRAC / (1.0 - KNEE_FRAC) * float(half), float(x_max)
    gamma, alpha, beta = (float(v) for v in parameters)
    if beta <= FLAT and alpha <= FLAT:
        return math.inf, math.inf
    if beta <= FLAT:
        return _crossing(curve, parameters, KNEE_FRAC * gamma / alpha, math.inf), gamma / alpha
    peak = math.sqrt(max(1.0 - alpha, 0.0) / beta)
    top = max(peak, 1.0)
    highest = float(usl_rate(np.array([top]), gamma, alpha, beta)[0])
    return _crossing(curve, parameters, KNEE_FRAC * highest, top), highest


def _crossing(curve: Curve, parameters: Floats, rate: float, top: float) -> float:
    """Where the rising part of the curve reaches `rate`."""

    def short_of(c: float) -> float:
        return float(curve.rate(np.array([c]), *parameters)[0]) - rate

    if short_of(1.0) >= 0:
        return 1.0
    from scipy.optimize import brentq  # 0.3 s of CPU that only sweeps should pay for

    if math.isinf(top):
        top = 2.0
        while short_of(top) < 0 and top < 1e12:
            top *= 2.0
    return float(brentq(short_of, 1.0, top))


def _fitted(curve: Curve, x: Floats, y: Floats, se: Floats) -> Floats | None:
    """Weighted least squares with all parameters at 0 or above; None where it does not settle."""
    from scipy.optimize import OptimizeWarning, curve_fit

    if curve is USL:
        start, upper = [y[0], 0.05, 1e-4], [math.inf, 1.0, 1.0]
    else:
        start, upper = [float(y.max()) * 1.1, float(np.median(x))], [math.inf, math.inf]
    try:
        found, _ = curve_fit(
            curve.rate, x, y, p0=start, sigma=se, bounds=(0.0, upper), x_scale=np.array(start)
        )
    except (RuntimeError, OptimizeWarning):
        return None
    return np.asarray(found, dtype=np.float64)


def _aicc(curve: Curve, found: Floats, x: Floats, y: Floats, se: Floats) -> float:
    """Akaike's criterion with the correction for few points, least squares (Hurvich, Tsai 1989)."""
    n, k = len(x), len(found) + 1
    residual = float((((y - curve.rate(x, *found)) / se) ** 2).sum())
    small = 2.0 * k * (k + 1) / (n - k - 1) if n - k - 1 > 0 else math.inf
    return n * math.log(max(residual, 1e-12) / n) + 2.0 * k + small


def _knee_interval(
    curve: Curve, found: Floats, x: Floats, se: Floats
) -> tuple[float | None, float | None]:
    """95 % interval of the knee: rates drawn round the curve with their errors, fitted again."""
    chance = np.random.default_rng(SEED)
    level = curve.rate(x, *found)
    knees = []
    for _ in range(REPLICATES):
        drawn = level + chance.normal(0.0, 1.0, len(x)) * se
        again = _refitted(curve, x, drawn, se, found)
        if again is not None:
            knees.append(knee_of_curve(curve, again)[0])
    if len(knees) < REPLICATES // 2:
        return None, None
    low, high = np.quantile(knees, [0.025, 0.975], method="inverted_cdf")
    far = SEEN_TIMES * float(x.max())
    return (float(low) if low <= far else None), (float(high) if high <= far else None)


def _refitted(curve: Curve, x: Floats, y: Floats, se: Floats, start: Floats) -> Floats | None:
    """As `_fitted`, from near the answer and over square roots, which is 10 times quicker."""
    from scipy.optimize import leastsq

    begin = np.sqrt(np.maximum(start, 1e-12))

    def off(root: Floats) -> Floats:
        return np.asarray((curve.rate(x, *root**2) - y) / se, dtype=np.float64)

    found = leastsq(off, begin, maxfev=200)
    return np.asarray(found[0], dtype=np.float64) ** 2 if found[1] in {1, 2, 3, 4} else None
