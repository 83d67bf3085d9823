"""What a reader must know to believe a figure, and which of it a run tells."""

from typing import Literal

from msgspec import Struct

Status = Literal["observed", "declared", "inferred", "missing", "contradicted"]


class DisclosedField(Struct, frozen=True):
    """One line of the disclosure card."""

    group: str
    """semantics, workload, load, model, system, latency, duration, replication, energy ..."""
    field: str
    weight: float
    """Of 100 over all fields."""
    status: Status
    observed: str = ""
    declared: str = ""
    hint: str = ""
    """What would tell it, where it is missing."""


class SixthValue(Struct, frozen=True):
    """One of the six values that a comparable benchmark discloses."""

    name: str
    """aggregate_throughput, single_stream, ttft, latency, energy, cost."""
    text: str
    """The figure with unit, interval, n and the point it is of; or `not measured`."""
    definition: str
    measured: bool
    hint: str = ""
    """What would measure it."""


class Disclosure(Struct, frozen=True):
    """The card at the head of a report."""

    score: float
    """Sum of the weights of the fields that are told, 0 to 100."""
    six: tuple[SixthValue, ...]
    fields: tuple[DisclosedField, ...]
    """Ordered by group; the missing ones by weight are what to publish next."""
