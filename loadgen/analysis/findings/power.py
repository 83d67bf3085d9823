"""Rules about power readings: energy is given whole, or withheld with the reason."""

from loadgen.analysis.energy import energy_of
from loadgen.analysis.findings.facts import Doubt, PointFacts

HINT = "throughput and latencies stand; energy needs every GPU, a gap-free window of 5 s and more"


def energy_withheld(facts: PointFacts) -> Doubt | None:
    """Power was read, and yet no energy can be given for the window."""
    energy = energy_of(facts.frame, facts.plan.index)
    if energy is None or not energy.reason:
        return None
    text = f"no energy at {facts.named()}: {energy.reason} ({energy.origin})"
    return Doubt("note", text, HINT)
