"""By the rules of `guidellm run`, successful requests.

The clock starts when the request's headers are written (pool and connecting outside) and ends when
the stream closes. Distributions of times per token are weighted by tokens; percentiles are
nearest rank. Source: guidellm/schemas, 0.8.1.
"""

from functools import partial

import numpy as np

from loadgen.analysis.compat.calls import Calls
from loadgen.analysis.compat.figures import NONE_HAS_IT, one, rate
from loadgen.analysis.requests import ratio
from loadgen.analysis.statistics.quantiles import quantile
from loadgen.model.compat import CompatFigure
from loadgen.model.table import ABSENT, Floats
from loadgen.units import MS_PER_S

TOOL = "guidellm 0.8.1"
PERCENTS = ("p01", "p05", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "p999")
STATS = ("mean", "median", "std_dev", "min", "max", *PERCENTS)
NOTES = (
    "time_per_output_token_ms has the first token's wait inside; inter_token_latency_ms has not",
    (
        "rates are means over the whole point; guidellm's own percentiles of them are of momentary "
        "rates between stamps and are not made here"
    ),
    "no warm-up or cool-down is cut but our own warm-up requests",
)


def figures(calls: Calls) -> list[CompatFigure]:
    """The benchmark's metrics of successful requests, in its order."""
    tok, in_tok = calls.output_tok, calls.prompt_tok
    span_s = span_of(calls)
    latency = calls.seconds(calls.requests.table.sent_at_ns, calls.done_at_ns)
    total = calls.sum_of(tok) + calls.sum_of(in_tok)
    good, errored = float(calls.good.sum()), float(calls.failed.sum())
    cut = float((calls.rows & calls.requests.cut).sum())
    window = "over the whole point, first send to last end"
    return [
        one("request_totals.successful", "requests", good, "requests that ended well"),
        one("request_totals.errored", "requests", errored, "requests that failed"),
        one("request_totals.incomplete", "requests", cut, "requests cut at the end"),
        rate("requests_per_second.mean", "req/s", good, span_s, f"ended, {window}"),
        rate(
            "request_concurrency.mean",
            "requests",
            calls.sum_of(latency),
            span_s,
            f"mean in flight, {window}",
        ),
        rate("prompt_tokens_per_second.mean", "tok/s", calls.sum_of(in_tok), span_s, window),
        rate("output_tokens_per_second.mean", "tok/s", calls.sum_of(tok), span_s, window),
        rate("tokens_per_second.mean", "tok/s", total, span_s, f"prompt and output, {window}"),
        *_times(calls, latency),
        *_weighted("prompt_token_count", "tok", in_tok, None, calls, "prompt tokens"),
        *_weighted("output_token_count", "tok", tok, None, calls, "output tokens, thinking too"),
    ]


def span_of(calls: Calls) -> float:
    """First send to last end of all measured requests, seconds."""
    return calls.span_s(calls.requests.table.sent_at_ns, calls.done_at_ns, calls.rows)


def _times(calls: Calls, latency: Floats) -> list[CompatFigure]:
    sent, tok = calls.requests.table.sent_at_ns, calls.output_tok
    first, last = calls.first_text_at_ns, calls.last_text_at_ns
    last = np.where(calls.requests.streamed & (last != ABSENT), last, calls.done_at_ns)
    tpot = ratio(calls.seconds(sent, last), tok)
    later = np.where(tok > 1, tok - 1, np.nan)
    itl = ratio(calls.seconds(first, last), later)
    answer = calls.seconds(sent, calls.requests.first_answer_at_ns)
    gone = calls.lacks.get("ttfa_s", "")
    add = partial(_weighted, calls=calls)
    return [
        *add("request_latency", "s", latency, None, says="headers written to the stream closed"),
        *add(
            "time_to_first_token_ms",
            "ms",
            calls.seconds(sent, first),
            None,
            says="headers written to the first token, reasoning too",
        ),
        *add(
            "time_to_first_output_token_ms",
            "ms",
            answer,
            None,
            says="headers written to the first answer token",
            lacking=gone,
        ),
        *add(
            "time_per_output_token_ms",
            "ms",
            tpot,
            tok,
            says="(last token - headers written) / tokens, TTFT inside, weighted by tokens",
        ),
        *add(
            "inter_token_latency_ms",
            "ms",
            itl,
            later,
            says="(last token - first) / (tokens - 1), weighted by tokens - 1",
        ),
    ]


def _weighted(
    name: str,
    unit: str,
    values: Floats,
    weights: Floats | None,
    calls: Calls,
    says: str,
    lacking: str = "",
) -> list[CompatFigure]:
    """The statistics of one quantity over the good requests; `weights` count tokens."""
    seen = calls.good & ~np.isnan(values)
    chosen = values[seen] * (MS_PER_S if unit == "ms" else 1.0)
    counts = None if weights is None else weights[seen]
    n = int(len(chosen) if counts is None else round(float(counts.sum())))
    reason = lacking or ("" if len(chosen) else NONE_HAS_IT)
    return [
        one(
            f"{name}.{stat}",
            unit,
            None if reason else _statistic(chosen, counts, stat),
            says,
            0 if reason else n,
            reason,
        )
        for stat in STATS
    ]


def _statistic(values: Floats, weights: Floats | None, stat: str) -> float:
    mean = float(np.average(values, weights=weights))
    if stat == "mean":
        return mean
    if stat == "std_dev":
        return float(np.sqrt(np.average((values - mean) ** 2, weights=weights)))
    if stat in {"min", "max"}:
        return float(values.min() if stat == "min" else values.max())
    fraction = {"median": 0.5, "p999": 0.999}.get(stat)
    if fraction is None:
        fraction = float(stat[1:]) / 100
    return quantile(values, fraction, weights)
