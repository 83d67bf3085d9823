"""What a replay amounts to: figures by the rules of published AgentX points, under their own names.

Over the successful requests of the profiling; percentiles are linear over requests, as there.
Source: docs/howto-agentx.md.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from loadgen.analysis.energy import energy_of
from loadgen.analysis.findings.facts import PointFacts
from loadgen.analysis.replay.comparable import coverage, not_comparable, overflowed
from loadgen.analysis.replay.pace import replay_pace
from loadgen.analysis.replay.prefix_hits import designed_hit
from loadgen.analysis.requests import Requests, number, seconds_between
from loadgen.analysis.statistics.quantiles import min_n
from loadgen.analysis.window import in_flight_steps
from loadgen.model.plan import Plan
from loadgen.model.summary import AgentRow, DepthRow, ReplaySummary
from loadgen.model.table import ABSENT, Flags, Floats
from loadgen.units import NS_PER_S, S_PER_H

PERCENTS = (50, 75, 90, 95)
DEPTHS = (0, 1, 2, 4, 8, 16, 32, 64, 128)
"""First turn of each row; a row ends where the next begins."""
ROOT = "root"
SUBAGENTS = 50
"""A corpus has thousands; those with most requests are told one by one."""


def replay_summary(facts: PointFacts) -> ReplaySummary | None:
    """The figures of one replayed point; None where none of its requests ended well."""
    requests, rules = facts.requests, facts.recording.plan.replay
    rows = requests.in_window_phase & requests.ok
    if rules is None or not rows.any():
        return None
    table, withheld = requests.table, facts.frame.withheld
    itl_s, ttft_s = itl_of(requests, withheld), ttft_of(requests, withheld)
    per_tok = (requests.last_text_at_ns - table.sent_at_ns) / NS_PER_S / requests.output_tok
    input_tok = _sum(number(table.usage_input_tok)[rows])
    cached_tok = _sum(number(table.usage_cached_tok)[rows])
    output_tok = _sum(requests.output_tok[rows])
    computed_tok = None if input_tok is None or cached_tok is None else input_tok - cached_tok
    total_tok = None if input_tok is None or output_tok is None else input_tok + output_tok
    span_s = float(requests.end_at_ns[rows].max() - table.sent_at_ns[rows].min()) / NS_PER_S
    plays, finished = _plays(requests, requests.in_window_phase), _finished(requests)
    fan_out_mean, fan_out_most, idle_frac = _in_flight(requests)
    return ReplaySummary(
        point=facts.plan.index,
        requests=int(rows.sum()),
        span_s=span_s,
        itl_s={f"p{p}": _percentile(itl_s[rows], p) for p in PERCENTS},
        intvty_tps={f"p{p}": _inverse(_percentile(itl_s[rows], p)) for p in PERCENTS},
        e2e_norm_tps={f"p{p}": _inverse(_percentile(per_tok[rows], p)) for p in PERCENTS},
        input_tok=input_tok,
        cached_tok=cached_tok,
        output_tok=output_tok,
        hit_designed=designed_hit(requests, rows),
        hit_measured=_ratio(cached_tok, input_tok),
        drift_frac=_drift(requests, rows),
        depths=tuple(_depths(requests, rows, ttft_s)),
        agents=tuple(_agents(requests, rows, itl_s, ttft_s)),
        subagents=tuple(_subagents(requests, rows, itl_s, ttft_s)),
        fan_out_mean=fan_out_mean,
        fan_out_most=fan_out_most,
        fan_out=tuple(fan_out(requests)),
        idle_frac=idle_frac,
        sessions=len(plays),
        recycled=sum(play > 0 for _, play in plays),
        finished=finished,
        usd_per_session=_ratio(_price_usd(facts.recording.plan, span_s), float(finished)),
        joules_per_session=_ratio(_joules(facts), float(finished)),
        traces=len({str(name) for name in table.prompt_id[requests.in_window_phase]}),
        coverage_frac=coverage(requests, rules),
        not_comparable=tuple(not_comparable(facts)),
        total_tps=_ratio(total_tok, span_s),
        computed_tps=_ratio(computed_tok, span_s),
        output_tps=_ratio(output_tok, span_s),
        withheld=withheld,
        pace=replay_pace(facts.health),
    )


def itl_of(requests: Requests, withheld: str = "") -> Floats:
    """(last event with text - first) / (output tokens - 1), seconds.

    NaN under two tokens, where no stream came, and where latencies are withheld.
    """
    span_s = seconds_between(requests.first_text_at_ns, requests.last_text_at_ns)
    has = requests.streamed & (requests.output_tok >= 2) & (not withheld)
    return np.where(has, span_s / np.where(has, requests.output_tok - 1, 1.0), np.nan)


def ttft_of(requests: Requests, withheld: str = "") -> Floats:
    """First event with text - sent, seconds; NaN where no stream came or latencies are withheld."""
    ttft_s = seconds_between(requests.table.sent_at_ns, requests.first_text_at_ns)
    return np.where(requests.streamed & (not withheld), ttft_s, np.nan)


def _plays(requests: Requests, rows: Flags) -> set[tuple[str, int]]:
    """(lane, which of its plays) of these requests' sessions."""
    names = {str(name).rpartition("-") for name in requests.table.session_id[rows]}
    return {(lane, int(play)) for lane, _, play in names if play.isdigit()}


def _finished(requests: Requests) -> int:
    """Plays whose lane went on to the next one, and that no refusal ended."""
    plays = _plays(requests, requests.in_window_phase)
    broken = _plays(requests, overflowed(requests))
    return sum((lane, play + 1) in plays for lane, play in plays - broken)


def _price_usd(plan: Plan, span_s: float) -> float | None:
    """What the declared GPUs cost in that time; None where no price was given."""
    per_hour = plan.prices.get("gpu_usd_per_h")
    return None if per_hour is None else per_hour * plan.prices.get("gpus", 1.0) * span_s / S_PER_H


def _joules(facts: PointFacts) -> float | None:
    """Energy of the profiling; None where none is known."""
    energy = energy_of(facts.frame, facts.plan.index)
    return None if energy is None else energy.joules


def _depths(requests: Requests, rows: Flags, ttft_s: Floats) -> Iterator[DepthRow]:
    """Requests and time to first token by turn of the root's conversation."""
    table = requests.table
    root = rows & (table.stream == ROOT)
    for low, high in zip(DEPTHS, (*DEPTHS[1:], None), strict=True):
        chosen = root & (table.turn_no >= low)
        if high is not None:
            chosen &= table.turn_no < high
        if chosen.any():
            p50, p90 = (_percentile(ttft_s[chosen], p) for p in (50, 90))
            tok = number(table.usage_input_tok)[chosen]
            last = None if high is None else high - 1
            yield DepthRow(low, last, int(chosen.sum()), p50, p90, _median(tok))


def _agents(requests: Requests, rows: Flags, itl_s: Floats, ttft_s: Floats) -> Iterator[AgentRow]:
    """The main agents and the subagents, each as one row."""
    is_root = requests.table.stream == ROOT
    for name, kind in (("main agents", is_root), ("subagents", ~is_root)):
        if (rows & kind).any():
            yield _agent(name, requests, rows & kind, itl_s, ttft_s)


def _subagents(
    requests: Requests, rows: Flags, itl_s: Floats, ttft_s: Floats
) -> Iterator[AgentRow]:
    """Each recorded subagent over all its plays, the one with most requests first."""
    table = requests.table
    chosen = np.flatnonzero(rows & (table.stream != ROOT))
    by_name: dict[str, list[int]] = {}
    for row in chosen.tolist():
        by_name.setdefault(f"{table.prompt_id[row]}/{table.stream[row]}", []).append(row)
    busiest = sorted(by_name.items(), key=lambda item: (-len(item[1]), item[0]))
    for name, numbers in busiest[:SUBAGENTS]:
        own = np.zeros(len(requests), dtype=bool)
        own[numbers] = True
        yield _agent(name, requests, own, itl_s, ttft_s)


def _agent(name: str, requests: Requests, chosen: Flags, itl_s: Floats, ttft_s: Floats) -> AgentRow:
    table = requests.table
    return AgentRow(
        name=name,
        streams=len(set(zip(table.session_id[chosen], table.stream[chosen], strict=True))),
        requests=int(chosen.sum()),
        ttft_p50_s=_percentile(ttft_s[chosen], 50),
        intvty_p90_tps=_inverse(_percentile(itl_s[chosen], 90)),
        input_tok=_sum(number(table.usage_input_tok)[chosen]),
        output_tok=_sum(requests.output_tok[chosen]),
    )


def _flying(requests: Requests) -> Flags:
    """Requests of the profiling that were sent, however they ended."""
    return np.asarray(requests.in_window_phase & (requests.table.sent_at_ns != ABSENT))


def _in_flight(requests: Requests) -> tuple[float, int, float]:
    """Requests in flight on average and at most, and the share of time with none."""
    rows = _flying(requests)
    at, level = in_flight_steps(requests.table.sent_at_ns[rows], requests.end_at_ns[rows])
    widths = np.diff(at).astype(np.float64)
    span = float(widths.sum())
    if span <= 0:
        return 0.0, int(level.max(initial=0)), 0.0
    mean = float((level[:-1] * widths).sum()) / span
    return mean, int(level.max()), float(widths[level[:-1] == 0].sum()) / span


def fan_out(requests: Requests, parts: int = 20) -> list[float]:
    """Requests in flight on average over equal parts of the profiling, in order."""
    rows = _flying(requests)
    sent, ended = requests.table.sent_at_ns[rows], requests.end_at_ns[rows]
    edges = np.linspace(float(sent.min()), float(ended.max()), parts + 1)
    width = max(edges[1] - edges[0], 1.0)
    return [
        float(np.clip(np.minimum(ended, high) - np.maximum(sent, low), 0, None).sum() / width)
        for low, high in pairwise(edges)
    ]


def _drift(requests: Requests, rows: Flags) -> float | None:
    """Served prompt tokens over designed ones, less 1."""
    designed = number(requests.table.input_tok)
    served = number(requests.table.usage_input_tok)
    both = rows & ~np.isnan(designed) & ~np.isnan(served)
    ratio = _ratio(_sum(served[both]), _sum(designed[both]))
    return None if ratio is None else ratio - 1.0


def _sum(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.sum()) if len(known) else None


def _ratio(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole


def _median(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else None


def _percentile(values: Floats, percent: int) -> float | None:
    """Linear between requests; None where there are too few for an interval of it."""
    known = values[~np.isnan(values)]
    enough = len(known) >= min_n(percent / 100)
    return float(np.percentile(known, percent)) if enough else None


def _inverse(value: float | None) -> float | None:
    return None if not value else 1.0 / value
