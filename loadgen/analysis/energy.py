"""Joules of a point, over the very window that its tokens come from: given whole, or not at all.

A counter's difference is preferred to the integral of power samples; where both are known they
must agree. Source of the rules: docs/definitions.md#energy.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from loadgen.analysis.frame import Frame, Power
from loadgen.analysis.looks import SILENT, Key, Looks, Series
from loadgen.analysis.rates import ok_rps, out_tps, total_tps
from loadgen.analysis.statistics.quantiles import Estimate
from loadgen.analysis.words import in_percent
from loadgen.model.columns import Floats
from loadgen.model.energy import PointEnergy
from loadgen.units import NS_PER_S

GPU = "gpu"
POWER = "power_w"
COUNTER = "energy_j"
GAP_S = 3.0
"""Between two readings; beyond it nobody knows what was drawn."""
SHORTEST_S = 5.0
"""Counters move about ten times a second and samples come one a second: less says little."""
AGREE_FRAC = 0.05
IDLE_SAMPLES = 3
W_PER_MW = 1e6


@dataclass(frozen=True, slots=True)
class Joules:
    """Of one GPU over a window; None with the reason why."""

    value: float | None
    reason: str = ""


def energy_of(frame: Frame, point: int = 0) -> PointEnergy | None:
    """Energy over the frame's span; None where nobody was asked for power."""
    looks, power = frame.known.looks, frame.known.power
    origins = looks.origins(GPU)
    if not origins:
        return None
    counters, samples = _parts(looks, COUNTER), _parts(looks, POWER)
    span = frame.start_at_ns, frame.end_at_ns
    counted, summed = _total(counters, span, _difference), _total(samples, span, _integral)
    seen = len(samples or counters)
    trusted = counted if counted.value is not None else summed
    reason = _refusal(frame, looks, seen) or _disagreement(counted, summed) or trusted.reason
    joules = None if reason else trusted.value
    return PointEnergy(
        point=point,
        boundary=power.boundary,
        origin=", ".join(origins),
        source="none" if joules is None else "counter" if counted.value is not None else "integral",
        window_s=frame.span_s,
        joules=joules,
        reason=reason,
        mean_w=None if joules is None else joules / frame.span_s,
        idle_w=_idle_w(samples, power),
        gpus_seen=seen,
        gpus_declared=power.gpus,
        integral_j=summed.value,
        gap_max_s=max((_gap_s(series, span) for series in samples.values()), default=None),
        samples=min((len(series.within(*span).value) for series in samples.values()), default=0),
        provisioned_w=power.provisioned_w,
    )


def j_per_out_tok(frame: Frame) -> Estimate:
    """Joules an output token, all energy put on output."""
    return _per(frame, out_tps(frame))


def j_per_tok(frame: Frame) -> Estimate:
    """Joules a token of either kind."""
    return _per(frame, total_tps(frame))


def j_per_req(frame: Frame) -> Estimate:
    """Joules a request that ended well."""
    return _per(frame, ok_rps(frame))


def out_tps_per_mw(frame: Frame) -> Estimate:
    """Output tokens a second and megawatt drawn, within the boundary."""
    rate, energy = out_tps(frame), energy_of(frame)
    if rate.value is None or energy is None or not energy.mean_w:
        return Estimate(None, rate.n, reason=_why(energy) or rate.reason)
    return Estimate(rate.value / energy.mean_w * W_PER_MW, rate.n)


def out_tps_per_mw_provisioned(frame: Frame) -> Estimate:
    """Output tokens a second and megawatt provided for: a rating, nothing that was measured."""
    rate, watts = out_tps(frame), frame.known.power.provisioned_w
    if rate.value is None or not watts:
        why = "needs --gpus and a GPU with a rating (--system or --prices: kw_per_gpu)"
        return Estimate(None, rate.n, reason=rate.reason or why)
    return Estimate(rate.value / watts * W_PER_MW, rate.n)


def _per(frame: Frame, rate: Estimate) -> Estimate:
    energy = energy_of(frame)
    if energy is None or energy.mean_w is None or not rate.value:
        return Estimate(None, rate.n, reason=_why(energy) or rate.reason or "nothing was produced")
    return Estimate(energy.mean_w / rate.value, rate.n)


def _why(energy: PointEnergy | None) -> str:
    """Why there are no joules; empty where there are."""
    return "no power readings" if energy is None else energy.reason


def _parts(looks: Looks, name: str) -> dict[Key, Series]:
    return dict(looks.of(GPU, name))


def _refusal(frame: Frame, looks: Looks, seen: int) -> str:
    """Why no energy of this span may be given, whatever the readings say; empty: it may."""
    if not seen:
        silent = [(len(series.value), key.part) for key, series in looks.of(GPU, SILENT)]
        return f"no power readings: {max(silent)[1]}" if silent else "no power readings"
    declared = frame.known.power.gpus
    if declared is not None and seen != declared:
        return f"power of {seen} GPUs is told, {declared} are declared"
    if frame.span_s < SHORTEST_S:
        return f"the window of {frame.span_s:.3g} s is under the {SHORTEST_S:g} s that it takes"
    return ""


def _disagreement(counted: Joules, summed: Joules) -> str:
    if not counted.value or summed.value is None:
        return ""
    off = summed.value / counted.value - 1.0
    if abs(off) <= AGREE_FRAC:
        return ""
    return (
        f"the power samples come to {in_percent(off, signed=True)} of what the counter says, "
        f"allowed: {in_percent(AGREE_FRAC)}"
    )


def _total(
    parts: dict[Key, Series],
    span: tuple[int, int],
    joules_in: Callable[[Series, tuple[int, int]], Joules],
) -> Joules:
    """The sum over all GPUs; None where one of them has none."""
    found = [joules_in(series, span) for series in parts.values()]
    missing = next((one.reason for one in found if one.value is None), "")
    if missing or not found:
        return Joules(None, missing)
    return Joules(sum(one.value or 0.0 for one in found))


def _difference(series: Series, span: tuple[int, int]) -> Joules:
    """The counter's increase, read off between its samples at both edges."""
    reason = _uncovered(series, span)
    if reason:
        return Joules(None, reason)
    at, values = _round(series, span)
    if (np.diff(values) < 0).any():
        return Joules(None, "a GPU's energy counter began anew")
    edges = np.interp(np.asarray(span, dtype=np.float64), at, values)
    return Joules(float(edges[1] - edges[0]))


def _integral(series: Series, span: tuple[int, int]) -> Joules:
    """Trapezoids over the power samples, the edges between their neighbours."""
    reason = _uncovered(series, span)
    if reason:
        return Joules(None, reason)
    at, watts = _round(series, span)
    inner = (at > span[0]) & (at < span[1])
    edges = np.interp(np.asarray(span, dtype=np.float64), at, watts)
    times = np.concatenate([[span[0]], at[inner], [span[1]]])
    values = np.concatenate([edges[:1], watts[inner], edges[1:]])
    return Joules(float(np.trapezoid(values, times) / NS_PER_S))


def _uncovered(series: Series, span: tuple[int, int]) -> str:
    gap_s = _gap_s(series, span)
    if gap_s <= GAP_S:
        return ""
    told = f"{gap_s:.3g} s" if np.isfinite(gap_s) else "at an end"
    return f"a GPU's readings have a gap ({told}) in the window, allowed: {GAP_S:g} s"


def _gap_s(series: Series, span: tuple[int, int]) -> float:
    """The longest time without a reading, from the one before the span to the one after it."""
    at, _ = _round(series, span)
    if not len(at) or at[0] > span[0] or at[-1] < span[1]:
        return float("inf")
    return float(np.diff(at).max(initial=0.0)) / NS_PER_S


def _round(series: Series, span: tuple[int, int]) -> tuple[Floats, Floats]:
    """Instants and values from the last reading before the span to the first one after it."""
    first = max(int(np.searchsorted(series.at_ns, span[0], side="right")) - 1, 0)
    last = int(np.searchsorted(series.at_ns, span[1], side="left")) + 1
    return series.at_ns[first:last].astype(np.float64), series.value[first:last]


def _idle_w(samples: dict[Key, Series], power: Power) -> float | None:
    """Mean watts of all GPUs before the first and after the last request, where watched."""
    if power.idle_ns is None or not samples:
        return None
    first, last = power.idle_ns
    totals = []
    for series in samples.values():
        idle = series.value[(series.at_ns <= first) | (series.at_ns >= last)]
        if len(idle) < IDLE_SAMPLES:
            return None
        totals.append(float(idle.mean()))
    return sum(totals)
