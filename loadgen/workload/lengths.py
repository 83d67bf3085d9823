"""Distributions of lengths and of think times, written as specs and drawn from seeded chance.

`1024` alone is `fixed:1024`. Token counts know k = 1024, gaps are durations.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Protocol, TypeVar

from loadgen.errors import InputError, UsageError
from loadgen.specs import parse_spec

_REDRAWS = 100
_DISTRIBUTIONS = "or a distribution: `uniform:512,2048`, `normal:1024,sd=200`"
D = TypeVar("D")


class Length(Protocol):
    """A distribution of whole numbers, 1 or above."""

    def draw(self, rng: Random) -> int:
        """One length, tokens (or turns)."""


class Gap(Protocol):
    """A distribution of waiting times."""

    def draw_ns(self, rng: Random) -> int:
        """One gap, ns, 0 or above."""


@dataclass(frozen=True)
class Fixed:
    """`1024` or `fixed:1024`."""

    n_tok: int

    def __post_init__(self) -> None:
        _at_least_one("n_tok", self.n_tok)

    def draw(self, rng: Random) -> int:
        """Always `n_tok`."""
        return self.n_tok


@dataclass(frozen=True)
class Uniform:
    """`uniform:512,2048`: every whole number between, ends included."""

    low_tok: int
    high_tok: int

    def __post_init__(self) -> None:
        _at_least_one("low_tok", self.low_tok)
        if self.high_tok < self.low_tok:
            raise ValueError("high_tok lies below low")

    def draw(self, rng: Random) -> int:
        """One of `low_tok..high_tok`."""
        return rng.randint(self.low_tok, self.high_tok)


@dataclass(frozen=True)
class Normal:
    """`normal:1024,sd=200[,low=1][,high=4096]`: drawn again while outside low..high."""

    mean_tok: int
    sd_tok: int
    low_tok: int = 1
    high_tok: int | None = None

    def __post_init__(self) -> None:
        _at_least_one("low_tok", self.low_tok)
        _mean_inside(self.mean_tok, self.low_tok, self.high_tok)

    def draw(self, rng: Random) -> int:
        """A rounded normal variate within low..high."""
        return _within(self, lambda: rng.gauss(self.mean_tok, self.sd_tok))


@dataclass(frozen=True)
class Lognormal:
    """`lognormal:1024,sd=900[,low=1][,high=32k]`: mean and sd of the lengths themselves."""

    mean_tok: int
    sd_tok: int
    low_tok: int = 1
    high_tok: int | None = None

    def __post_init__(self) -> None:
        _at_least_one("mean_tok", self.mean_tok)
        _at_least_one("low_tok", self.low_tok)
        _mean_inside(self.mean_tok, self.low_tok, self.high_tok)

    def draw(self, rng: Random) -> int:
        """A rounded lognormal variate within low..high."""
        variance = math.log1p((self.sd_tok / self.mean_tok) ** 2)
        mu = math.log(self.mean_tok) - variance / 2
        return _within(self, lambda: rng.lognormvariate(mu, math.sqrt(variance)))


@dataclass(frozen=True)
class Empirical:
    """`empirical:FILE`: numbers, one a line (or apart by blanks or commas), drawn with return."""

    path: str

    def draw(self, rng: Random) -> int:
        """One of the file's numbers, each as likely as it is frequent."""
        return rng.choice(_numbers(self.path))


@dataclass(frozen=True)
class FixedGap:
    """`2s` or `fixed:2s`."""

    gap_ns: int

    def draw_ns(self, rng: Random) -> int:
        """Always `gap_ns`."""
        return self.gap_ns


@dataclass(frozen=True)
class UniformGap:
    """`uniform:1s,5s`."""

    low_ns: int
    high_ns: int

    def __post_init__(self) -> None:
        if self.high_ns < self.low_ns:
            raise ValueError("high_ns lies below low")

    def draw_ns(self, rng: Random) -> int:
        """Anything between the two, equally likely."""
        return rng.randint(self.low_ns, self.high_ns)


@dataclass(frozen=True)
class ExponentialGap:
    """`exponential:2s`: the mean."""

    mean_ns: int

    def draw_ns(self, rng: Random) -> int:
        """An exponential variate."""
        return round(-self.mean_ns * math.log(1.0 - rng.random()))


LENGTHS: dict[str, type[Length]] = {
    "fixed": Fixed,
    "uniform": Uniform,
    "normal": Normal,
    "lognormal": Lognormal,
    "empirical": Empirical,
}

GAPS: dict[str, type[Gap]] = {
    "fixed": FixedGap,
    "uniform": UniformGap,
    "exponential": ExponentialGap,
}


def parse_length(text: str, option: str) -> Length:
    """The distribution that `text` spells for `option` (isl, osl, turns).

    Raises:
        UsageError: not a length nor a distribution; names the option.
        InputError: the file of an empirical one holds no usable numbers.

    """
    length = _parse(text, option, LENGTHS)
    if isinstance(length, Empirical):
        _numbers(length.path)
    return length


def parse_gap(text: str, option: str) -> Gap:
    """The distribution of gaps that `text` spells for `option` (think).

    Raises:
        UsageError: not a duration nor a distribution; names the option.

    """
    return _parse(text, option, GAPS)


def length_file(text: str) -> Path | None:
    """The file that an empirical length reads, so that hashes can cover it."""
    name, _, rest = text.partition(":")
    return Path(rest.removeprefix("path=")) if name.strip() == "empirical" else None


def _parse(text: str, option: str, table: Mapping[str, type[D]]) -> D:
    named = text.partition(":")[0].strip() in table or ":" in text
    try:
        return parse_spec(text if named else f"fixed:{text}", table)
    except UsageError as error:
        if not named and table is LENGTHS:
            what = "a whole number from 1 was expected, like `512` or `8k` (k = 1024)"
            raise UsageError(f"{option}: `{text}`: {what}", _DISTRIBUTIONS) from error
        raise UsageError(f"{option}: {error}", error.hint) from error


@lru_cache(maxsize=8)
def _numbers(path: str) -> tuple[int, ...]:
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read lengths from `{path}`: {error}") from error
    numbers: list[int] = []
    for number, line in enumerate(lines, start=1):
        for word in line.replace(",", " ").strip(" []\t").split():
            if not word.isdecimal() or int(word) < 1:
                raise InputError(f"`{path}:{number}`: `{word}` is no whole number from 1")
            numbers.append(int(word))
    if not numbers:
        raise InputError(f"`{path}` holds no lengths", "write one whole number a line")
    return tuple(numbers)


def _at_least_one(name: str, value: int) -> None:
    if value < 1:
        raise ValueError(f"{name} must be at least 1")


def _mean_inside(mean: int, low: int, high: int | None) -> None:
    if mean < low or (high is not None and mean > high):
        raise ValueError("mean_tok lies outside low..high")


def _within(length: Normal | Lognormal, variate: Callable[[], float]) -> int:
    """The first rounded variate inside low..high; after 100 misses the nearest end."""
    high = length.high_tok
    drawn = 0
    for _ in range(_REDRAWS):
        drawn = round(variate())
        if drawn >= length.low_tok and (high is None or drawn <= high):
            return drawn
    return max(length.low_tok, drawn if high is None else min(drawn, high))
