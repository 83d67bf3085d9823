"""Requests that meet every limit: per second, and as a share of those attempted."""

from collections.abc import Sequence
from typing import cast

import numpy as np

from loadgen.analysis.frame import Frame, Known, frame_in, profiling_frame, window_frame
from loadgen.analysis.metrics import METRICS, Metric, RequestFunction
from loadgen.analysis.requests import Requests, rows_of_point
from loadgen.analysis.statistics.distributions import wilson
from loadgen.analysis.statistics.quantiles import Estimate, batch_rate
from loadgen.model.summary import PointSummary
from loadgen.model.table import Flags, Recording
from loadgen.specs.gates import OPERATORS, Limit
from loadgen.units import NS_PER_S

WITHHELD = ("client_bound", "not_measurable")
ROWS: dict[str, Metric] = {metric.name: metric for metric in METRICS if metric.per == "request"}


def goodput_of(
    recording: Recording, point: PointSummary, limits: Sequence[Limit]
) -> tuple[Estimate, Estimate]:
    """Good requests per second and their share of the attempted ones, in the point's window.

    Attempted: due in the window. Good: ended well and within every limit; failed, dropped and cut
    ones are not. A figure that needs two tokens asks nothing of an answer of one.
    """
    withheld = _withheld(point, limits)
    if withheld:
        return Estimate(None, 0, reason=withheld), Estimate(None, 0, reason=withheld)
    frame = _frame(recording, point)
    n = int(frame.chosen.sum())
    if not n or frame.span_s <= 0:
        empty = Estimate(None, n, reason="no request in the span")
        return empty, empty
    good = _good(frame, limits)
    k = int(good.sum())
    return _rate(frame, good, k), Estimate(k / n, n, *wilson(k, n, 0.95), "95 %, Wilson")


def _withheld(point: PointSummary, limits: Sequence[Limit]) -> str:
    """Why times of this point may not be used; empty where they may."""
    for limit in limits:
        for key, measure in point.measures.items():
            if key.partition(".")[0] == limit.metric and measure.reason.startswith(WITHHELD):
                return measure.reason
    return ""


def _frame(recording: Recording, point: PointSummary) -> Frame:
    """The span that the point's own figures come from."""
    requests = Requests(rows_of_point(recording.table, point.index))
    if recording.plan.replay is not None:
        return profiling_frame(requests, point.load, Known())[0]
    if point.window is None:
        return window_frame(requests, point.load, Known())[0]
    return frame_in(requests, point.load, point.window, Known())


def _good(frame: Frame, limits: Sequence[Limit]) -> Flags:
    """Chosen requests that ended well and meet every limit, bool[n_requests]."""
    requests = frame.requests
    good = frame.chosen & requests.ok
    single = requests.output_tok <= 1
    for limit in limits:
        values = cast(RequestFunction, ROWS[limit.metric].function)(requests)
        with np.errstate(invalid="ignore"):
            met = np.asarray(OPERATORS[limit.operator](values, limit.value))  # type: ignore[arg-type]
        good = good & (met | (np.isnan(values) & single))
    return np.asarray(good, dtype=np.bool_)


def _rate(frame: Frame, good: Flags, k: int) -> Estimate:
    """Good requests per second of their due times, by batches where the span is steady."""
    due = frame.requests.table.due_at_ns
    sums = frame.batch_sums(due, good.astype(np.float64))
    edges = frame.batch_edges_ns
    interval = batch_rate(sums, float(edges[1] - edges[0]) / NS_PER_S) if frame.steady else None
    value, n = k / frame.span_s, int(frame.chosen.sum())
    if interval is None:
        return Estimate(value, n)
    low, high, how = interval
    return Estimate(value, n, min(low, value), max(high, value), how)
