"""Rules about what can't be: figures under a physical floor, above a bound, or like missing data.

The round trip bounds every run; the other floors stand only where the user declared model and GPUs
(`docs/system-file.md`). A figure beyond a floor says that the figure or the declaration is wrong,
and never which: so the text names what would explain it.
"""

import numpy as np

from loadgen import physics
from loadgen.analysis.fidelity import in_ms
from loadgen.analysis.findings.facts import Doubt, PointFacts, RunFacts
from loadgen.analysis.metrics import e2e_s, ttft_send_s
from loadgen.analysis.requests import number
from loadgen.analysis.round_trip import round_trip
from loadgen.analysis.speed import tpot_s
from loadgen.analysis.statistics.quantiles import quantile
from loadgen.analysis.words import counted, in_percent
from loadgen.model.system import DeclaredSystem
from loadgen.model.table import ABSENT, Flags

ALLOWED_FRAC = 0.9
"""A figure down to this share of a floor passes: parameters are rounded, embeddings not multiplied.
"""
BELOW_FRAC = 0.01
EQUAL_MIN_N = 10
UNIFORM_SPREAD_FRAC = 0.005
UNIFORM_MIN_POINTS = 3
UNIFORM_MIN_SPAN = 8
TELLING_TOK_PER_EVENT = 1.2
USED_FRAC_LEAST = 0.05
"""A slip explains a floor that was set too high only if the machine then reaches this share."""


def impossible_times(facts: PointFacts) -> Doubt | None:
    """Answers whose first text came at or before their sending: no clock allows it."""
    took = ttft_send_s(facts.requests)[_measured(facts)]
    n = int((took <= 0).sum())
    if not n:
        return None
    text = f"{counted(n, 'answer', 'answers')} at {facts.named()} began at or before the asking"
    return Doubt("fatal", text, "look for a stepped clock, or for records made by another tool")


def values_missing(facts: PointFacts) -> Doubt | None:
    """Figures that are 0 beside text, or exactly equal in every request: data that was not there.

    Equal to the nanosecond in ten requests or more is no measurement.
    """
    rows, requests, told = _measured(facts), facts.requests, []
    with_text = rows & (requests.first_text_at_ns != ABSENT)
    for column, what in (
        (requests.table.usage_output_tok, "output"),
        (requests.table.usage_input_tok, "prompt"),
    ):
        zero = int((with_text & (column == 0)).sum())
        if zero:
            told.append(
                f"usage says 0 {what} tokens in {counted(zero, 'answer', 'answers')} with text"
            )
    for name, values in (("ttft_send_s", ttft_send_s(requests)), ("e2e_s", e2e_s(requests))):
        seen = values[rows & ~np.isnan(values)]
        if len(seen) >= EQUAL_MIN_N and float(np.ptp(seen)) == 0.0:
            told.append(f"{name} is {seen[0]:.6g} s in all {len(seen)} requests")
    if not told:
        return None
    return Doubt("doubt", f"{'; '.join(told)} at {facts.named()}: looks like missing data")


def ttft_below_rtt(facts: PointFacts) -> Doubt | None:
    """First tokens that came sooner than a packet goes there and back.

    Fatal only where the kernel timed a handshake: one that the client's loop timed may be long.
    """
    trip = round_trip(facts.recording)
    if trip is None:
        return None
    took = ttft_send_s(facts.requests)[_measured(facts)]
    took = took[~np.isnan(took)]
    n = int((took < trip.surely_s).sum())
    if not n:
        return None
    text = (
        f"{n} of {len(took)} first tokens at {facts.named()} came sooner than the round trip of "
        f"{in_ms(trip.least_s)} allows (shortest of {trip.handshakes} handshakes), the soonest "
        f"after {in_ms(float(took.min()))}"
    )
    hint = "a stepped clock, or something nearer than the server answered"
    severe = trip.by_kernel and n > BELOW_FRAC * len(took)
    return Doubt("fatal" if severe else "doubt", text, hint)


def ttft_below_floor(facts: PointFacts) -> Doubt | None:
    """First tokens that came sooner than the declared GPUs can compute the uncached prompt."""
    system, requests = facts.recording.plan.system, facts.requests
    if system is None or facts.frame.withheld:
        return None
    cached = number(requests.table.usage_cached_tok)
    uncached = requests.prompt_tok - np.nan_to_num(cached)
    trip = round_trip(facts.recording)
    floor_s = (0.0 if trip is None else trip.surely_s) + (
        physics.flop_per_tok(system.params_active) * uncached / system.replica_flops
    )
    took = ttft_send_s(requests)
    rows = _measured(facts) & ~np.isnan(took) & ~np.isnan(floor_s)
    below = rows & (took < ALLOWED_FRAC * floor_s)
    n = int(below.sum())
    if not n or n <= BELOW_FRAC * rows.sum():
        return None
    one = int(np.flatnonzero(below)[np.argmin((took / floor_s)[below])])
    needed = 1.0 - took[one] / floor_s[one]
    known = not bool(np.isnan(cached[below]).any())
    text = (
        f"{n} of {int(rows.sum())} first tokens at {facts.named()} came before the declared system "
        f"can have computed their prompts: {in_ms(float(took[one]))} for {uncached[one]:.0f} tokens"
        f" that take {in_ms(float(floor_s[one]))}"
    )
    if known:
        return Doubt("doubt", f"{text}, cached ones left out", _declared_hint(system))
    text += f"; {in_percent(needed)} of them must have been cached, which the server doesn't report"
    return Doubt("doubt" if _unshared(facts) else "note", text, _declared_hint(system))


def tpot_below_floor(facts: PointFacts) -> Doubt | None:
    """Tokens that came faster than the declared GPUs can read the weights (medians)."""
    system, requests = facts.recording.plan.system, facts.requests
    if system is None or facts.frame.withheld:
        return None
    kv_bytes = (system.model.kv_bytes_per_token or 0.0) * np.nan_to_num(requests.prompt_tok)
    floor_s = np.array(
        [
            physics.decode_step_least_s(
                system.params_active,
                system.model.weight_bytes_per_param,
                system.replica_bandwidth_bps,
                kv_bytes_read=float(read),
                tok_per_step=system.tok_per_step,
            )
            for read in kv_bytes
        ]
    )
    took = tpot_s(requests)
    rows = facts.frame.chosen & ~np.isnan(took)
    if not rows.any():
        return None
    share = quantile((took / floor_s)[rows], 0.5)
    if share >= ALLOWED_FRAC:
        return None
    tpot, floor = quantile(took[rows], 0.5), quantile(floor_s[rows], 0.5)
    text = (
        f"TPOT p50 is {in_ms(tpot)} at {facts.named()}, under the declared system's floor of "
        f"{in_ms(floor)} ({_reading(system)}): it takes {system.tok_per_step / share:.1f} tokens a "
        f"step or {1 / share:.1f} times the bandwidth"
    )
    return Doubt("doubt", text + _explained(facts, tpot, floor, system), _declared_hint(system))


def above_compute_bound(facts: PointFacts) -> Doubt | None:
    """More tokens a second than the declared GPUs can multiply, so part came from a cache."""
    system, out = facts.recording.plan.system, facts.value("out_tps")
    if system is None or out is None:
        return None
    flops = system.replica_flops * system.replicas
    most = physics.compute_tps_most(system.params_active, flops)
    uncached, total = facts.value("in_tps_uncached"), facts.value("in_tps_total")
    computed = out + (uncached if uncached is not None else total or 0.0)
    if computed <= most / ALLOWED_FRAC:
        return None
    text = (
        f"{computed:.4g} tokens/s at {facts.named()} are more than the declared system can compute "
        f"({most:.4g} at {flops / 1e15:.3g} PFLOP/s dense)"
    )
    if uncached is None:
        least = physics.cached_frac_least(system.params_active, computed, flops)
        text += (
            f"; at least {in_percent(least)} must have been cached, which the server doesn't report"
        )
    else:
        text += ", cached ones left out"
    return Doubt("doubt", text, _declared_hint(system))


def system_too_small(run: RunFacts) -> Doubt | None:
    """The declared GPUs can't hold the declared weights and one request's cache."""
    system = run.recording.plan.system
    if system is None:
        return None
    model = system.model
    context = run.requests.prompt_tok + run.requests.output_tok
    longest = float(np.nanmax(context)) if (~np.isnan(context)).any() else 0.0
    needed = physics.memory_bytes_least(
        model.params_total_b * 1e9,
        model.weight_bytes_per_param,
        model.kv_bytes_per_token or 0.0,
        longest,
    )
    if needed <= system.replica_memory_bytes:
        return None
    gpus = physics.gpus_least(needed, system.gpu.memory_gb * 1e9)
    text = (
        f"the declared model takes {needed / 1e9:.4g} GB at {model.weight_bytes_per_param:g} bytes "
        f"a parameter, the declared {system.gpus_per_replica} x {system.gpu.name} have "
        f"{system.replica_memory_bytes / 1e9:.4g} GB: {gpus} are needed, unless part is offloaded"
    )
    return Doubt("doubt", text, _declared_hint(system))


def ttft_uniform(run: RunFacts) -> Doubt | None:
    """The same TTFT at every concurrency, which no server that computes prompts shows."""
    seen: dict[int, float] = {}
    for point in run.points:
        measure = point.measures.get("ttft_send_s.p50")
        if point.slots and measure is not None and measure.value and measure.n >= EQUAL_MIN_N:
            seen[point.slots] = measure.value
    if len(seen) < UNIFORM_MIN_POINTS or max(seen) < UNIFORM_MIN_SPAN * min(seen):
        return None
    low, high = min(seen.values()), max(seen.values())
    if high - low > UNIFORM_SPREAD_FRAC * low:
        return None
    text = (
        f"TTFT p50 is {in_ms(low)} to {in_ms(high)} at every concurrency from {min(seen)} to "
        f"{max(seen)}: no queue and no batch shows"
    )
    return Doubt(
        "doubt", text, "a cache, a gateway or a timetable may answer in the server's place"
    )


def _measured(facts: PointFacts) -> Flags:
    return np.asarray(facts.requests.ok & ~facts.requests.warmup)


def _unshared(facts: PointFacts) -> bool:
    """Whether the workload itself gives a cache nothing to hit: one-shot, salted, no prefix."""
    plan = facts.recording.plan
    shares = plan.workload.shared_prefix_tok or plan.workload.system_text
    return bool(plan.salt) and plan.workload.turns == "1" and not shares


def _reading(system: DeclaredSystem) -> str:
    """`37e9 params x 1 B over 8 x 4.8 TB/s`."""
    params = f"{system.params_active / 1e9:.4g}e9 params"
    memory = f"{system.gpus_per_replica} x {system.gpu.bandwidth_tbps:g} TB/s"
    return f"{params} x {system.model.weight_bytes_per_param:g} B over {memory}"


def _explained(facts: PointFacts, tpot: float, floor: float, system: DeclaredSystem) -> str:
    """What would explain tokens under the floor: speculation that shows, or a slip in the facts."""
    per_event = facts.value("tok_per_event.mean")
    if per_event is not None and per_event > TELLING_TOK_PER_EVENT and system.tok_per_step == 1.0:
        return f"; events hold {per_event:.2g} tokens, as with speculative decoding"
    fits = physics.Band(low=USED_FRAC_LEAST * tpot, high=tpot)
    slips = physics.unit_slips(floor, fits, gpus=system.gpus)
    if not slips:
        return ""
    return f"; or a declared figure is {max(slips, key=lambda slip: slip.factor).name}"


def _declared_hint(system: DeclaredSystem) -> str:
    """Where to look: the facts were declared, by the user or from a table."""
    return f"check the system file: `{system.gpu.name}` and its model are declared, not observed"
