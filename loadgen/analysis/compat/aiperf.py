"""By the rules of `aiperf profile`.

The clock starts before the HTTP call (its pool and connecting inside) and ends at the last event
with content. Source: aiperf/metrics, 0.13.
"""

from functools import partial

import numpy as np

from loadgen.analysis.compat.calls import Calls
from loadgen.analysis.compat.figures import Family, one, rate, spread
from loadgen.analysis.requests import ratio
from loadgen.model.compat import CompatFigure
from loadgen.model.table import Floats
from loadgen.units import MS_PER_S

TOOL = "aiperf 0.13"
STATS = ("avg", "min", "max", "p99", "p95", "p90", "p75", "p50", "p25", "p10", "p5", "p1", "std")
NOTES = (
    "tokens are a local tokenizer's where one counted, as by default there, else the server's",
    (
        "inter_token_latency is one value a request; its first event counts as one token unless "
        "aiperf was told to ask for usage by chunk"
    ),
)


def figures(calls: Calls) -> list[CompatFigure]:
    """The export's records and sums, in the order of its console."""
    tok, in_tok = osl_tok(calls), calls.prompt_tok
    span_s = span_of(calls)
    lasted_s = calls.seen_span_s(calls.handed_at_ns, calls.last_text_at_ns, calls.good)
    good, failed = float(calls.good.sum()), float(calls.failed.sum())
    total = calls.sum_of(tok) + calls.sum_of(in_tok)
    share = 100.0 * failed / (good + failed) if good + failed else None
    return [
        *_latencies(calls, tok),
        *_lengths(calls, tok, in_tok),
        _rate("output_token_throughput", calls.sum_of(tok), span_s, "output tokens"),
        _rate("input_token_throughput", calls.sum_of(in_tok), span_s, "prompt tokens"),
        _rate("total_token_throughput", total, span_s, "prompt and output tokens"),
        rate("request_throughput", "req/s", good, span_s, "good requests / profiling phase"),
        one("request_count", "requests", good, "requests that ended well"),
        one("error_request_count", "requests", failed, "requests that failed"),
        one("request_error_rate", "%", share, "failed of good and failed", reason=_unless(share)),
        one("benchmark_duration", "s", lasted_s, "first send to last content of good requests"),
    ]


def osl_tok(calls: Calls) -> Floats:
    """Output tokens of a request: a local tokenizer's count, else the server's."""
    own = calls.retokenised_tok
    return np.where(np.isnan(own), calls.output_tok, own)


def ttft_s(calls: Calls) -> Floats:
    """Handed over to the first event with content of any channel, seconds."""
    return calls.seconds(calls.handed_at_ns, calls.first_text_at_ns)


def latency_s(calls: Calls) -> Floats:
    """Handed over to the last event with content, seconds."""
    return calls.seconds(calls.handed_at_ns, calls.last_text_at_ns)


def itl_s(calls: Calls) -> Floats:
    """(latency - TTFT) / (tokens - 1), seconds; NaN under two tokens."""
    tok = osl_tok(calls)
    return ratio(latency_s(calls) - ttft_s(calls), np.where(tok >= 2, tok - 1, np.nan))


def span_of(calls: Calls) -> float:
    """The profiling phase that rates are over: first due to last end, seconds."""
    return calls.span_s(calls.requests.table.due_at_ns, calls.done_at_ns, calls.rows)


def _latencies(calls: Calls, tok: Floats) -> list[CompatFigure]:
    ttft, latency, itl = ttft_s(calls), latency_s(calls), itl_s(calls)
    first_answer = calls.seconds(calls.handed_at_ns, calls.requests.first_answer_at_ns)
    gone = {name: calls.lacks.get(name, "") for name in ("ttfa_s", "icl_s")}
    speed = ratio(np.ones(len(itl)), itl)
    texts = calls.requests.event_has_text
    families = {
        "time_to_first_token": _ms(
            calls.among_good(ttft), "before the HTTP call to the first content, reasoning too"
        ),
        "time_to_first_output_token": _ms(
            calls.among_good(first_answer),
            "before the HTTP call to the first answer text or tool call",
            gone["ttfa_s"],
        ),
        "request_latency": _ms(
            calls.among_good(latency), "before the HTTP call to the last content"
        ),
        "inter_token_latency": _ms(
            calls.among_good(itl), "(latency - TTFT) / (output tokens - 1), a request"
        ),
        "inter_chunk_latency": _ms(
            calls.gaps_s(texts), "gaps between events with content, pooled", gone["icl_s"]
        ),
        "output_token_throughput_per_user": Family(
            calls.among_good(speed), "tok/s/user", "1 / inter_token_latency, a request"
        ),
        "e2e_output_token_throughput": Family(
            calls.among_good(ratio(tok, latency)), "tok/s/user", "tokens / latency, a request"
        ),
    }
    found: list[CompatFigure] = []
    for name, family in families.items():
        found += spread(family, STATS, partial(_named, name))
    return found


def _lengths(calls: Calls, tok: Floats, in_tok: Floats) -> list[CompatFigure]:
    out = Family(calls.among_good(tok), "tok", "output tokens of a request, reasoning included")
    prompt = Family(calls.among_good(in_tok), "tok", "prompt tokens of a request")
    return [
        *spread(out, STATS, partial(_named, "output_sequence_length")),
        *spread(prompt, STATS, partial(_named, "input_sequence_length")),
    ]


def _rate(name: str, total: float, span_s: float, what: str) -> CompatFigure:
    return rate(name, "tok/s", total, span_s, f"{what} / profiling phase, first due to last end")


def _ms(values: Floats, definition: str, lacking: str = "") -> Family:
    return Family(values, "ms", definition, MS_PER_S, lacking)


def _named(family: str, stat: str) -> str:
    return f"{family}.{stat}"


def _unless(value: float | None) -> str:
    return "" if value is not None else "no request ended"
