"""METRICS applied to a frame: every figure with its n, interval, or the reason why it is absent."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from loadgen.analysis.frame import Frame
from loadgen.analysis.metrics import (
    EventFunction,
    Metric,
    PointFunction,
    RequestFunction,
)
from loadgen.analysis.requests import Requests
from loadgen.analysis.statistics.quantiles import (
    Estimate,
    Samples,
    percent_of,
    reciprocal,
    summarise_stat,
)
from loadgen.model.summary import Measure
from loadgen.model.table import Flags, Floats
from loadgen.units import NS_PER_S

NO_VALUE = "no request has this figure"
TAILS = frozenset({"p95", "p99", "p99.9", "max"})


def measures_of(frame: Frame, metrics: Sequence[Metric]) -> dict[str, Measure]:
    """Measures by key: `name.stat`, or `name` where a metric is one number a point."""
    found: dict[str, Measure] = {}
    for metric in metrics:
        for stat, estimate in _estimates(frame, metric):
            key = metric.name if stat == "value" else f"{metric.name}.{stat}"
            found[key] = _measure(frame, metric, stat, estimate)
    return found


def request_columns(requests: Requests, metrics: Sequence[Metric]) -> dict[str, Floats]:
    """Every per-request metric of every request, float64[n_requests], NaN for "not seen"."""
    return {
        metric.name: cast(RequestFunction, metric.function)(requests)
        for metric in metrics
        if metric.per == "request"
    }


def _estimates(frame: Frame, metric: Metric) -> Iterator[tuple[str, Estimate]]:
    if metric.needs_stream and frame.withheld:
        for stat in metric.stats:
            yield stat, Estimate(None, 0, reason=frame.withheld)
        return
    if metric.per == "point":
        yield "value", cast(PointFunction, metric.function)(frame)
        return
    samples = request_samples(frame, metric) if metric.per == "request" else _pool(frame, metric)
    pooled_times = metric.per != "request" and metric.needs_stream
    for stat in metric.stats:
        if pooled_times and frame.tails_withheld and stat in TAILS:
            yield stat, Estimate(None, len(samples.values), reason=frame.tails_withheld)
            continue
        yield stat, _statistic(samples, stat, slow_tail=metric.better == "higher")


def _statistic(samples: Samples, stat: str, *, slow_tail: bool) -> Estimate:
    """A percentile of a speed is the reciprocal of its time's percentile: the slow tail."""
    if not len(samples.values):
        return Estimate(None, 0, reason=NO_VALUE)
    if not slow_tail or percent_of(stat) is None:
        return summarise_stat(samples, stat)
    with np.errstate(divide="ignore"):
        times = replace(samples, values=1.0 / samples.values)
    return reciprocal(summarise_stat(times, stat))


def request_samples(frame: Frame, metric: Metric) -> Samples:
    """One value a request: those that have one, and lower bounds of those the client cut."""
    values = cast(RequestFunction, metric.function)(frame.requests)
    seen = frame.chosen & _over(frame.requests, metric) & ~np.isnan(values)
    if not metric.clock:
        return _in_order(frame, metric, values, seen)
    cut = frame.chosen & frame.requests.cut
    seen |= cut & ~np.isnan(values)
    hidden = cut & np.isnan(values)
    table = frame.requests.table
    start = table.due_at_ns if metric.clock == "due" else table.sent_at_ns
    bound = (frame.requests.end_at_ns - start) / NS_PER_S
    hidden &= table.sent_at_ns >= 0
    pooled = np.concatenate([values[seen], bound[hidden]])
    censored = np.concatenate([np.zeros(seen.sum(), dtype=bool), np.ones(hidden.sum(), dtype=bool)])
    if not hidden.any():
        return _in_order(frame, metric, values, seen)
    return Samples(pooled, censored=censored)


def _in_order(frame: Frame, metric: Metric, values: Floats, seen: Flags) -> Samples:
    """Values with their due times where they are times or speeds: neighbours may be alike."""
    if not frame.steady or metric.unit not in {"s", "tok/s"}:
        return Samples(values[seen])
    due_s = frame.requests.table.due_at_ns[seen] / NS_PER_S
    return Samples(values[seen], at_s=due_s - frame.start_at_ns / NS_PER_S, block_s=frame.block_s)


def _pool(frame: Frame, metric: Metric) -> Samples:
    """Values of the events of the requests that count."""
    pool = cast(EventFunction, metric.function)(frame.requests)
    counts = (frame.chosen & _over(frame.requests, metric))[pool.row]
    values = pool.values[counts]
    order = np.argsort(values, kind="stable")  # once, so that each quantile finds it in order
    weights = None if pool.weights is None else pool.weights[counts][order]
    return Samples(values[order], weights, independent=False)


def _over(requests: Requests, metric: Metric) -> Flags:
    if metric.over == "ok":
        return requests.ok
    return requests.failed if metric.over == "failed" else np.ones(len(requests), dtype=bool)


def _measure(frame: Frame, metric: Metric, stat: str, estimate: Estimate) -> Measure:
    n, more = int(frame.chosen.sum()), estimate.needs_more
    pace_s = frame.span_s / n if n else 0.0
    sure = metric.unit == "s" and metric.better == "lower"
    return Measure(
        name=metric.name,
        stat=stat,
        unit=metric.unit,
        better=metric.better,
        value=estimate.value,
        n=estimate.n,
        low=estimate.low,
        high=estimate.high,
        interval=estimate.interval,
        reason=estimate.reason,
        certified=estimate.certified if sure else None,
        needs_more=more,
        needs_more_s=None if more is None else more * pace_s,
    )
