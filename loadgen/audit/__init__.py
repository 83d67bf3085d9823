"""Claims under examination: arithmetic, physics, wording, readings, disclosure. Pure."""

from collections.abc import Callable
from typing import Any

from loadgen.audit.arithmetic import (
    changes,
    end_to_ends,
    in_flights,
    inverses,
    per_gpus,
    rate_times,
    streams,
    unit_costs,
)
from loadgen.audit.disclosure import disclosure, reproducibility
from loadgen.audit.physical import capacity, compute_ceiling, latencies, powers
from loadgen.audit.printed import read_number
from loadgen.audit.readings import readings_of
from loadgen.audit.subject import Subject, subject_of
from loadgen.audit.tables import ladders, listed, peaks
from loadgen.audit.wording import WORDING
from loadgen.model import claim as said
from loadgen.model.claim import AuditResult, Claim, Reading, Ruling

__all__ = ["RULES", "audit"]

RULES: dict[type, Callable[[Any], list[Ruling]]] = {
    said.RateTime: rate_times,
    said.Change: changes,
    said.UnitCost: unit_costs,
    said.PerGpu: per_gpus,
    said.Inverse: inverses,
    said.EndToEnd: end_to_ends,
    said.InFlight: in_flights,
    said.Streams: streams,
    said.Peak: peaks,
    said.Ladder: ladders,
    said.Listed: listed,
    said.Power: powers,
}
"""What examines a statement by itself; statements that need the system come on top."""


def audit(claim: Claim) -> AuditResult:
    """Rulings, readings and the three scores of a claim.

    Raises: InputError where a printed value is no number, or a fact can't be one.
    """
    subject = subject_of(claim)
    found = [ruling for statement in claim.statements for ruling in _examine(statement, subject)]
    found += capacity(subject)
    found += [ruling for rule in WORDING for ruling in rule(claim)]
    rulings = list(dict.fromkeys(found))  # two statements may share a number
    readings = readings_of(claim, subject)
    points, grade, lacking = disclosure(claim)
    consistency = _consistency(rulings)
    return AuditResult(
        claim_id=claim.id,
        disclosure=points,
        grade=grade,
        consistency=consistency,
        reproducibility=reproducibility(claim),
        verdict=_sentence(claim, rulings, readings, grade),
        rulings=tuple(rulings),
        readings=readings,
        lacking=lacking,
    )


def _examine(statement: said.Statement, subject: Subject) -> list[Ruling]:
    if isinstance(statement, said.Latencies):
        return latencies(statement, subject)
    rulings = RULES[type(statement)](statement)
    if isinstance(statement, said.UnitCost):
        rulings += compute_ceiling(read_number(statement.tps_per_gpu), subject, statement.src)
    if isinstance(statement, said.Ladder):
        most = [read_number(r.tps_per_gpu) for r in statement.rows if r.tps_per_gpu is not None]
        if most:
            largest = max(most, key=lambda number: number.value)
            rulings += compute_ceiling(largest, subject, statement.src)
    return rulings


def _consistency(rulings: list[Ruling]) -> Any:
    """The gravest verdict of the arithmetic and physics rules; wording has no part in it."""
    verdicts = {ruling.verdict for ruling in rulings if not ruling.rule.startswith("S")}
    if "contradiction" in verdicts:
        return "contradiction"
    return "warn" if "warn" in verdicts else "ok"


def _sentence(
    claim: Claim, rulings: list[Ruling], readings: tuple[Reading, ...], grade: str
) -> str:
    """One sentence: what stands, what falls, what is open."""
    broken = [ruling for ruling in rulings if ruling.verdict == "contradiction"]
    alive = [reading for reading in readings if reading.survives]
    number = f"{claim.value.num:,.10g} {claim.value.unit}"
    if broken:
        return f"{number}: contradicted by {broken[0].rule}: {broken[0].text}"
    stated = claim.value.quantity.replace("_", " ")
    if not readings:
        return f"{number} ({stated}): consistent as far as it is told, disclosure grade {grade}"
    if not alive:
        return f"{number}: no reading survives the arithmetic of the system that is named"
    streams_alive = [reading for reading in alive if reading.name.startswith("one stream")]
    if claim.value.quantity == "per_stream_decode" or len(streams_alive) == len(alive):
        kept = streams_alive or alive
        return f"{number} is possible as {kept[0].name}; it needs {kept[0].needs}"
    names = "; ".join(reading.name for reading in alive)
    return f"{number} can be read as {names}: the claim doesn't say which"
