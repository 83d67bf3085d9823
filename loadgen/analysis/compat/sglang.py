"""By the rules of `sglang bench_serving`, chat backend.

The clock starts before the HTTP call and ends at the last line of the stream, `[DONE]` included.
Tool calls are no text to it. Source: sglang/benchmark, 0.5.23.
"""

from functools import partial

import numpy as np

from loadgen.analysis.compat.calls import Calls
from loadgen.analysis.compat.figures import Family, one, rate, spread
from loadgen.analysis.requests import ratio
from loadgen.model.compat import CompatFigure
from loadgen.model.record import EventKind
from loadgen.units import MS_PER_S

TOOL = "sglang bench_serving 0.5.23"
LATENCY = ("mean", "median", "std", "p99")
GAPS = ("mean", "median", "std", "p95", "p99", "max")
NOTES = (
    "tool calls stop no clock: a request that only calls tools has TTFT 0 there and none here",
    "sglang splits gaps by acceptance length where it knows one; here a gap stays a gap",
)
TEXT = (EventKind.CONTENT, EventKind.REASONING)


def figures(calls: Calls) -> list[CompatFigure]:
    """The result line's figures, in its order."""
    span_s = calls.span_s(calls.handed_at_ns, calls.done_at_ns, calls.rows)
    in_tok, out_tok = calls.sum_of(calls.prompt_tok), calls.sum_of(calls.output_tok)
    good = float(calls.good.sum())
    return [
        one("duration", "s", span_s, "first send to last end of the measured requests"),
        one("completed", "requests", good, "requests that ended well"),
        one("total_input", "tok", in_tok, "prompt tokens of completed requests"),
        one("total_output", "tok", out_tok, "output tokens by usage, reasoning included"),
        _retokenised(calls),
        rate("request_throughput", "req/s", good, span_s, "completed / duration"),
        rate("input_throughput", "tok/s", in_tok, span_s, "prompt tokens / duration"),
        rate("output_throughput", "tok/s", out_tok, span_s, "output tokens / duration"),
        rate("total_throughput", "tok/s", in_tok + out_tok, span_s, "all tokens / duration"),
        *_latencies(calls, span_s),
    ]


def _latencies(calls: Calls, span_s: float) -> list[CompatFigure]:
    texts = calls.event_kind_in(*TEXT)
    ttft = calls.seconds(calls.handed_at_ns, calls.first_of(texts))
    e2e = calls.seconds(calls.handed_at_ns, calls.done_at_ns)
    ttft = np.where(calls.requests.streamed, ttft, e2e)
    tpot = ratio(e2e - ttft, np.where(calls.output_tok > 1, calls.output_tok - 1, np.nan))
    told = {
        "ttft": (calls.among_good(ttft), LATENCY, "before the HTTP call to the first text", ""),
        "tpot": (
            calls.among_good(tpot),
            LATENCY,
            "(end to end - TTFT) / (output tokens - 1), a request",
            "",
        ),
        "itl": (
            calls.gaps_s(texts),
            GAPS,
            "gaps between events with text, pooled",
            calls.lacks.get("icl_s", ""),
        ),
        "e2e_latency": (
            calls.among_good(e2e),
            LATENCY,
            "before the HTTP call to the last line of the stream, [DONE] included",
            "",
        ),
    }
    found: list[CompatFigure] = []
    for name, (values, stats, definition, lacking) in told.items():
        family = Family(values, "ms", definition, MS_PER_S, lacking)
        found += spread(family, stats, partial(_named, name))
    busy = rate(
        "concurrency", "requests", calls.sum_of(e2e), span_s, "sum of end-to-end times / duration"
    )
    return [*found, busy]


def _retokenised(calls: Calls) -> CompatFigure:
    """Output tokens by the client's own tokenizer."""
    name = "total_output_retokenized"
    definition = "output tokens as a tokenizer of the client's counts the text"
    counted = calls.among_good(calls.retokenised_tok)
    if not len(counted) or len(counted) < calls.good.sum():
        return one(name, "tok", None, definition, reason="needs a run with --tokenizer")
    return one(name, "tok", float(counted.sum()), definition, len(counted))


def _named(family: str, stat: str) -> str:
    return f"{stat}_{family}_ms"
