"""Unit slips: which mistaken unit would explain a value that its bounds or siblings refuse.

A slip is a hypothesis and never a correction. It is `probable` where a sibling agrees with the
slipped value (tpot x interactivity = 1, e2e = ttft + (n - 1) tpot), else only `possible`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

TOLERANCE_FRAC = 0.05


@dataclass(frozen=True, slots=True)
class Slip:
    """`value` times `factor` would be right; `name` says which mistake that is."""

    factor: float
    name: str
    probable: bool = False


@dataclass(frozen=True, slots=True)
class Band:
    """Where a value may lie: from `low` to `high`, None for no bound on that side."""

    low: float | None = None
    high: float | None = None

    def holds(self, value: float) -> bool:
        """Whether the value lies in the band."""
        above = self.low is None or value >= self.low
        return above and (self.high is None or value <= self.high)


SLIPS: tuple[Slip, ...] = (
    Slip(1e3, "a thousand too small (s printed as ms, k or G left away)"),
    Slip(1e-3, "a thousand too large (ms printed as s, k or G written twice)"),
    Slip(1e6, "a million too small (s printed as us)"),
    Slip(1e-6, "a million too large (us printed as s)"),
    Slip(60.0, "sixty too small (per second for per minute)"),
    Slip(1 / 60.0, "sixty too large (per minute for per second)"),
    Slip(8.0, "eight too small (bytes for bits)"),
    Slip(1 / 8.0, "eight too large (bits for bytes)"),
    Slip(1024.0, "1024 too small (Ki for a unit)"),
    Slip(1 / 1024.0, "1024 too large (a unit for Ki)"),
)
"""Mistakes that are tried, the commonest first."""


def per_system_slips(gpus: int) -> tuple[Slip, ...]:
    """The mistakes of taking one GPU's figure for that of all `gpus`, and the other way round."""
    if gpus <= 1:
        return ()
    return (
        Slip(float(gpus), f"{gpus} too small (per GPU for the system of {gpus})"),
        Slip(1.0 / gpus, f"{gpus} too large (the system of {gpus} for one GPU)"),
    )


def unit_slips(
    value: float, band: Band = Band(), siblings: Sequence[float] = (), gpus: int = 1
) -> tuple[Slip, ...]:
    """Slips that bring `value` into its band and to its siblings; probable ones first.

    `siblings` are what other figures say that the value should be, within 5 %. Empty where the
    value needs no explanation: it lies in its band and agrees with every sibling. Only a value
    that a bound or a sibling refuses is questioned, and a slip that a sibling refuses is dropped.
    """
    if value <= 0 or (band.holds(value) and _agrees(value, siblings)):
        return ()
    found = [
        Slip(slip.factor, slip.name, probable=bool(siblings))
        for slip in (*SLIPS, *per_system_slips(gpus))
        if band.holds(value * slip.factor) and _agrees(value * slip.factor, siblings)
    ]
    if not siblings:
        return tuple(found)
    return tuple(sorted(found, key=lambda slip: _distance(value * slip.factor, siblings)))


def _agrees(value: float, siblings: Sequence[float]) -> bool:
    return all(abs(value - other) <= TOLERANCE_FRAC * abs(other) for other in siblings)


def _distance(value: float, siblings: Sequence[float]) -> float:
    """The largest relative distance from a sibling, to rank 1000 against 1024."""
    return max(abs(value - other) / abs(other) for other in siblings if other)
