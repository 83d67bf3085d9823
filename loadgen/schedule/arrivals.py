"""Load shapes as values: when sessions arrive, and how many may run at once.

An arrival is a whole number of nanoseconds after the point's start. Draws come from the generator
that is passed in, absolute from the start, so that no error adds up from one gap to the next.
"""

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import ClassVar, Protocol

from loadgen.units import NS_PER_S


class Shape(Protocol):
    """Arrivals and slots: all that the driver needs to know of a load."""

    @property
    def slots(self) -> int | None:
        """Sessions at once; None where nothing holds an arrival back."""

    @property
    def think_ns(self) -> int:
        """How long a slot rests between two sessions."""

    def arrivals(self, chance: random.Random) -> Iterator[int]:
        """Nanoseconds after the point's start, not decreasing."""


@dataclass(frozen=True)
class Closed:
    """`slots` sessions at once: the next one starts when one ends, after `think_ns`."""

    slots: int
    think_ns: int = 0

    def __post_init__(self) -> None:
        """Refuses a load that never sends. Raises: ValueError."""
        if self.slots < 1:
            raise ValueError("slots must be at least 1")

    def arrivals(self, chance: random.Random) -> Iterator[int]:
        """Always due: the slots alone hold sessions back."""
        return repeat(0)


@dataclass(frozen=True)
class Constant:
    """One session each 1/rate seconds, whatever the server does."""

    rate_rps: float
    slots: ClassVar[None] = None
    think_ns: ClassVar[int] = 0

    def arrivals(self, chance: random.Random) -> Iterator[int]:
        """0, 1/rate, 2/rate ... seconds."""
        number = 0
        while True:
            yield round(number * NS_PER_S / self.rate_rps)
            number += 1


@dataclass(frozen=True)
class Poisson:
    """Independent arrivals at a mean rate (exponential gaps)."""

    rate_rps: float
    slots: ClassVar[None] = None
    think_ns: ClassVar[int] = 0

    def arrivals(self, chance: random.Random) -> Iterator[int]:
        """Running sums of exponential gaps of mean 1/rate seconds."""
        at_s = 0.0
        while True:
            at_s += chance.expovariate(self.rate_rps)
            yield round(at_s * NS_PER_S)


@dataclass(frozen=True)
class Gamma:
    """Gamma-distributed gaps; their coefficient of variation is 1/sqrt(shape)."""

    rate_rps: float
    shape: float = 1.0
    slots: ClassVar[None] = None
    think_ns: ClassVar[int] = 0

    def __post_init__(self) -> None:
        """Refuses a shape that has no distribution. Raises: ValueError."""
        if self.shape <= 0:
            raise ValueError("shape must be above 0")

    def arrivals(self, chance: random.Random) -> Iterator[int]:
        """Running sums of gamma gaps of mean 1/rate seconds."""
        at_s = 0.0
        scale_s = 1.0 / (self.rate_rps * self.shape)
        while True:
            at_s += chance.gammavariate(self.shape, scale_s)
            yield round(at_s * NS_PER_S)


@dataclass(frozen=True)
class Trace:
    """Sessions arrive when their recording says, `speed` times as fast; one pass."""

    speed: float = 1.0
    slots: ClassVar[None] = None
    think_ns: ClassVar[int] = 0

    def __post_init__(self) -> None:
        """Refuses a speed at which nothing would come. Raises: ValueError."""
        if not 0 < self.speed < math.inf:
            raise ValueError("speed must be above 0")

    def arrivals(self, chance: random.Random) -> Iterator[int]:
        """Nothing of its own: the sessions say when."""
        return repeat(0)


def recorded_speed(shape: Shape) -> float | None:
    """How many times as fast sessions arrive as recorded; None where the shape itself says when."""
    return shape.speed if isinstance(shape, Trace) else None
