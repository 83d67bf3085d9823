"""What the drawings of a report need: a run in bins of time, distributions as few quantiles.

Everything here is thinned for the eye; figures are never taken from it. Events are walked in
slices, so that a run of many millions takes no memory of its own.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np

from loadgen.analysis.frame import DELIVERING
from loadgen.analysis.imported import told_columns
from loadgen.analysis.measures import request_columns
from loadgen.analysis.metrics import METRICS
from loadgen.analysis.requests import Requests, rows_of_point
from loadgen.model.record import EventKind
from loadgen.model.summary import PointSummary, Summary
from loadgen.model.table import ABSENT, Flags, Floats, Ints, Recording, RunTable
from loadgen.model.timeline import Curve, Timeline
from loadgen.units import NS_PER_S

BINS = 240
LEAST_BIN_S = 0.1
EVENTS_A_SLICE = 2_000_000
CURVE_POINTS = 200
CURVES = ("ttft_s", "tpot_s", "e2e_s")
WITHHELD = ("client_bound", "not_measurable")
"""How the reason of a figure begins that must not be shown in any way."""


def timeline_of(recording: Recording, summary: Summary) -> Timeline | None:
    """The run in at most `BINS` bins; None where no request was due.

    Times that the summary withholds are absent here too.
    """
    table = recording.table
    if not len(table):
        return None
    start_ns, end_ns = int(table.due_at_ns.min()), int(_ends(table).max())
    span_s = max((end_ns - start_ns) / NS_PER_S, LEAST_BIN_S)
    bins = max(1, min(BINS, int(span_s / LEAST_BIN_S)))
    bin_s = span_s / bins
    edges_ns: Floats = np.asarray(start_ns + np.arange(bins + 1) * bin_s * NS_PER_S, np.float64)
    metrics = told_columns(_columns(table), recording.imported)
    ttft_s = np.where(_shown(table, summary, "ttft_s"), metrics["ttft_s"], np.nan)
    medians, highest = _by_bin(table.due_at_ns, ttft_s, edges_ns)
    return Timeline(
        start_at_ns=start_ns,
        bin_s=bin_s,
        in_flight=_in_flight(table, edges_ns),
        out_tps=_tokens(table, edges_ns) / bin_s,
        ttft_p50_s=medians,
        ttft_max_s=highest,
        send_lag_max_s=_by_bin(table.due_at_ns, metrics["send_lag_s"], edges_ns)[1],
        failed=_failed(table, edges_ns),
        curves=tuple(_curves(table, summary, metrics)),
    )


def _columns(table: RunTable) -> dict[str, Floats]:
    """The metrics of `CURVES` and the sending lag of each request, made point by point."""
    wanted = [metric for metric in METRICS if metric.name in {*CURVES, "send_lag_s"}]
    parts = [
        request_columns(Requests(rows_of_point(table, int(point))), wanted)
        for point in np.unique(table.point)
    ]
    return {metric.name: np.concatenate([p[metric.name] for p in parts]) for metric in wanted}


def _ends(table: RunTable) -> Ints:
    """When each request was last heard of."""
    ends = np.maximum(table.done_at_ns, table.sent_at_ns)
    return np.where(ends == ABSENT, table.due_at_ns, ends)


def _in_flight(table: RunTable, edges_ns: Floats) -> Floats:
    """Mean requests in flight of each bin: the time that requests spent in it over its length."""
    sent = table.sent_at_ns != ABSENT
    spent = _area(table.sent_at_ns[sent], edges_ns) - _area(_ends(table)[sent], edges_ns)
    return np.diff(spent) / np.diff(edges_ns)


def _area(at_ns: Ints, edges_ns: Floats) -> Floats:
    """Sum over all instants of the time that passed since, at each edge."""
    ordered = np.sort(at_ns - np.int64(edges_ns[0])).astype(np.float64)
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    edges = edges_ns - edges_ns[0]
    passed = np.searchsorted(ordered, edges, side="right")
    return np.asarray(passed * edges - sums[passed])


def _tokens(table: RunTable, edges_ns: Floats) -> Floats:
    """Output tokens by the bin of their event; a request's tokens lie evenly over its events."""
    texts = _texts(table)
    counted = np.where(table.usage_output_tok != ABSENT, table.usage_output_tok, table.own_tok)
    each = np.where(counted >= 0, counted / np.maximum(texts, 1), 1.0)
    each[~np.isin(table.outcome, [str(outcome) for outcome in DELIVERING])] = 0.0
    sums = np.zeros(len(edges_ns) - 1)
    for rows, events in _slices(table):
        owner = np.repeat(np.arange(rows.start, rows.stop), np.diff(_starts(table, rows)))
        weight = each[owner] * (table.event_kind[events] != EventKind.OTHER)
        place = _bin_of(table.event_at_ns[events], edges_ns)
        sums += np.bincount(place, weight, minlength=len(sums))
    return sums


def _texts(table: RunTable) -> Ints:
    """Events with text of each request."""
    texts = np.zeros(len(table), dtype=np.int64)
    for rows, events in _slices(table):
        has = np.concatenate([[0], np.cumsum(table.event_kind[events] != EventKind.OTHER)])
        texts[rows] = np.diff(has[_starts(table, rows) - table.event_start[rows.start]])
    return texts


def _slices(table: RunTable) -> Iterator[tuple[slice, slice]]:
    """Rows and their events, about `EVENTS_A_SLICE` events at a time; a row is never cut."""
    starts, at = table.event_start, 0
    while at < len(table):
        until = int(np.searchsorted(starts, starts[at] + EVENTS_A_SLICE, side="right")) - 1
        until = min(max(until, at + 1), len(table))
        yield slice(at, until), slice(int(starts[at]), int(starts[until]))
        at = until


def _starts(table: RunTable, rows: slice) -> Ints:
    """Where the events of these rows begin, and where the last one's end."""
    return table.event_start[rows.start : rows.stop + 1]


def _bin_of(at_ns: Ints, edges_ns: Floats) -> Ints:
    """The bin of each instant; what lies outside counts to the nearest."""
    width = edges_ns[1] - edges_ns[0]
    place = ((at_ns - np.int64(edges_ns[0])) / width).astype(np.int64)
    return np.asarray(np.clip(place, 0, len(edges_ns) - 2), dtype=np.int64)


def _by_bin(at_ns: Ints, values: Floats, edges_ns: Floats) -> tuple[Floats, Floats]:
    """Median and maximum by bin; NaN for an empty one."""
    known = np.isfinite(values)
    place, kept = _bin_of(at_ns[known], edges_ns), values[known]
    order = np.argsort(place, kind="stable")
    cuts = np.searchsorted(place[order], np.arange(len(edges_ns)))
    medians, highest = np.full((2, len(edges_ns) - 1), np.nan)
    for number, (start, stop) in enumerate(pairwise(cuts)):
        if stop > start:
            part = kept[order[start:stop]]
            medians[number], highest[number] = np.median(part), part.max()
    return medians, highest


def _failed(table: RunTable, edges_ns: Floats) -> Floats:
    """Failures by the bin in which they ended."""
    fine = np.isin(table.outcome, ["ok", "cancelled", "unfinished"])
    place = _bin_of(_ends(table)[~fine], edges_ns)
    return np.bincount(place, minlength=len(edges_ns) - 1).astype(np.float64)


def _shown(table: RunTable, summary: Summary, name: str) -> Flags:
    """Requests of points that may show this time."""
    hidden = [point.index for point in summary.points if _withheld(point, name)]
    return ~np.isin(table.point, hidden)


def _withheld(point: PointSummary, name: str) -> bool:
    measure = point.measures.get(f"{name}.p50")
    return measure is not None and measure.value is None and measure.reason.startswith(WITHHELD)


def _curves(table: RunTable, summary: Summary, metrics: Mapping[str, Floats]) -> Iterator[Curve]:
    """The distribution of each drawn metric at each point, over what its percentiles are over."""
    for name in CURVES:
        for point in summary.points:
            if _withheld(point, name):
                continue
            rows = (table.point == point.index) & (table.outcome == "ok")
            rows &= _in_window(table, point)
            values = metrics[name][rows]
            values = np.sort(values[np.isfinite(values)])
            if len(values):
                yield _thinned(name, point.index, values)


def _in_window(table: RunTable, point: PointSummary) -> Flags:
    """Requests whose latencies count: due in the measuring window, else all but the warm-up."""
    if point.window is None:
        return np.asarray(table.phase != "warmup")
    due, window = table.due_at_ns, point.window
    inside = (due >= window.start_at_ns) & (due <= window.end_at_ns)
    return np.asarray(inside & (table.phase == "window"))


def _thinned(name: str, point: int, values: Floats) -> Curve:
    """At most `CURVE_POINTS` of the sorted values, both ends among them."""
    n = len(values)
    at = np.unique(np.linspace(0, n - 1, min(n, CURVE_POINTS)).round().astype(np.int64))
    return Curve(name, point, n, values[at], (at + 1) / n)
