"""Prefill and decode told apart from outside: the requests' times over their lengths.

E2E = base + uncached prompt tokens x a + output tokens x b, at one point. a and b are what one
more token costs one request at this load, others' work in between included; 1/a and 1/b are no
rates of the system. Lengths that are all alike or go together tell nothing, and that is said.
"""

import numpy as np
from msgspec import structs

from loadgen.analysis.cost import rates_of, shares_nothing
from loadgen.analysis.findings.facts import PointFacts
from loadgen.analysis.metrics import e2e_s
from loadgen.analysis.requests import number
from loadgen.analysis.statistics.regression import Slopes, robust_slopes
from loadgen.model.cost import PhaseFit
from loadgen.model.energy import PointEnergy
from loadgen.model.plan import Plan
from loadgen.model.summary import PointSummary, Summary
from loadgen.model.table import Floats, Ints
from loadgen.units import NS_PER_S

LEAST_N = 40
"""Requests under which intervals of uneven noise cover less than 90 % (simulated)."""
LEAST_SPREAD = 0.05
"""Standard deviation of a length over its mean, under which it counts as fixed."""
MOST_CORRELATION = 0.95
NOT = "not identifiable: "


def phase_fit(point: PointFacts) -> PhaseFit:
    """The fit over the point's good requests, or why there is none."""
    index = point.plan.index
    if point.frame.withheld.startswith("client_bound"):
        return PhaseFit(index, 0, reason=point.frame.withheld)
    requests = point.requests
    prompts = _uncached(point)
    columns = np.column_stack([prompts, requests.output_tok])
    times = e2e_s(requests)
    good = point.frame.chosen & requests.ok
    rows = good & ~np.isnan(columns).any(axis=1) & ~np.isnan(times)
    due_s = requests.table.due_at_ns / NS_PER_S
    if good.any() and np.isnan(prompts[good]).all():
        return PhaseFit(index, int(rows.sum()), reason=f"{NOT}cached prompt tokens not reported")
    clusters = _stretches(due_s[rows], point.frame.block_s)
    return fit(index, columns[rows], times[rows], clusters)


def fit(index: int, lengths: Floats, times: Floats, clusters: Ints) -> PhaseFit:
    """The fit of float64[n] seconds over float64[n, 2] tokens: uncached prompt, output."""
    n = len(times)
    blind = _blind(lengths)
    if blind:
        return PhaseFit(index, n, reason=NOT + blind)
    found = robust_slopes(lengths, times, clusters)
    if not (np.isfinite(found.low).all() and np.isfinite(found.high).all() and times.sum() > 0):
        return PhaseFit(index, n, reason=f"{NOT}no line through the requests' times")
    unclear = [
        f"{name} within noise ({_microseconds(found, at)})"
        for at, name in enumerate(("prefill", "decode"))
        if found.low[at] <= 0
    ]
    prefill, decode = (_speeds(found, at) for at in (0, 1))
    told = not unclear
    whole = float(times.sum())
    return PhaseFit(
        point=index,
        n=n,
        prefill_tps=prefill[0],
        prefill_low_tps=prefill[1],
        prefill_high_tps=prefill[2],
        decode_tps=decode[0],
        decode_low_tps=decode[1],
        decode_high_tps=decode[2],
        base_s=found.base if told else None,
        prefill_time_frac=float(found.values[0] * lengths[:, 0].sum() / whole) if told else None,
        decode_time_frac=float(found.values[1] * lengths[:, 1].sum() / whole) if told else None,
        reason=NOT + "; ".join(unclear) if unclear else "",
    )


def with_joules(summary: Summary, plan: Plan) -> Summary:
    """The summary whose fits have joules a token of each phase, where the energy is known.

    The energy is shared as the requests' time is; idle watts go with it.
    """
    if not summary.energy:
        return summary
    points = {point.index: point for point in summary.points}
    known = {energy.point: energy for energy in summary.energy}
    fits = tuple(
        _energised(one, points[one.point], known.get(one.point), plan) for one in summary.phases
    )
    return structs.replace(summary, phases=fits)


def _energised(
    one: PhaseFit, point: PointSummary, energy: PointEnergy | None, plan: Plan
) -> PhaseFit:
    if energy is None or energy.joules is None or energy.window_s <= 0:
        return one
    prefill, decode = one.prefill_time_frac, one.decode_time_frac
    rates = rates_of(point, plan)
    if prefill is None or decode is None or not rates.uncached or not rates.output:
        return one
    watts, share = energy.joules / energy.window_s, prefill / (prefill + decode)
    return structs.replace(
        one,
        prefill_j_per_tok=watts * share / rates.uncached,
        decode_j_per_tok=watts * (1.0 - share) / rates.output,
    )


def _uncached(point: PointFacts) -> Floats:
    """Uncached prompt tokens of each request; NaN where the server doesn't tell the cached ones."""
    requests = point.requests
    told = number(requests.table.usage_input_tok) - number(requests.table.usage_cached_tok)
    if shares_nothing(point.recording.plan):
        return np.where(np.isnan(told), requests.prompt_tok, told)
    return told


def _blind(lengths: Floats) -> str:
    """Why these lengths can't tell the phases apart; empty where they may."""
    n = len(lengths)
    if n < LEAST_N:
        return f"{n} requests, {LEAST_N} are needed"
    means, spreads = lengths.mean(axis=0), lengths.std(axis=0)
    for at, (name, option) in enumerate((("prompts", "--isl"), ("answers", "--osl"))):
        if spreads[at] <= LEAST_SPREAD * means[at]:
            about = f"{means[at]:,.0f} ± {spreads[at]:,.0f} tokens"
            return f"{name} are all alike ({about}); vary them: {option} uniform:LOW,HIGH"
    together = float(np.mean(np.prod((lengths - means) / spreads, axis=1)))
    if abs(together) > MOST_CORRELATION:
        return f"prompt and answer lengths go together (correlation {together:.2f})"
    return ""


def _speeds(found: Slopes, at: int) -> tuple[float | None, float | None, float | None]:
    """Tokens a second with interval; None where the seconds a token may be 0."""
    low, value, high = (float(column[at]) for column in (found.low, found.values, found.high))
    if low <= 0:
        return None, None, None
    return 1.0 / value, 1.0 / high, 1.0 / low


def _microseconds(found: Slopes, at: int) -> str:
    low, high = 1e6 * found.low[at], 1e6 * found.high[at]
    return f"{low:,.3g} to {high:,.3g} µs a token"


def _stretches(due_s: Floats, block_s: float) -> Ints:
    """The number of the stretch of time, `block_s` long, in which each request was due."""
    if not len(due_s) or block_s <= 0:
        return np.zeros(len(due_s), dtype=np.int64)
    return np.asarray((due_s - due_s.min()) // block_s, dtype=np.int64)
