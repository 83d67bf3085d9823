"""By the rules of `vllm bench serve`.

The clock starts before the HTTP call and ends at the last event that carries a choice: text, or
the finish reason alone. Every event counts as one step. Source: vllm/benchmarks, 0.33.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

from loadgen.analysis.compat.calls import Calls
from loadgen.analysis.compat.figures import Family, one, rate, spread
from loadgen.analysis.requests import ratio
from loadgen.model.compat import CompatFigure
from loadgen.model.record import EventKind
from loadgen.model.table import Flags, Floats, Ints
from loadgen.units import MS_PER_S, NS_PER_S

TOOL = "vllm bench serve 0.33"
STATS = ("mean", "median", "std", "p50", "p90", "p95", "p99")
NOTES = (
    (
        "where the server says `reasoning_content`, the thinking is not seen: TTFT and ITL "
        "start at the answer"
    ),
    "vllm prints 0 where no request has a figure; here it is absent",
    "releases before 0.33 also count the role event as the first token",
)


def figures(calls: Calls) -> list[CompatFigure]:
    """The result file's figures, in its order."""
    ttft, e2e = ttft_s(calls), e2e_s(calls)
    tpot = tpot_s(calls, ttft, e2e)
    span_s = span_of(calls)
    in_tok, out_tok = calls.sum_of(calls.prompt_tok), calls.sum_of(calls.output_tok)
    good = float(calls.good.sum())
    told = "first send to last end of the measured requests, ramp and drain inside, warm-up out"
    found = [
        one("duration", "s", span_s, told),
        one("completed", "requests", good, "requests that ended well"),
        one("failed", "requests", float(calls.failed.sum()), "requests that failed"),
        one("total_input_tokens", "tok", in_tok, "prompt tokens of completed requests"),
        one("total_output_tokens", "tok", out_tok, "output tokens by usage, reasoning included"),
        rate(
            "request_throughput", "req/s", float(calls.good.sum()), span_s, "completed / duration"
        ),
        rate("output_throughput", "tok/s", out_tok, span_s, "output tokens / duration"),
        rate("total_token_throughput", "tok/s", in_tok + out_tok, span_s, "all tokens / duration"),
        *_peaks(calls, e2e),
    ]
    return found + latencies(calls, ttft, tpot, e2e)


def latencies(calls: Calls, ttft: Floats, tpot: Floats, e2e: Floats) -> list[CompatFigure]:
    """The four families, ms."""
    counted = event_counted(calls)
    families = {
        "ttft": _ms(calls.among_good(ttft), "before the HTTP call to the first event with text"),
        "tpot": _ms(calls.among_good(tpot), "(end to end - TTFT) / (output tokens - 1), a request"),
        "itl": _ms(
            calls.gaps_s(counted),
            "gaps between events, pooled; several tokens in one event are one gap, the finish "
            "event makes one too",
            calls.lacks.get("icl_s", ""),
        ),
        "e2el": _ms(calls.among_good(e2e), "before the HTTP call to the last event with a choice"),
    }
    found: list[CompatFigure] = []
    for name, family in families.items():
        found += spread(family, STATS, partial(_named, name))
    return found


def event_counted(calls: Calls) -> Flags:
    """Events that count as output: text that vLLM's client sees, and the finish event."""
    seen = [EventKind.CONTENT, EventKind.TOOL]
    if calls.reasoning_field != "reasoning_content":
        seen.append(EventKind.REASONING)
    return calls.event_kind_in(*seen) | calls.event_closing


def ttft_s(calls: Calls) -> Floats:
    """Handed over to the first counted event, seconds."""
    return calls.seconds(calls.handed_at_ns, calls.first_of(event_counted(calls)))


def e2e_s(calls: Calls) -> Floats:
    """Handed over to the last counted event, seconds; to the end of an unstreamed answer."""
    return calls.seconds(calls.handed_at_ns, _end_at_ns(calls))


def tpot_s(calls: Calls, ttft: Floats, e2e: Floats) -> Floats:
    """(E2E - TTFT) / (output tokens - 1), seconds; NaN for a single token."""
    return ratio(e2e - ttft, np.where(calls.output_tok > 1, calls.output_tok - 1, np.nan))


def span_of(calls: Calls) -> float:
    """First handing over to last counted event of all measured requests, seconds."""
    end = np.where(calls.requests.ok, _end_at_ns(calls), calls.done_at_ns)
    return calls.span_s(calls.handed_at_ns, end, calls.rows)


def _end_at_ns(calls: Calls) -> Ints:
    return np.where(calls.requests.streamed, calls.last_of(event_counted(calls)), calls.done_at_ns)


def _ms(values: Floats, definition: str, lacking: str = "") -> Family:
    return Family(values, "ms", definition, MS_PER_S, lacking)


def _named(family: str, stat: str) -> str:
    return f"{stat}_{family}_ms"


def _peaks(calls: Calls, e2e: Floats) -> Sequence[CompatFigure]:
    """The best second by events, and the second that most requests touch."""
    events = "most events in one second of the run, an event counted as one token"
    touch = "most requests that touch one second of the run"
    start = calls.handed_at_ns[calls.good]
    lacking = calls.lacks.get("icl_s", "")
    if not len(start) or np.isnan(calls.among_good(e2e)).all():
        reason = "no request ended well"
        return [
            one("max_output_tokens_per_s", "tok/s", None, events, reason=reason),
            one("max_concurrent_requests", "requests", None, touch, reason=reason),
        ]
    zero = int(start.min())
    index = np.flatnonzero(event_counted(calls) & calls.good[calls.requests.event_row])
    bins = (calls.requests.table.event_at_ns[index] - zero) // NS_PER_S
    first = (start - zero) // NS_PER_S
    ends = _end_at_ns(calls)[calls.good]
    last = np.maximum((ends - zero) // NS_PER_S, first)
    change = np.zeros(int(last.max()) + 2)
    np.add.at(change, first, 1)
    np.add.at(change, last + 1, -1)
    most = float(np.bincount(bins).max()) if len(bins) else 0.0
    return [
        one("max_output_tokens_per_s", "tok/s", None if lacking else most, events, reason=lacking),
        one("max_concurrent_requests", "requests", float(np.cumsum(change).max()), touch),
    ]
