"""Rules about what stands round the client at one point: the machine, its cores, its collector.

A crowded host is told only where something recorded outside the client's loop confirms it.
"""

from collections.abc import Iterable

from loadgen.analysis.fidelity import CANARY_N_MIN, in_ms
from loadgen.analysis.findings.facts import Doubt, PointFacts
from loadgen.analysis.words import counted, in_percent
from loadgen.model.observed import ClientHealth, HostHealth
from loadgen.units import NS_PER_MS, NS_PER_S

PRESSURE_FRAC = 0.20
STEAL_FRACS = (0.01, 0.05)
RUN_WAIT_FRACS = (0.02, 0.10)
LOOP_LAG_SEVERE_NS = 10 * NS_PER_MS
STALL_NS = 250 * NS_PER_MS
GC_NS = (10 * NS_PER_MS, 50 * NS_PER_MS)
GC_FRAC = 0.05
THROTTLED_FRAC = 0.01
RETRANSMIT_FRACS = (0.001, 0.01)
RETRANSMITS_MIN = 20
OWN_SEGMENTS_FRAC = 0.2
"""The kernel counts by host. With less of its traffic a run can't call lost segments its own."""
BEHIND_NS = NS_PER_S
BEHIND_BYTES = 64 << 20
CEILING_FRACS = (0.6, 0.8)
CANARY_EXPECTED_NS = 3 * NS_PER_S


def host_contended(facts: PointFacts) -> Doubt | None:
    """Cores were scarce (pressure, steal, waiting for a core); a doubt where the loop suffered."""
    host = _host(facts)
    if host is None:
        return None
    wait = max((_share(h.run_wait_ns, h) for h in facts.health), default=0.0)
    pressure, steal = host.pressure_frac or 0.0, host.steal_frac or 0.0
    said = [
        f"{name} {in_percent(share)}"
        for name, share, limit in (
            ("cpu pressure", pressure, PRESSURE_FRAC),
            ("steal", steal, STEAL_FRACS[0]),
            ("a worker's wait for a core", wait, RUN_WAIT_FRACS[0]),
        )
        if share >= limit
    ]
    if not said:
        return None
    lag_ns = _most(h.loop_lag_p99_ns for h in facts.health)
    is_scarce = wait >= RUN_WAIT_FRACS[1] or steal >= STEAL_FRACS[1]
    severe = is_scarce and lag_ns > LOOP_LAG_SEVERE_NS
    text = f"the client's host was short of cores at {facts.named()}: {', '.join(said)}"
    hint = "give the client cores of its own; kernel stamps stay exact, sends and loop do not"
    return Doubt("doubt" if severe else "note", text, hint)


def client_stalled(facts: PointFacts) -> Doubt | None:
    """A worker's loop stood still for 250 ms or more, and neither cores nor collector explain it.

    A stopped process, a suspended machine, swapping.
    """
    host = _host(facts)
    stall_ns = _most(h.stall_max_ns for h in facts.health)
    stolen_ns = ((host.steal_max_frac if host else None) or 0.0) * NS_PER_S
    if stall_ns < STALL_NS or stolen_ns > stall_ns / 2:
        return None
    text = f"a worker stood still for {in_ms(stall_ns / NS_PER_S)} at {facts.named()}"
    hint = "a stopped process, a suspended machine or swap; what was due then left late"
    return Doubt("doubt", text, hint)


def gc_pauses(facts: PointFacts) -> Doubt | None:
    """The worker's garbage collector held its loop up."""
    most_ns = _most(h.gc_pause_max_ns for h in facts.health)
    share = max((_share(h.gc_pause_sum_ns, h) for h in facts.health), default=0.0)
    if most_ns < GC_NS[0] and share < GC_FRAC:
        return None
    text = (
        f"the garbage collector held a worker up for {in_ms(most_ns / NS_PER_S)} at once and "
        f"{in_percent(share)} of the time at {facts.named()}"
    )
    severe = most_ns >= GC_NS[1] or share >= GC_FRAC
    return Doubt("doubt" if severe else "note", text, "more --workers hold fewer objects each")


def cpu_throttled(facts: PointFacts) -> Doubt | None:
    """The control group's quota stopped the client."""
    host = _host(facts)
    if host is None or not host.throttles:
        return None
    share = (host.throttled_ns or 0) / max(_span_ns(facts), 1)
    text = (
        f"the client's cpu quota ran out {counted(host.throttles, 'time', 'times')} at "
        f"{facts.named()}, {in_percent(share)} of the time"
    )
    return Doubt("doubt" if share >= THROTTLED_FRAC else "note", text, "raise the cpu limit")


def retransmits(facts: PointFacts) -> Doubt | None:
    """TCP segments were lost on the way, ours or the server's; counted over the whole host."""
    host = _host(facts)
    if host is None:
        return None
    again = _share_of(host.retransmits, host.segments_sent)
    astray = _share_of(host.out_of_order, host.segments_received)
    told = []
    if again >= RETRANSMIT_FRACS[0]:
        sent = f"{host.retransmits} of {host.segments_sent} TCP segments were sent again"
        told.append(f"{sent} ({in_percent(again)})")
    if astray >= RETRANSMIT_FRACS[0]:
        came = f"{host.out_of_order} of {host.segments_received} received TCP segments came"
        told.append(f"{came} out of order ({in_percent(astray)})")
    if not told:
        return None
    text = f"{' and '.join(told)} at {facts.named()}, all connections of the client's host"
    ours = _own_frac(facts, host.segments_received)
    if ours < OWN_SEGMENTS_FRAC:
        text += f", of whose traffic this run was {in_percent(ours)}"
    hint = "a lost segment holds back what came after it, at an answer's end for 200 ms and more"
    severe = max(again, astray) >= RETRANSMIT_FRACS[1] and ours >= OWN_SEGMENTS_FRAC
    return Doubt("doubt" if severe else "note", text, hint)


def _own_frac(facts: PointFacts, received: int | None) -> float:
    """The run's reads as a share of the segments that came to its host; 1 where none tells."""
    reads = facts.requests.table.reads
    return min(1.0, float(reads[reads > 0].sum()) / received) if received else 1.0


def scribe_behind(facts: PointFacts) -> Doubt | None:
    """Finished streams waited in a worker because disk or decoding did not keep up."""
    behind_ns = _most(h.scribe_behind_ns for h in facts.health)
    most_bytes = _most(h.scribe_behind_bytes for h in facts.health)
    if behind_ns < BEHIND_NS and most_bytes < BEHIND_BYTES:
        return None
    text = (
        f"writing was behind for {behind_ns / NS_PER_S:.1f} s at {facts.named()}, by up to "
        f"{most_bytes / 1e6:.1f} MB"
    )
    severe = most_bytes >= BEHIND_BYTES
    return Doubt("doubt" if severe else "note", text, "a slow disk? --out names another one")


def near_ceiling(facts: PointFacts) -> Doubt | None:
    """Events a second and worker came near what selftest found to be this host's ceiling."""
    known = facts.recording.provenance.calibration
    span_ns = _span_ns(facts)
    if known is None or not span_ns or not facts.health:
        return None
    rate_eps = len(facts.requests.text_index) / (span_ns / NS_PER_S) / len(facts.health)
    share = rate_eps / known.ceiling_eps
    if share < CEILING_FRACS[0]:
        return None
    text = (
        f"{rate_eps:,.0f} events/s and worker at {facts.named()} are {in_percent(share)} of the "
        f"{known.ceiling_eps:,.0f} that selftest found clean here"
    )
    severe = share >= CEILING_FRACS[1] and known.is_client_limit
    return Doubt("doubt" if severe else "note", text, "more --workers share the load")


def canary_silent(facts: PointFacts) -> Doubt | None:
    """A canary was asked for and not heard, so the stamps' error is a bound and not measured."""
    if not facts.recording.plan.canary or not facts.health:
        return None
    heard = min(h.canary_n for h in facts.health)
    if heard >= CANARY_N_MIN or _span_ns(facts) < CANARY_EXPECTED_NS:
        return None
    return Doubt(
        "note", f"the canary was heard {counted(heard, 'time', 'times')} at {facts.named()}"
    )


def _host(facts: PointFacts) -> HostHealth | None:
    return next((h.host for h in facts.health if h.host is not None), None)


def _span_ns(facts: PointFacts) -> int:
    return _most(h.ended_at_ns - h.started_at_ns for h in facts.health)


def _share_of(count: int | None, total: int | None) -> float:
    """Segments as a share; 0 where they are too few to say."""
    return count / total if count and total and count >= RETRANSMITS_MIN else 0.0


def _share(part_ns: int | None, health: ClientHealth) -> float:
    return (part_ns or 0) / max(health.ended_at_ns - health.started_at_ns, 1)


def _most(values: Iterable[int | None]) -> int:
    return max((value for value in values if value is not None), default=0)
