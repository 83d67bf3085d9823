"""Axes of a chart: from figures to places, and the ticks that people read. Pure arithmetic."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from loadgen.report.figures import format_number

TICKS = 5
LOG_STEPS = ((1,), (1, 3), (1, 2, 5))
MANY = 8
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of figures, low < high; both positive where it is logarithmic.

    `named` puts ticks where the figures are (concurrencies) instead of at round numbers.
    """

    title: str
    low: float
    high: float
    log: bool = False
    named: tuple[float, ...] = ()

    def share(self, value: float) -> float:
        """Where the figure lies, 0 at `low` to 1 at `high`; kept within."""
        if self.log:
            low, high = math.log(self.low), math.log(self.high)
            place = (math.log(max(value, self.low)) - low) / (high - low)
        else:
            place = (value - self.low) / (self.high - self.low)
        return min(1.0, max(0.0, place))

    def ticks(self) -> list[tuple[float, str]]:
        """Figures that are marked, with their words."""
        if self.named:
            marked = [value for value in self.named if self.low <= value <= self.high]
            return [(value, short(value)) for value in self._apart(marked)]
        values = self._log_ticks() if self.log else linear_ticks(self.low, self.high)
        return [(value, short(value)) for value in values]

    def _apart(self, values: list[float]) -> list[float]:
        """The values whose words have room beside each other."""
        kept: list[float] = []
        for value in sorted(values):
            if not kept or self.share(value) - self.share(kept[-1]) > 0.06:
                kept.append(value)
        return kept

    def _log_ticks(self) -> list[float]:
        """Round numbers, finer where the range has few decades."""
        found: list[float] = []
        for steps in reversed(LOG_STEPS):
            found = [
                step * 10.0**power
                for power in range(
                    math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1
                )
                for step in steps
                if self.low * 0.999 <= step * 10.0**power <= self.high * 1.001
            ]
            if len(found) <= MANY:
                break
        return found if len(found) > 1 else linear_ticks(self.low, self.high)


def linear_ticks(low: float, high: float) -> list[float]:
    """About `TICKS` round numbers in [low, high]."""
    rough = (high - low) / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(s * power for s in STEPS if s * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def short(value: float) -> str:
    """`1,200`, `25k`, `0.05`: as few signs as tell it."""
    size = abs(value)
    if size >= 1e6:
        return f"{value / 1e6:.3g}M"
    if size >= 1e4:
        return f"{value / 1e3:.4g}k"
    if size >= 100 or value == int(value):
        return format_number(value)
    return f"{value:.3g}"


def from_zero(title: str, values: Iterable[float]) -> Axis:
    """A linear axis from 0 to a little above the highest."""
    highest = max(values, default=0.0)
    return Axis(title, 0.0, highest * 1.08 if highest > 0 else 1.0)


def spanning(title: str, values: Iterable[float]) -> Axis:
    """A logarithmic axis round all positive values; 1 to 10 without any."""
    known = [value for value in values if value > 0]
    if not known:
        return Axis(title, 1.0, 10.0, log=True)
    low, high = min(known), max(known)
    if high / low < 2.0:
        low, high = low / 1.5, high * 1.5
    return Axis(title, low / 1.05, high * 1.05, log=True)
