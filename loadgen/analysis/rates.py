"""Figures of a whole point: tokens and requests per second, shares, concurrency, money.

A rate is what arrived inside the span, by its own time stamp, over the span's length.
"""

from itertools import pairwise

import numpy as np

from loadgen.analysis.allocation import sums_by
from loadgen.analysis.frame import DELIVERING, Frame
from loadgen.analysis.requests import number, seconds_between
from loadgen.analysis.speed import tpot_s
from loadgen.analysis.statistics.distributions import wilson
from loadgen.analysis.statistics.quantiles import (
    LEVEL,
    Estimate,
    Samples,
    batch_rate,
    percentile,
    quantile,
    reciprocal,
)
from loadgen.model.exchange import Outcome
from loadgen.model.table import ABSENT, Flags, Floats, Ints

MTOK = 1e6
EMPTY_SPAN = Estimate(None, 0, reason="no request in the span")


def out_tps(frame: Frame) -> Estimate:
    """Output tokens that arrived in the span, per second."""
    return _rate(frame, _out_sums(frame), _contributing(frame))


def out_peak_tps(frame: Frame) -> Estimate:
    """The best of the equal bins, at least one second long, that tile the span."""
    bins = max(1, int(frame.span_s))
    if frame.span_s <= 0:
        return EMPTY_SPAN
    edges = np.linspace(frame.start_at_ns, frame.end_at_ns, bins + 1)
    sums = out_sums(frame, edges)
    return Estimate(float(sums.max()) / (frame.span_s / bins), bins)


def in_tps_total(frame: Frame) -> Estimate:
    """Prompt tokens, cached or not, of requests whose first token came in the span, per second."""
    rows, tok = frame.prefilled, frame.requests.prompt_tok
    if (missing := int(np.isnan(tok[rows]).sum())) > 0:
        return Estimate(None, int(rows.sum()), reason=f"prompt tokens unknown for {missing}")
    return _rate(frame, _at_first(frame, tok), int(rows.sum()))


def in_tps_uncached(frame: Frame) -> Estimate:
    """The same less what the server says came from its cache; None where it doesn't say."""
    rows, table = frame.prefilled, frame.requests.table
    uncached = number(table.usage_input_tok) - number(table.usage_cached_tok)
    n = int(rows.sum())
    if (missing := int(np.isnan(uncached[rows]).sum())) > 0:
        return Estimate(None, n, reason=f"cached tokens not reported for {missing} of {n}")
    return _rate(frame, _at_first(frame, uncached), n)


def total_tps(frame: Frame) -> Estimate:
    """Output and prompt tokens per second; says little without in:out and cached share."""
    prompt = in_tps_total(frame)
    if prompt.value is None:
        return Estimate(None, prompt.n, reason=prompt.reason)
    sums = _out_sums(frame) + _at_first(frame, frame.requests.prompt_tok)
    return _rate(frame, sums, max(prompt.n, _contributing(frame)))


def in_out_ratio(frame: Frame) -> Estimate:
    """Prompt tokens per output token, by the two rates of this span."""
    prompt, out = in_tps_total(frame), out_tps(frame)
    if prompt.value is None or not out.value:
        return Estimate(None, out.n, reason=prompt.reason or "no output tokens in the span")
    return Estimate(prompt.value / out.value, out.n)


def rps(frame: Frame) -> Estimate:
    """Requests that ended in the span, however they ended, per second."""
    return _ended_rate(frame, frame.ended)


def ok_rps(frame: Frame) -> Estimate:
    """Requests that ended well in the span, per second."""
    return _ended_rate(frame, frame.ended & frame.requests.ok)


def asked_rps(frame: Frame) -> Estimate:
    """Requests that were due in the span, per second."""
    return _rate(frame, _counted(frame, frame.requests.table.due_at_ns), len(frame.requests))


def sent_rps(frame: Frame) -> Estimate:
    """Requests that were sent in the span, per second."""
    return _rate(frame, _counted(frame, frame.requests.table.sent_at_ns), len(frame.requests))


def error_frac(frame: Frame) -> Estimate:
    """Failed among the requests that ended in the span."""
    return _share(frame.requests.failed, frame.ended)


def trunc_frac(frame: Frame) -> Estimate:
    """Truncated among the requests that ended in the span."""
    return _share(frame.requests.outcome_in((Outcome.TRUNCATED,)), frame.ended)


def cached_frac(frame: Frame) -> Estimate:
    """Cached among the prompt tokens of those answers that report both."""
    table = frame.requests.table
    cached, whole = number(table.usage_cached_tok), number(table.usage_input_tok)
    rows = frame.chosen & frame.requests.ok & ~np.isnan(cached) & ~np.isnan(whole)
    total = float(whole[rows].sum())
    if total <= 0:
        return Estimate(None, int(rows.sum()), reason="cached tokens not reported")
    return Estimate(float(cached[rows].sum()) / total, int(rows.sum()))


def in_flight(frame: Frame) -> Estimate:
    """Mean number of requests between sent and end."""
    if frame.span_s <= 0:
        return EMPTY_SPAN
    sent = frame.requests.table.sent_at_ns != ABSENT
    time_ns = clipped_ns(frame)[sent].sum()
    return Estimate(float(time_ns) / (frame.end_at_ns - frame.start_at_ns), int(sent.sum()))


def decode_tps_single(frame: Frame) -> Estimate:
    """Reciprocal of the median TPOT at concurrency 1: the one figure called single stream."""
    if frame.slots != 1:
        load = f"concurrency {frame.slots}" if frame.slots else f"`{frame.load}`"
        return Estimate(None, 0, reason=f"measured at {load}, not at concurrency 1")
    tpot = _median_tpot_s(frame)
    if tpot.value is None:
        return tpot
    return reciprocal(tpot)


def kept_frac(frame: Frame) -> Estimate:
    """Share of the single-stream decode speed that a user of this point keeps, by the medians."""
    tpot, alone = _median_tpot_s(frame), frame.known.single_tpot_s
    if tpot.value is None or alone is None:
        reason = tpot.reason or "no point at concurrency 1 to compare with"
        return Estimate(None, tpot.n, reason=reason)
    return Estimate(alone / tpot.value, tpot.n)


def prefill_tps(frame: Frame) -> Estimate:
    """Median over requests of uncached prompt tokens per second before the first token.

    Single stream only, from send, less the round trip where it is known; the server's own queue
    and tokenising are inside.
    """
    if frame.slots != 1:
        return Estimate(None, 0, reason="only at concurrency 1")
    table, requests = frame.requests.table, frame.requests
    uncached = number(table.usage_input_tok) - number(table.usage_cached_tok)
    first = np.where(requests.streamed, requests.first_text_at_ns, ABSENT)
    took = seconds_between(table.sent_at_ns, first) - (frame.known.rtt_s or 0.0)
    rows = frame.chosen & requests.ok & (np.nan_to_num(took) > 0)
    speed = (uncached[rows] / took[rows])[~np.isnan(uncached[rows])]
    if not len(speed):
        return Estimate(None, 0, reason="cached tokens not reported")
    return Estimate(quantile(speed, 0.5), len(speed))


def usd_per_1m_out(frame: Frame) -> Estimate:
    """US dollars per million output tokens when all cost is put on them, at full use."""
    return _price(frame, out_tps(frame))


def usd_per_1m_total(frame: Frame) -> Estimate:
    """US dollars per million tokens of either kind, at full use."""
    return _price(frame, total_tps(frame))


def out_sums(frame: Frame, edges: Floats) -> Floats:
    """Output tokens by the bin they arrived in; bins tile the frame's span or part of it."""
    return _event_sums(frame, edges) + _spread_sums(frame, edges)


def clipped_ns(frame: Frame) -> Ints:
    """Time that each request was in flight inside the span, ns."""
    start = np.maximum(frame.requests.table.sent_at_ns, frame.start_at_ns)
    stay = np.minimum(frame.requests.end_at_ns, frame.end_at_ns) - start
    return np.asarray(np.maximum(stay, 0), dtype=np.int64)


def _rate(frame: Frame, sums: Floats, n: int) -> Estimate:
    if frame.span_s <= 0:
        return EMPTY_SPAN
    value = float(sums.sum()) / frame.span_s
    found = batch_rate(sums, frame.span_s / len(sums)) if frame.steady else None
    if found is None:
        return Estimate(value, n)
    low, high, how = found
    return Estimate(value, n, min(low, value), max(high, value), how)


def _delivering(frame: Frame) -> Flags:
    return frame.requests.outcome_in(DELIVERING)


def _contributing(frame: Frame) -> int:
    """Requests that were in flight in the span and deliver."""
    return int((_delivering(frame) & (clipped_ns(frame) > 0)).sum())


def _out_sums(frame: Frame) -> Floats:
    return out_sums(frame, frame.batch_edges_ns)


def _event_sums(frame: Frame, edges: Floats) -> Floats:
    """Tokens of streamed answers by the bin they arrived in."""
    requests = frame.requests
    counts = (_delivering(frame) & requests.streamed)[requests.event_row]
    at = requests.table.event_at_ns
    inside = counts & frame.contains(at)
    bin_of = np.minimum(np.searchsorted(edges, at[inside], side="right") - 1, len(edges) - 2)
    return sums_by(bin_of, requests.event_tok[inside], len(edges) - 1)


def _spread_sums(frame: Frame, edges: Floats) -> Floats:
    """Tokens of answers without a stream, spread evenly from sent to end (no stamps to go by)."""
    requests, sums = frame.requests, np.zeros(len(edges) - 1)
    rows = _delivering(frame) & ~requests.streamed & (requests.table.sent_at_ns != ABSENT)
    if not rows.any():
        return sums
    start, end = requests.table.sent_at_ns[rows], requests.end_at_ns[rows]
    speed = np.nan_to_num(requests.output_tok[rows]) / np.maximum(end - start, 1)
    for number_of, (low, high) in enumerate(pairwise(edges)):
        inside = np.maximum(np.minimum(end, high) - np.maximum(start, low), 0)
        sums[number_of] = float((inside * speed).sum())
    return sums


def _at_first(frame: Frame, tok: Floats) -> Floats:
    return frame.batch_sums(frame.first_at_ns, np.nan_to_num(tok))


def _counted(frame: Frame, at_ns: Ints) -> Floats:
    return frame.batch_sums(at_ns, np.ones(len(at_ns)))


def _ended_rate(frame: Frame, rows: Flags) -> Estimate:
    return _rate(frame, _counted(frame, frame.requests.end_at_ns[rows]), int(rows.sum()))


def _share(part: Flags, whole: Flags) -> Estimate:
    n, k = int(whole.sum()), int((part & whole).sum())
    if n == 0:
        return Estimate(None, 0, reason="no request ended in the span")
    return Estimate(k / n, n, *wilson(k, n, LEVEL), "95 %, Wilson")


def _median_tpot_s(frame: Frame) -> Estimate:
    if frame.withheld:
        return Estimate(None, 0, reason=frame.withheld)
    values = tpot_s(frame.requests)[frame.chosen & frame.requests.ok]
    return percentile(Samples(values[~np.isnan(values)]), 0.5)


def _price(frame: Frame, rate: Estimate) -> Estimate:
    usd_per_s = frame.known.usd_per_s
    if usd_per_s is None or not rate.value:
        return Estimate(None, rate.n, reason=rate.reason or "no price was given")
    return reciprocal(rate, usd_per_s * MTOK)
