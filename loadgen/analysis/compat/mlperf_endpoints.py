"""By the rules of MLPerf Endpoints' client (`inference-endpoint`): shaped as its report, never one.

The clock starts when the request is handed over and ends when it completes. Source:
inference_endpoint/metrics/report.py, mlcommons/endpoints of August 2026.
"""

from functools import partial

import numpy as np

from loadgen.analysis.compat.calls import Calls
from loadgen.analysis.compat.figures import Family, one, per_s, reciprocals, spread
from loadgen.analysis.requests import ratio
from loadgen.analysis.speed import first_event_tok
from loadgen.analysis.window import slots_of
from loadgen.model.compat import CompatFigure
from loadgen.model.table import ABSENT, Floats
from loadgen.units import MS_PER_S, NS_PER_S

TOOL = "MLPerf Endpoints client 0.1.0 (August 2026)"
LABEL = "unverified, not an MLPerf result"
STATS = (
    "min", "max", "median", "avg", "std_dev",
    "p50", "p75", "p80", "p90", "p95", "p97", "p99", "p99.9",
)  # fmt: skip
NOTES = (
    (
        "an MLPerf result also needs MLCommons' rules and review: named points and durations, "
        "an accuracy run on the same instance, audited counting"
    ),
    "their file holds ns, and percentiles out of a histogram; here they are ms and exact",
    (
        "they count output tokens with a reference tokenizer only: give --tokenizer to a run, else "
        "the server's usage stands in"
    ),
)


def figures(calls: Calls) -> list[CompatFigure]:
    """The report's figures, in its order."""
    tok = tokens(calls)
    latency = calls.seconds(calls.handed_at_ns, calls.done_at_ns)
    ttft = calls.seconds(calls.handed_at_ns, calls.first_text_at_ns)
    after = tok - first_event_tok(calls.requests)
    tpot = ratio(
        calls.seconds(calls.first_text_at_ns, calls.done_at_ns), np.where(after > 0, after, np.nan)
    )
    families = {
        "ttft": _ms(calls.among_good(ttft), "handed over to the first event with text"),
        "tpot": _ms(
            calls.among_good(tpot), "(completion - first event) / tokens after the first event"
        ),
        "latency": _ms(calls.among_good(latency), "handed over to completion"),
    }
    found: dict[str, list[CompatFigure]] = {}
    for name, family in families.items():
        found[name] = spread(family, STATS, partial(_named, name))
    lengths = Family(calls.among_good(tok), "tok", "output tokens of a request", ddof=1)
    slow = [figure for figure in found["tpot"] if figure.name == "tpot.p90"]
    speed = reciprocals(
        slow, lambda _: "interactivity.p90", "tok/s/user", "1000 / tpot.p90", MS_PER_S
    )
    return [
        *_totals(calls, tok),
        *found["ttft"],
        *found["tpot"],
        *speed,
        *found["latency"],
        *spread(lengths, STATS, partial(_named, "output_sequence_lengths")),
        one(
            "tps_per_kw",
            "tok/s/kW",
            None,
            "output tokens / provisioned power of the system",
            reason="needs the provisioned power of the system, which a client can't see",
        ),
        one(
            "accuracy",
            "score",
            None,
            "the task's score on the same instance",
            reason="needs their accuracy data set; not measured by a load test",
        ),
    ]


def tokens(calls: Calls) -> Floats:
    """Output tokens: a tokenizer's count, else the server's."""
    own = calls.retokenised_tok
    return np.where(np.isnan(own), calls.output_tok, own)


def _totals(calls: Calls, tok: Floats) -> list[CompatFigure]:
    n, issued = int(calls.good.sum()), int((~calls.requests.warmup).sum())
    whole_s = calls.span_s(calls.handed_at_ns, calls.done_at_ns, calls.rows)
    window_s, rule, completions = whole_s, "first issue to last completion", n
    if slots_of(calls.load) is None and calls.span_told_s is None and n >= 2:
        window_s, completions = _scheduled_window_s(calls), n - 1
        rule = "scheduled arrivals: first issue to the completion of the last issued"
    qps, no_qps = per_s(float(completions), window_s)
    tps, no_tps = per_s(calls.sum_of(tok), window_s)
    counted = "completed requests" if completions == n else "completed requests less one"
    return [
        one("n_samples_issued", "requests", float(issued), "measured requests that were due"),
        one("n_samples_completed", "requests", float(n), "requests that ended well"),
        one("n_samples_failed", "requests", float(calls.failed.sum()), "requests that failed"),
        one("duration", "s", whole_s, "first issue to last completion"),
        one("qps", "req/s", qps, f"{counted} / window ({rule})", n, no_qps),
        one("tps", "tok/s", tps, f"output tokens / window ({rule})", n, no_tps),
    ]


def _scheduled_window_s(calls: Calls) -> float:
    """First issue to the completion of the request issued last, seconds."""
    good = np.flatnonzero(calls.good)
    last = good[np.argmax(calls.handed_at_ns[good])]
    start = calls.handed_at_ns[calls.rows & (calls.handed_at_ns != ABSENT)].min()
    return float(calls.done_at_ns[last] - start) / NS_PER_S


def _ms(values: Floats, definition: str) -> Family:
    return Family(values, "ms", definition, MS_PER_S, ddof=1)


def _named(family: str, stat: str) -> str:
    return f"{family}.{stat}"
