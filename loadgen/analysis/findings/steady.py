"""Rules about steadiness: drift, a change of level, a warm-up that was cut, what can't be said."""

from loadgen.analysis.findings.facts import Doubt, PointFacts, RunFacts
from loadgen.analysis.littles_law import decode_balance, in_flight_balance
from loadgen.analysis.steady import FLOOR_S
from loadgen.analysis.words import in_percent

ONLY_SHORT = f" of {FLOOR_S:g} s"


def drifting(facts: PointFacts) -> Doubt | None:
    """A figure that weighs rises or falls all along: there is no level to report."""
    if facts.steady.verdict not in {"drifting_up", "drifting_down"}:
        return None
    text = f"{facts.steady.verdict} at {facts.named()}: {facts.steady.reason}"
    hint = "a longer --duration shows where it settles; an open load over capacity never does"
    return Doubt("doubt", text, hint)


def anomaly(facts: PointFacts) -> Doubt | None:
    """The level changed once for good; figures are of the first level."""
    if facts.steady.verdict != "anomaly":
        return None
    text = f"anomaly at {facts.named()}: {facts.steady.reason}; figures are of the first level"
    return Doubt("doubt", text, "look at the server's log and clocks at that time; run it again")


def warmup_cut(facts: PointFacts) -> Doubt | None:
    """The plateau began with a warm-up, which is out of the figures."""
    cut_s = facts.steady.cut_s
    start, end = facts.steady.plateau_start_at_ns, facts.steady.plateau_end_at_ns
    if not cut_s or start is None or end is None:
        return None
    share = cut_s * 1e9 / (end - start)
    text = (
        f"the first {cut_s:.3g} s ({in_percent(share)}) of the plateau at {facts.named()} were a "
        "warm-up"
    )
    return Doubt("note", f"{text} and are cut", "--warmup N keeps it out of the point")


def in_flight_unbalanced(facts: PointFacts) -> Doubt | None:
    """Little's law fails: requests in flight are not rate times stay; the point was not level."""
    found = in_flight_balance(facts.frame)
    if found is None or found.holds:
        return None
    text = (
        f"{found.seen:.4g} requests in flight at {facts.named()} where rate times stay gives "
        f"{found.expected:.4g} ({in_percent(found.off_frac, signed=True)}): not a level stretch"
    )
    return Doubt("doubt", text, "a longer --duration; an open load over capacity never balances")


def rate_unbalanced(facts: PointFacts) -> Doubt | None:
    """The output rate is not what the decoding requests give at their own speed."""
    found = decode_balance(facts.frame)
    if found is None or found.holds:
        return None
    text = (
        f"{found.seen:.4g} tok/s arrived at {facts.named()} where the requests decoding at their "
        f"TPOT give {found.expected:.4g} ({in_percent(found.off_frac, signed=True)})"
    )
    return Doubt("doubt", text, "token counts and arrival times disagree, or the point drifts")


def floor_missed(facts: PointFacts) -> Doubt | None:
    """`--floor strict` was asked for and the window doesn't reach it."""
    steady = facts.steady
    if steady.floor != "strict" or not steady.floors_missed:
        return None
    text = f"--floor strict is missed at {facts.named()}: {'; '.join(steady.floors_missed)}"
    return Doubt("doubt", text, "--duration 660s and more, or --floor quick")


def below_strict(facts: PointFacts) -> Doubt | None:
    """A level window too short for its own scatter or answers; being under 600 s alone is none."""
    steady = facts.steady
    if steady.floor == "strict" or steady.verdict != "steady":
        return None
    short = [missed for missed in steady.floors_missed if not missed.endswith(ONLY_SHORT)]
    if not short:
        return None
    text = f"{facts.named()} is level but short for its scatter: {'; '.join(short)}"
    return Doubt("note", text, "a longer --duration; --floor strict insists on it")


def steadiness_unknown(run: RunFacts) -> Doubt | None:
    """Points too short for anybody to say whether they stood level."""
    unknown = [p for p in run.points if p.steady.verdict == "not_found" and p.window is not None]
    if not unknown:
        return None
    strict = any(point.steady.floor == "strict" for point in unknown)
    first = unknown[0]
    where = ", ".join(point.named() for point in unknown[:6])
    more = f" and {len(unknown) - 6} more" if len(unknown) > 6 else ""
    text = f"too short to tell drift from level at {where}{more} ({first.steady.reason})"
    return Doubt("doubt" if strict else "note", text, "a longer --duration or more --requests")
