"""What a replay amounts to: figures by the rules of published AgentX points, under their own names.

Over the successful requests of the profiling; percentiles are linear over requests, as there.
Source: docs/howto-agentx.md.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from loadgen.analysis.facts import PointFacts
from loadgen.analysis.requests import Requests
from loadgen.analysis.window import in_flight_steps
from loadgen.model.plan import Plan, ReplayRules
from loadgen.model.summary import AgentRow, DepthRow, ReplaySummary
from loadgen.model.table import ABSENT, Flags, Floats
from loadgen.units import NS_PER_S, S_PER_H

PERCENTS = (50, 75, 90, 95)
DEPTHS = (0, 1, 2, 4, 8, 16, 32, 64, 128)
"""First turn of each row; a row ends where the next begins."""
ROOT = "root"


def replay_summary(facts: PointFacts) -> ReplaySummary | None:
    """The figures of one replayed point; None where none of its requests ended well."""
    requests = facts.requests
    rows = requests.in_window_phase & requests.ok
    if not rows.any():
        return None
    table = requests.table
    itl_s = itl_of(requests)[rows]
    e2e_s = (requests.last_text_at_ns - table.sent_at_ns) / NS_PER_S
    input_tok, output_tok = _known(table.usage_input_tok), requests.output_tok
    cached_tok = _known(table.usage_cached_tok)
    start, end = int(table.sent_at_ns[rows].min()), int(requests.end_at_ns[rows].max())
    span_s = (end - start) / NS_PER_S
    per_tok = (e2e_s / output_tok)[rows]
    plays = _plays(requests, requests.in_window_phase)
    finished = sum((lane, play + 1) in plays for lane, play in plays)
    return ReplaySummary(
        point=facts.plan.index,
        requests=int(rows.sum()),
        span_s=span_s,
        itl_s={f"p{p}": _percentile(itl_s, p) for p in PERCENTS},
        intvty_tps={f"p{p}": _inverse(_percentile(itl_s, p)) for p in PERCENTS},
        e2e_norm_tps={f"p{p}": _inverse(_percentile(per_tok, p)) for p in PERCENTS},
        input_tok=_sum(input_tok[rows]),
        cached_tok=_sum(cached_tok[rows]),
        output_tok=_sum(output_tok[rows]),
        hit_designed=designed_hit(requests, rows),
        hit_measured=_ratio(_sum(cached_tok[rows]), _sum(input_tok[rows])),
        drift_frac=_drift(requests, rows),
        depths=tuple(_depths(requests, rows)),
        agents=tuple(_agents(requests, rows, itl_s)),
        fan_out_mean=_in_flight(requests, rows, span_s)[0],
        fan_out_most=_in_flight(requests, rows, span_s)[1],
        fan_out=tuple(fan_out(requests, rows)),
        idle_frac=_in_flight(requests, rows, span_s)[2],
        sessions=len({str(name) for name in table.session_id[rows]}),
        recycled=sum(play > 0 for _, play in plays),
        finished=finished,
        usd_per_session=_ratio(_price_usd(facts.recording.plan, span_s), float(finished)),
        traces=len({str(name) for name in table.prompt_id[rows]}),
        coverage_frac=coverage(requests, rows, facts.recording.plan.replay),
        not_comparable=tuple(not_comparable(facts)),
    )


def _plays(requests: Requests, rows: Flags) -> set[tuple[str, int]]:
    """(lane, which of its plays) of these requests' sessions."""
    names = {str(name).rpartition("-") for name in requests.table.session_id[rows]}
    return {(lane, int(play)) for lane, _, play in names if play.isdigit()}


def _price_usd(plan: Plan, span_s: float) -> float | None:
    """What the declared GPUs cost in that time; None where no price was given."""
    per_hour = plan.prices.get("gpu_usd_per_h")
    return None if per_hour is None else per_hour * plan.prices.get("gpus", 1.0) * span_s / S_PER_H


def itl_of(requests: Requests) -> Floats:
    """(last event with text - first) / (output tokens - 1), seconds; NaN under two tokens."""
    span_s = (requests.last_text_at_ns - requests.first_text_at_ns) / NS_PER_S
    has = (requests.first_text_at_ns != ABSENT) & (requests.output_tok >= 2)
    return np.where(has, span_s / np.where(has, requests.output_tok - 1, 1.0), np.nan)


def designed_hit(requests: Requests, rows: Flags) -> float | None:
    """Share of blocks that a cache without bounds would find: leading ones seen before.

    Requests in the order of their sending, one set of seen blocks a play of a trace. The warm-up
    fills the set and doesn't count.
    """
    table = requests.table
    seen: dict[str, set[int]] = {}
    hits = blocks = 0
    for row in np.argsort(table.sent_at_ns, kind="stable").tolist():
        if not table.blocks[row] or table.sent_at_ns[row] == ABSENT:
            continue
        known = seen.setdefault(str(table.session_id[row]), set())
        ids = ids_of(str(table.blocks[row]))
        if rows[row]:
            hits += next((n for n, one in enumerate(ids) if one not in known), len(ids))
            blocks += len(ids)
        known.update(ids)
    return hits / blocks if blocks else None


def ids_of(blocks: str) -> list[int]:
    """The block ids of a stored request in order."""
    flat = [int(number) for number in blocks.split(",")]
    pairs = zip(flat[::2], flat[1::2], strict=True)
    return [one for first, n in pairs for one in range(first, first + n)]


def coverage(requests: Requests, rows: Flags, rules: ReplayRules | None) -> float | None:
    """How much of the profiling had answers: its last token's time over the planned duration."""
    if rules is None:
        return None
    due = requests.table.due_at_ns
    begun = int(due[requests.in_window_phase].min())
    last = int(requests.last_text_at_ns[rows].max())
    return min((last - begun) / NS_PER_S / rules.duration_s, 1.0)


def not_comparable(facts: PointFacts) -> Iterator[str]:
    """Why this point can't stand beside a published AgentX point; nothing where it can."""
    plan, requests = facts.recording.plan, facts.requests
    rules = plan.replay
    if rules is None:
        return
    if rules.name != "agentx":
        yield f"the rules are `{rules.name}`, not `agentx`"
    yield from (f"changed: {told}" for told in rules.deviations)
    if rules.duration_s < 900:
        yield f"{rules.duration_s:g} s of profiling, at least 900 s are asked for"
    yield from _corpus_reasons(plan)
    yield "the text is filler of words that cost one token each, not of code"
    measured = requests.in_window_phase
    failed = int((requests.failed & measured).sum())
    ended = int(((requests.ok | requests.failed) & measured).sum())
    if ended and rules.error_limit_frac is not None and failed > rules.error_limit_frac * ended:
        yield f"{failed} of {ended} requests failed, over {rules.error_limit_frac:.0%}"
    if facts.recording.state != "complete":
        yield f"the run was {facts.recording.state}"
    covered = coverage(requests, requests.ok & measured, rules) if ended > failed else None
    wanted = rules.coverage_frac
    if wanted is not None and covered is not None and covered < wanted:
        yield f"the last token came at {covered:.0%} of the duration, {wanted:.0%} is wanted"
    if len(plan.points) > 1 and not plan.between_points:
        yield "several points on one server; published ones restart it between (`--between-points`)"


def _corpus_reasons(plan: Plan) -> Iterator[str]:
    made = plan.workload.label
    yield f"the traces are {made}" if made else "the traces are no verified AgentX v1.0 corpus"
    if plan.workload.history != "recorded":
        yield "later prompts quote live answers, published ones the recorded"
    if not plan.workload.ignore_eos:
        yield "answers may end before their recorded length"
    if plan.target.endpoint_type != "chat":
        yield "not the chat endpoint"


def _depths(requests: Requests, rows: Flags) -> Iterator[DepthRow]:
    """Requests and time to first token by turn of the root's conversation."""
    table = requests.table
    root = rows & (table.stream == ROOT)
    ttft_s = (requests.first_text_at_ns - table.sent_at_ns) / NS_PER_S
    for low, high in zip(DEPTHS, (*DEPTHS[1:], 1 << 62), strict=True):
        chosen = root & (table.turn_no >= low) & (table.turn_no < high)
        if chosen.any():
            values = ttft_s[chosen & (requests.first_text_at_ns != ABSENT)]
            tok = _known(table.usage_input_tok)[chosen]
            last = high - 1 if high < 1 << 62 else None
            p50, p90 = _percentile(values, 50), _percentile(values, 90)
            yield DepthRow(low, last, int(chosen.sum()), p50, p90, _percentile(tok, 50))


def _agents(requests: Requests, rows: Flags, itl_s: Floats) -> Iterator[AgentRow]:
    """The main agents and the subagents, each as one row."""
    table = requests.table
    is_root = (table.stream == ROOT)[rows]
    ttft_s = ((requests.first_text_at_ns - table.sent_at_ns) / NS_PER_S)[rows]
    input_tok, output_tok = _known(table.usage_input_tok)[rows], requests.output_tok[rows]
    for name, chosen in (("main agent", is_root), ("subagents", ~is_root)):
        if chosen.any():
            yield AgentRow(
                name=name,
                requests=int(chosen.sum()),
                ttft_p50_s=_percentile(ttft_s[chosen], 50),
                intvty_p90_tps=_inverse(_percentile(itl_s[chosen], 90)),
                input_tok=_sum(input_tok[chosen]),
                output_tok=_sum(output_tok[chosen]),
            )


def _in_flight(requests: Requests, rows: Flags, span_s: float) -> tuple[float, int, float]:
    """Requests in flight on average and at most, and the share of time with none."""
    at, level = in_flight_steps(requests.table.sent_at_ns[rows], requests.end_at_ns[rows])
    widths_s = np.diff(at) / NS_PER_S
    if span_s <= 0 or not len(widths_s):
        return 0.0, int(level.max(initial=0)), 0.0
    mean = float((level[:-1] * widths_s).sum()) / span_s
    return mean, int(level.max()), float(widths_s[level[:-1] == 0].sum()) / span_s


def fan_out(requests: Requests, rows: Flags, parts: int = 20) -> list[float]:
    """Requests in flight on average over equal parts of the span, in order."""
    sent, ended = requests.table.sent_at_ns[rows], requests.end_at_ns[rows]
    edges = np.linspace(float(sent.min()), float(ended.max()), parts + 1)
    width = max(edges[1] - edges[0], 1.0)
    return [
        float(np.clip(np.minimum(ended, high) - np.maximum(sent, low), 0, None).sum() / width)
        for low, high in pairwise(edges)
    ]


def _drift(requests: Requests, rows: Flags) -> float | None:
    """Served prompt tokens over designed ones, less 1."""
    designed, served = _known(requests.table.input_tok), _known(requests.table.usage_input_tok)
    both = rows & ~np.isnan(designed) & ~np.isnan(served)
    ratio = _ratio(_sum(served[both]), _sum(designed[both]))
    return None if ratio is None else ratio - 1.0


def _known(column: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
    return np.where(column == ABSENT, np.nan, column).astype(np.float64)


def _sum(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.sum()) if len(known) else None


def _ratio(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole


def _percentile(values: Floats, percent: int) -> float | None:
    known = values[~np.isnan(values)]
    return float(np.percentile(known, percent)) if len(known) else None


def _inverse(value: float | None) -> float | None:
    return None if not value else 1.0 / value
