"""What a load point cost in joules, within a named boundary."""

from typing import Literal

from msgspec import Struct

EnergySource = Literal["counter", "integral", "none"]


class PointEnergy(Struct, frozen=True):
    """Energy over the point's measuring window, the one its tokens come from.

    `joules` is None where it can't be given; `reason` then says why (never a guess).
    """

    point: int
    boundary: str
    """gpu, gpu+cpu, node, rack, facility: what the power series covers, as declared or known."""
    origin: str
    """Who told: nvml, a URL, an expression."""
    source: EnergySource
    """counter: difference of an energy counter; integral: trapezoids over power samples."""
    window_s: float
    joules: float | None
    reason: str = ""
    mean_w: float | None = None
    idle_w: float | None = None
    """Mean power of the same parts before the first and after the last point, unloaded."""
    gpus_seen: int = 0
    gpus_declared: int | None = None
    integral_j: float | None = None
    """The other way, where both are known: they must agree within 5 %."""
    gap_max_s: float | None = None
    samples: int = 0
    provisioned_w: float | None = None
    """What the parts may draw by their rating; provisioned is not measured."""
