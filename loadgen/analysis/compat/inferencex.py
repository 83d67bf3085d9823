"""By the rules of InferenceX's aggregation: a vLLM-derived client for fixed lengths, aiperf's for
replayed sessions; times in seconds, interactivity as the reciprocal of the same statistic.

Source: InferenceX utils/process_result.py and utils/agentic/aggregation, August 2026.
"""

from collections.abc import Sequence
from functools import partial

from loadgen.analysis.compat import aiperf, vllm
from loadgen.analysis.compat.calls import Calls
from loadgen.analysis.compat.figures import Family, one, per_s, rate, reciprocals, spread
from loadgen.model.compat import CompatFigure
from loadgen.model.table import Floats

TOOL = "InferenceX aggregation (August 2026)"
FIXED = ("mean", "median", "std", "p99")
AGENTIC = ("mean", "p50", "p75", "p90", "p95", "std")
NO_GPUS = "needs the number of GPUs: --gpus N"
NO_POWER = "needs power readings of the whole deployment"
NOTES = (
    "times are in seconds although the leaderboard's page labels some of them ms",
    "total throughput counts every prompt token, cached or not",
    "std_intvty is 1 / the standard deviation of TPOT there, which means nothing; it is left out",
)


def figures(calls: Calls) -> list[CompatFigure]:
    """One row of the leaderboard: by replay or by fixed lengths."""
    return _agentic(calls) if calls.replayed else _fixed(calls)


def _fixed(calls: Calls) -> list[CompatFigure]:
    ttft, e2e = vllm.ttft_s(calls), vllm.e2e_s(calls)
    tpot = vllm.tpot_s(calls, ttft, e2e)
    gaps = calls.gaps_s(vllm.event_counted(calls))
    lacking = calls.lacks.get("icl_s", "")
    span_s = vllm.span_of(calls)
    return [
        *_throughput(calls, span_s),
        *_seconds("ttft", calls.among_good(ttft), FIXED, "before the HTTP call to first text"),
        *_speeds(calls.among_good(tpot), "tpot", FIXED, "(E2E - TTFT) / (tokens - 1), a request"),
        *_seconds("itl", gaps, FIXED, "gaps between events, pooled", lacking),
        *_seconds("e2el", calls.among_good(e2e), FIXED, "before the HTTP call to the last event"),
    ]


def _agentic(calls: Calls) -> list[CompatFigure]:
    ttft, latency, itl = aiperf.ttft_s(calls), aiperf.latency_s(calls), aiperf.itl_s(calls)
    span_s = calls.span_s(calls.handed_at_ns, calls.last_text_at_ns, calls.good)
    in_tok, out_tok = calls.sum_of(calls.prompt_tok), calls.sum_of(calls.output_tok)
    return [
        rate("input_tput_tps", "tok/s", in_tok, span_s, "prompt tokens, cached too / duration"),
        rate("output_tput_tps", "tok/s", out_tok, span_s, "output tokens / duration"),
        rate("total_tput_tps", "tok/s", in_tok + out_tok, span_s, "all tokens / duration"),
        one("duration_seconds", "s", span_s, "first start to last end of good requests"),
        *_throughput(calls, span_s),
        *_seconds("ttft", calls.among_good(ttft), AGENTIC, "as aiperf's time to first token"),
        *_seconds("e2el", calls.among_good(latency), AGENTIC, "as aiperf's request latency"),
        *_seconds("itl", calls.among_good(itl), AGENTIC, "as aiperf's inter-token latency"),
        *_speeds(calls.among_good(itl), "tpot", AGENTIC, "the same as itl"),
    ]


def _throughput(calls: Calls, span_s: float) -> list[CompatFigure]:
    """Tokens a second and GPU; energy, which needs what a client can't see."""
    in_tok, out_tok = calls.sum_of(calls.prompt_tok), calls.sum_of(calls.output_tok)
    told = "{} tokens / duration / GPUs"
    return [
        _per_gpu(calls, "tput_per_gpu", in_tok + out_tok, span_s, told.format("all")),
        _per_gpu(calls, "output_tput_per_gpu", out_tok, span_s, told.format("output")),
        _per_gpu(calls, "input_tput_per_gpu", in_tok, span_s, told.format("prompt")),
        one("joules_per_output_token", "J/tok", None, "deployment energy / output tokens", 0,
            NO_POWER),
    ]  # fmt: skip


def _per_gpu(calls: Calls, name: str, tok: float, span_s: float, says: str) -> CompatFigure:
    total, reason = per_s(tok, span_s)
    if calls.gpus is None:
        return one(name, "tok/s/GPU", None, says, reason=NO_GPUS)
    value = None if total is None else total / calls.gpus
    return one(name, "tok/s/GPU", value, says, reason=reason)


def _seconds(
    name: str, values: Floats, stats: Sequence[str], says: str, lacking: str = ""
) -> list[CompatFigure]:
    return spread(Family(values, "s", says, lacking=lacking), stats, partial(_named, name))


def _speeds(values: Floats, name: str, stats: Sequence[str], says: str) -> list[CompatFigure]:
    """Times per token, then the reciprocal of each statistic: p90 is the slow tail."""
    times = _seconds(name, values, stats, says)
    level = [figure for figure in times if not figure.name.startswith("std_")]
    told = "1 / the same statistic of tpot: p90 is the slow tail"
    return [*times, *reciprocals(level, _as_speed, "tok/s/user", told)]


def _as_speed(name: str) -> str:
    return name.replace("tpot", "intvty")


def _named(family: str, stat: str) -> str:
    return f"{stat}_{family}"
