"""Numbers as they were printed: the value, and the interval that rounding leaves open."""

import re
from dataclasses import dataclass

from loadgen.errors import InputError
from loadgen.model.claim import Printed

_NUMBER = re.compile(r"[-+]?\d[\d,_ ]*(?:\.(\d+))?")
_SCALES = {"k": 1e3, "m": 1e6, "million": 1e6, "b": 1e9, "billion": 1e9}
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "min": 60.0}


@dataclass(frozen=True, slots=True)
class Number:
    """`value` give or take `half`, half a unit of the last digit that was printed."""

    value: float
    half: float
    text: str

    @property
    def low(self) -> float:
        """The least that rounds to what was printed."""
        return self.value - self.half

    @property
    def high(self) -> float:
        """The most that rounds to what was printed."""
        return self.value + self.half

    def holds(self, value: float) -> bool:
        """Whether `value` would have been printed like this, floating point forgiven."""
        slack = 1e-9 * max(abs(self.value), abs(value))
        return self.low - slack <= value <= self.high + slack


def read_number(printed: Printed) -> Number:
    """The number in what was printed; signs of money, percent and units round it are left out.

    A float from YAML counts as printed with the digits that it needs.

    Raises: InputError where no number stands.
    """
    text = str(printed) if isinstance(printed, str | int) else repr(printed)
    found = _NUMBER.search(text)
    if found is None:
        raise InputError(f"`{text}`: a number was expected, as its source prints it")
    if "e" in text.lower() and isinstance(printed, float):
        return Number(printed, 0.0, text)
    digits = re.sub("[,_ ]", "", found[0])
    scale = _scale(text[found.end() :])
    half = 0.5 * 10.0 ** -len(found[1] or "") * scale
    return Number(float(digits) * scale, half, text)


def read_seconds(text: str) -> tuple[Number, str]:
    """A printed duration as seconds, and the unit that it was printed in.

    Raises: InputError where number or unit is missing.
    """
    number = read_number(text)
    unit = text.strip().rpartition(" ")[2].lstrip("0123456789.,")
    if unit not in SECONDS:
        known = ", ".join(SECONDS)
        raise InputError(f"`{text}`: a duration with its unit was expected", f"units: {known}")
    return Number(number.value * SECONDS[unit], number.half * SECONDS[unit], text), unit


def _scale(rest: str) -> float:
    word = re.match(r"\s*([A-Za-z]+)", rest)
    return _SCALES.get(word[1].lower(), 1.0) if word else 1.0
