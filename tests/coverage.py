"""How often intervals cover and the steady-state detector is right: simulations of known truth."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from loadgen.analysis import summarise
from loadgen.analysis.statistics.quantiles import Estimate, Samples, batch_rate, percentile
from loadgen.model.summary import PointSummary
from loadgen.model.table import Floats
from tests.simulations import Law, Server, ar1, drift, level, queue_waits, served, step, warming
from tests.tables import recording

NORMAL_P90 = 1.2815515655446004
RUN_S = 60.0
COVERED = (0.90, 0.98)
FOUND = 0.90


def covered_rates(runs: int, seed: int) -> Iterator[tuple[str, float]]:
    """Share of batch-means intervals that hold the true rate, by series."""
    chance = np.random.default_rng(seed)
    for rho in (0.0, 0.5, 0.9):
        hits = 0
        for _ in range(runs):
            sums = (100 + ar1(chance, 1500, rho)).reshape(30, 50).sum(axis=1)
            found = batch_rate(sums, 50.0)
            hits += found is not None and found[0] <= 100 <= found[1]
        yield f"rate, AR(1) {rho}", hits / runs


def covered_quantiles(runs: int, seed: int) -> Iterator[tuple[str, float]]:
    """Share of percentile intervals that hold the true percentile, by series."""
    chance = np.random.default_rng(seed)
    for rho, n in ((0.0, 600), (0.5, 600), (0.9, 3000)):
        for fraction, true in ((0.5, 10.0), (0.9, 10.0 + NORMAL_P90)):
            draws = (10 + ar1(chance, n, rho) for _ in range(runs))
            hits = sum(_holds(_percentile(values, 1.0, 8.0, fraction), true) for values in draws)
            yield f"p{fraction * 100:.0f}, AR(1) {rho}", hits / runs
    for load, n in ((0.5, 3000), (0.7, 6000)):
        for fraction in (0.5, 0.9):
            true = -math.log(1 - fraction) / (1 - load)
            draws = (queue_waits(chance, n, load) for _ in range(runs))
            block_s = 2 * -math.log(0.1) / (1 - load)
            hits = sum(_holds(_percentile(v, 1 / load, block_s, fraction), true) for v in draws)
            yield f"p{fraction * 100:.0f}, M/M/1 at {load}", hits / runs


def detected(runs: int, seed: int) -> Iterator[tuple[str, float]]:
    """Share of simulated runs whose start, drift or change of level is found, by kind and slots."""
    kinds: dict[str, tuple[Law, Callable[[PointSummary], bool]]] = {
        "level, nothing cut": (level, lambda p: _is(p, "steady") and _begins(p, 0.0)),
        "warm-up, sudden": (warming(12, 1.4, sudden=True), lambda p: _begins(p, 12.0)),
        "warm-up, mild": (warming(20, 1.15, sudden=True), lambda p: _begins(p, 20.0)),
        "warm-up, slow": (warming(15, 1.6, sudden=False), lambda p: _begins(p, 15.0)),
        "drift up": (drift(0.2, RUN_S), lambda p: _is(p, "drifting_up")),
        "drift down": (drift(-0.2, RUN_S), lambda p: _is(p, "drifting_down")),
        "step up": (step(0.15, 30), lambda p: _is(p, "anomaly")),
    }
    for slots in (4, 16, 64):
        server = Server(slots=slots, lasts_s=RUN_S)
        for name, (law, right) in kinds.items():
            hits = sum(right(_point(server, law, seed + run)) for run in range(runs))
            yield f"{name}, c={slots}", hits / runs


def _percentile(values: Floats, gap_s: float, block_s: float, fraction: float) -> Estimate:
    at_s = gap_s * np.arange(len(values), dtype=np.float64)
    return percentile(Samples(values, at_s=at_s, block_s=block_s), fraction)


def _holds(found: Estimate, true: float) -> bool:
    return found.low is not None and found.high is not None and found.low <= true <= found.high


def _point(server: Server, law: Law, seed: int) -> PointSummary:
    empty = recording([], f"closed:{server.slots}")
    return summarise(replace(empty, table=served(server, law, seed))).points[0]


def _is(point: PointSummary, verdict: str) -> bool:
    return point.steady is not None and point.steady.verdict == verdict


def _begins(point: PointSummary, true_s: float) -> bool:
    """Whether the window begins within a tenth of the run from the true start."""
    if point.window is None:
        return False
    return abs(point.window.start_at_ns / 1e9 - true_s) <= 0.1 * RUN_S
