"""The series that steadiness is judged by: one metric in blocks of time.

A block is at least one mean answer long and holds 30 requests where there are enough of them
(10 where not), so that a block's median means something and neighbours are little alike.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from loadgen.analysis.frame import Frame
from loadgen.analysis.rates import out_sums
from loadgen.analysis.requests import seconds_between
from loadgen.analysis.speed import decode_span_s, tpot_s
from loadgen.analysis.statistics.quantiles import min_n, quantile
from loadgen.analysis.window import in_flight_steps
from loadgen.model.table import ABSENT, Floats
from loadgen.units import NS_PER_S

MIN_BLOCKS = 8
"""No order of fewer blocks is significant at 0.1 %."""
MAX_BLOCKS = 30
FULL_BLOCK = 30
SMALL_BLOCK = 10
SLICES_PER_ANSWER = 5
MAX_SLICES = 2000


@dataclass(frozen=True, slots=True)
class Series:
    """Values by block, float64[n_blocks], NaN where nothing came; `up_is_worse` for times."""

    name: str
    unit: str
    values: Floats
    weighs: bool
    up_is_worse: bool


def answer_s(frame: Frame) -> float:
    """Mean seconds from due to end of the good requests; NaN without any.

    Open loads: twice the median decode time where that is less, since a queue that grows all along
    makes answers as long as the run and would hide itself.
    """
    ok = frame.requests.ok & frame.chosen
    took = (frame.requests.end_at_ns[ok] - frame.requests.table.due_at_ns[ok]) / NS_PER_S
    if not len(took):
        return float("nan")
    mean = float(took.mean())
    spans = decode_span_s(frame.requests)[ok]
    spans = spans[np.nan_to_num(spans) > 0]
    if frame.slots is not None or not len(spans):
        return mean
    return min(mean, 2.0 * quantile(spans, 0.5))


def block_count(frame: Frame) -> tuple[int, str]:
    """How many blocks the span splits into, 0 with the reason where it can't be judged."""
    n, unit_s = int(frame.chosen.sum()), answer_s(frame)
    if not unit_s > 0:
        return 0, "no answers to judge by"
    per_block = FULL_BLOCK if n >= MIN_BLOCKS * FULL_BLOCK else SMALL_BLOCK
    if n < MIN_BLOCKS * SMALL_BLOCK:
        return 0, f"{n} requests in the window, {MIN_BLOCKS * SMALL_BLOCK} are needed"
    if frame.span_s < MIN_BLOCKS * unit_s:
        return 0, f"the window is {frame.span_s / unit_s:.1f} answers long, {MIN_BLOCKS} needed"
    return min(MAX_BLOCKS, int(frame.span_s / unit_s), n // per_block), ""


def slice_edges(frame: Frame) -> Floats:
    """Edges of slices of a fifth of a mean answer each, for MSER-5; 2,000 at most."""
    n = min(MAX_SLICES, int(SLICES_PER_ANSWER * frame.span_s / answer_s(frame)))
    n -= n % SLICES_PER_ANSWER
    return np.linspace(frame.start_at_ns, frame.end_at_ns, n + 1)


def out_by_block(frame: Frame, edges: Floats) -> Floats:
    """Output tokens per second of each block."""
    return out_sums(_over(frame, edges), edges) / np.diff(edges) * NS_PER_S


def tpot_by_block(frame: Frame, edges: Floats) -> Floats:
    """Mean TPOT of the requests due in each block, NaN where none was."""
    return _by_due(frame, edges, tpot_s(frame.requests), lambda part: float(part.mean()), 1)


def series_of(frame: Frame, edges: Floats) -> tuple[Series, ...]:
    """All series over the blocks, those that weigh first and the plainest of them first.

    Requests in flight weigh for open loads only (a closed one fixes them); TTFT never does,
    its scatter at high concurrency being structural. Buffered streams have no times.
    """
    out = Series("out_tps", "tok/s", out_by_block(frame, edges), weighs=True, up_is_worse=False)
    busy = Series(
        "in_flight", "req", _in_flight(frame, edges), weighs=frame.slots is None, up_is_worse=True
    )
    if frame.withheld or frame.buffered:
        return out, busy
    requests = frame.requests
    first = np.where(requests.streamed, requests.first_text_at_ns, ABSENT)
    waited = np.where(requests.ok, seconds_between(requests.table.due_at_ns, first), np.nan)
    times = []
    for name, values, weighs in (("tpot_s", tpot_s(requests), True), ("ttft_s", waited, False)):
        for stat, fraction in (("p50", 0.5), ("p90", 0.9)):
            found = _by_due(frame, edges, values, _quantile_of(fraction), min_n(fraction))
            times.append(Series(f"{name}.{stat}", "s", found, weighs, up_is_worse=True))
    return times[0], times[1], out, busy, *times[2:]


def _quantile_of(fraction: float) -> Callable[[Floats], float]:
    return lambda part: quantile(part, fraction)


def _by_due(
    frame: Frame, edges: Floats, values: Floats, statistic: Callable[[Floats], float], least: int
) -> Floats:
    """The statistic of the values due in each block; NaN under `least` of them."""
    due = frame.requests.table.due_at_ns
    bounds = np.searchsorted(due, edges, side="left")
    usable = frame.requests.in_window_phase & ~np.isnan(values)
    found = np.full(len(edges) - 1, np.nan)
    for block in range(len(found)):
        rows = slice(bounds[block], bounds[block + 1])
        part = values[rows][usable[rows]]
        if len(part) >= least:
            found[block] = statistic(part)
    return found


def _in_flight(frame: Frame, edges: Floats) -> Floats:
    """Mean requests in flight of each block."""
    sent = frame.requests.table.sent_at_ns
    rows = sent != ABSENT
    if not rows.any():
        return np.zeros(len(edges) - 1)
    at, level = in_flight_steps(sent[rows], frame.requests.end_at_ns[rows])
    area = np.concatenate([[0.0], np.cumsum(level[:-1] * np.diff(at).astype(np.float64))])
    return np.asarray(np.diff(np.interp(edges, at, area)) / np.diff(edges), dtype=np.float64)


def _over(frame: Frame, edges: Floats) -> Frame:
    return replace(frame, start_at_ns=int(np.ceil(edges[0])), end_at_ns=int(np.floor(edges[-1])))
