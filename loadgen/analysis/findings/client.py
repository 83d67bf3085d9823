"""Rules about the measuring client at one point: was it the bottleneck, was the load as asked?"""

import numpy as np

from loadgen.analysis.fidelity import in_ms
from loadgen.analysis.findings.facts import Doubt, PointFacts
from loadgen.analysis.littles_law import TOLERANCE, in_flight_max, mismatch
from loadgen.analysis.window import thinks
from loadgen.analysis.words import counted, in_percent
from loadgen.units import NS_PER_S

REACHED_FRAC = 0.98
MISSED_FRAC = 0.95
RATE_WAIT_FRAC = 0.01
EMPTY_SLOTS_HINT = (
    "a server that answers in milliseconds leaves the client's own turnaround visible: ask for "
    "longer answers (--osl), or read it as it is"
)
UNENDED = ("running_or_killed", "failed")


def client_bound(facts: PointFacts) -> Doubt | None:
    """Grade C or worse: the client's own lateness is a visible part of what it reports."""
    found = facts.fidelity
    if found.grade not in {"C", "refuse"}:
        return None
    what = "latencies withheld" if found.grade == "refuse" else "tails of gaps withheld"
    text = (
        f"this machine {_lateness(facts)}: {what} at {facts.named()} "
        f"(client grade {found.grade} by {found.basis})"
    )
    hint = "use more --workers, a quieter host, or less load; `loadgen selftest` shows its ceiling"
    return Doubt("fatal" if found.grade == "refuse" else "doubt", text, hint)


def _lateness(facts: PointFacts) -> str:
    """`read tokens up to 11 ms late at p99 (TPOT 5.0 ms)`: what the grade was given for."""
    found, tpot_s = facts.fidelity, facts.fidelity.step_s
    beside = f" (TPOT {in_ms(tpot_s)})" if tpot_s is not None else ""
    told = {
        "stamps": ("read tokens", found.stamp_error_s, f"{found.stat}{beside}"),
        "loop lag": ("came to its sockets", found.loop_lag_s, "p99"),
        "sends": ("sent requests", found.send_lag_s, found.send_stat),
    }
    blamed = found.basis.partition(";")[0]
    said = [
        f"{did} up to {in_ms(late_s)} late at {stat}"
        for name, (did, late_s, stat) in told.items()
        if name in blamed and late_s is not None
    ]
    return " and ".join(said) or "was late"


def client_unknown(facts: PointFacts) -> Doubt | None:
    """No grade: nothing was recorded that could vouch for the client."""
    if facts.fidelity.grade != "ungraded":
        return None
    return Doubt("note", f"client not graded at {facts.named()}: {facts.fidelity.basis}")


def late_sends(facts: PointFacts) -> Doubt | None:
    """Requests left later than they were due, by more than a hundredth of the answers' length."""
    lag, e2e = facts.fidelity.send_lag_s, facts.value("e2e_s.mean")
    if lag is None or e2e is None or lag <= max(0.005, 0.05 * e2e):
        return None
    text = f"requests left {in_ms(lag)} late ({facts.fidelity.send_stat}) at {facts.named()}"
    return Doubt("note", text, "compare ttft_s (from due) with ttft_send_s (from send)")


def concurrency_not_reached(facts: PointFacts) -> Doubt | None:
    """Fewer in flight than asked for."""
    asked = facts.slots
    if asked is None or thinks(facts.plan.load) or not len(facts.requests):
        return None
    most, mean = in_flight_max(facts.frame), facts.value("in_flight")
    workload = facts.recording.plan.workload
    rests = workload.turns != "1" and workload.think not in {"0", ""}
    if most < asked and not rests:
        text = f"in flight at {facts.named()}: {most} at most, asked for: {asked}"
        hint = "more --requests than the concurrency, no --max-rate, enough file descriptors"
        return Doubt("doubt", text, hint)
    if facts.window is None or mean is None or mean >= REACHED_FRAC * asked:
        return None
    held = rests or any(h.rate_waits for h in facts.health)
    text = f"in flight on average at {facts.named()}: {mean:.1f}, asked for: {asked}"
    severe = mean < MISSED_FRAC * asked and not held
    hint = "sessions rest between turns" if rests else EMPTY_SLOTS_HINT
    return Doubt("doubt" if severe else "note", text, hint)


def rate_not_reached(facts: PointFacts) -> Doubt | None:
    """Open load: fewer requests were sent than were due."""
    asked, sent = facts.value("asked_rps"), facts.value("sent_rps")
    if facts.slots is not None or not asked or sent is None or sent >= REACHED_FRAC * asked:
        return None
    text = f"requests/s sent at {facts.named()}: {sent:.3g}, due: {asked:.3g}"
    return Doubt("doubt", text, "the tail is told by ttft_s (from due), not by ttft_send_s")


def rate_ceiling_bit(facts: PointFacts) -> Doubt | None:
    """`--max-rate` held requests back, so the figures show the ceiling."""
    waited_ns = sum(h.rate_wait_ns for h in facts.health)
    waits = sum(h.rate_waits for h in facts.health)
    if not waits:
        return None
    stays_ns = int((facts.requests.end_at_ns - facts.requests.table.due_at_ns).sum())
    share = waited_ns / max(stays_ns, 1)
    text = (
        f"--max-rate held {counted(waits, 'request', 'requests')} back for "
        f"{waited_ns / NS_PER_S:.3g} s in all ({in_percent(share)} of their time) "
        f"at {facts.named()}"
    )
    hint = "throughput is the ceiling's, not the server's; raise --max-rate or lower -c"
    return Doubt("doubt" if share > RATE_WAIT_FRAC else "note", text, hint)


def accounting(facts: PointFacts) -> Doubt | None:
    """Our own books don't balance: time in flight, or requests against outcomes."""
    off = mismatch(facts.frame)
    if off > TOLERANCE:
        text = f"time in flight summed in two ways differs by {off:.2g} at {facts.named()}"
        return Doubt("fatal", text, "this is a bug of the tool: please report it with the run")
    total = sum(facts.counts.outcomes.values())
    if total != facts.counts.issued:
        text = (
            f"requests issued at {facts.named()}: {facts.counts.issued}, with an outcome: {total}"
        )
        return Doubt("fatal", text, "this is a bug of the tool: please report it with the run")
    return None


def lost_requests(facts: PointFacts) -> Doubt | None:
    """The workers issued more (or fewer) requests than left a record."""
    issued = sum(h.issued for h in facts.health)
    rows = len(facts.requests)
    if not facts.health or issued == rows or facts.recording.state in UNENDED:
        return None
    text = f"requests issued at {facts.named()}: {issued}, with a record: {rows}"
    return Doubt("fatal", text, "look for a full disk or a killed process")


def first_wave_cold(facts: PointFacts) -> Doubt | None:
    """The first request of each slot was over three times slower than the rest."""
    wave = facts.first_wave
    if wave is None or wave.times <= 3.0:
        return None
    where = "inside the figures" if facts.first_wave_counts else "kept out of the figures"
    text = (
        f"first wave ({wave.n}) had a TTFT of {in_ms(wave.first_s)}, the rest "
        f"{in_ms(wave.rest_s)} (medians): {wave.times:.1f} times; {where}"
    )
    hint = "a cold engine, or prefills that queued at the start; warm up with --warmup"
    return Doubt("doubt" if facts.first_wave_counts else "note", text, hint)


def warmup_failed(facts: PointFacts) -> Doubt | None:
    """Requests of the warm-up failed; they are in no figure."""
    warm = facts.requests.warmup
    failed = int((warm & facts.requests.failed).sum())
    if not failed:
        return None
    return Doubt("note", f"warm-up requests that failed: {failed} of {int(warm.sum())}")


def no_plateau(facts: PointFacts) -> Doubt | None:
    """No stretch with all slots busy: figures are of the whole point, ramp and drain included."""
    if facts.window is not None or not len(facts.requests):
        return None
    asked = f"{facts.slots} slots" if facts.slots else "this rate"
    n = facts.counts.issued
    text = f"no plateau at {facts.named()}: {n} requests are too few for {asked}; whole-run figures"
    wanted = max(10 * (facts.slots or 1), 30)
    return Doubt("doubt", text, f"--requests {wanted} or a longer --duration")


def phase_cut_short(facts: PointFacts) -> Doubt | None:
    """The point ended by something other than its duration."""
    reasons = facts.stop_reason
    planned = "duration" if facts.plan.duration_ns is not None else "requests"
    if reasons in {"", planned, "interrupted"}:
        return None
    ran_s = _ran_s(facts)
    text = f"{facts.named()} was ended by {reasons} after {ran_s:.3g} s"
    if facts.plan.duration_ns is not None:
        text += f" of {facts.plan.duration_ns / NS_PER_S:g} s"
    severe = not set(reasons.split(",")) <= {"requests", "no_more_sessions", "grace", planned}
    return Doubt("doubt" if severe else "note", text)


def _ran_s(facts: PointFacts) -> float:
    spans = [h.ended_at_ns - h.started_at_ns for h in facts.health]
    return float(np.max(spans)) / NS_PER_S if spans else 0.0
