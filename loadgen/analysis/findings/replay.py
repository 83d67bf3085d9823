"""Rules about replays: how far answers reached, and prompts over the server's context."""

from loadgen.analysis.findings.facts import Doubt, PointFacts
from loadgen.analysis.replay.comparable import coverage, coverage_missed, ended, overflowed
from loadgen.analysis.words import counted, in_percent


def coverage_short(facts: PointFacts) -> Doubt | None:
    """A replay's answers ended long before its duration did: the server stood, or lanes starved."""
    rules = facts.recording.plan.replay
    if rules is None or not coverage_missed(facts.requests, rules):
        return None
    covered = coverage(facts.requests, rules) or 0.0
    text = (
        f"the last token at {facts.named()} came after {in_percent(covered)} of the "
        f"{rules.duration_s:g} s; {in_percent(rules.coverage_frac or 0.0)} is wanted"
    )
    return Doubt("doubt", text, "did the server stall, or did errors end the replay early?")


def context_overflows(facts: PointFacts) -> Doubt | None:
    """Prompts were longer than the server's context; each ended its session early."""
    rules = facts.recording.plan.replay
    if rules is None:
        return None
    n = ended(facts.requests)
    found = int((overflowed(facts.requests) & facts.requests.in_window_phase).sum())
    if not found:
        return None
    text = (
        f"{counted(found, 'prompt', 'prompts')} of {n} at {facts.named()} exceeded the server's "
        f"context ({in_percent(found / n)}): their sessions ended there"
    )
    severe = found > rules.overflow_limit_frac * n
    hint = "--max-context leaves traces with longer requests out"
    return Doubt("doubt" if severe else "note", text, hint)
