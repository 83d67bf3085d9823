"""What witnesses told (`Telemetry`) as series: who told what, over time."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from loadgen.model.columns import Floats, Ints
from loadgen.model.series import Telemetry

SILENT = "silent"
"""Name of the samples that say that nobody answered."""


class Key(NamedTuple):
    """Whose series it is: who was asked, what for, which engine, GPU or statistic."""

    source: str
    origin: str
    name: str
    part: str


@dataclass(frozen=True, slots=True)
class Series:
    """One value over time, by time."""

    at_ns: Ints
    value: Floats

    def last_until(self, at_ns: int) -> float | None:
        """The last value told at or before an instant; None where there is none."""
        index = int(np.searchsorted(self.at_ns, at_ns, side="right")) - 1
        return float(self.value[index]) if index >= 0 else None

    def first_from(self, at_ns: int, until_ns: int | None = None) -> float | None:
        """The first value told at or after an instant, and before another; None without one."""
        index = int(np.searchsorted(self.at_ns, at_ns, side="left"))
        if index == len(self.at_ns) or (until_ns is not None and self.at_ns[index] > until_ns):
            return None
        return float(self.value[index])

    def within(self, start_at_ns: int, end_at_ns: int) -> "Series":
        """The part in [start, end]."""
        inside = (self.at_ns >= start_at_ns) & (self.at_ns <= end_at_ns)
        return Series(self.at_ns[inside], self.value[inside])


@dataclass(frozen=True)
class Looks:
    """All series of a run by their keys."""

    series: dict[Key, Series] = field(default_factory=dict)

    def of(self, source: str, name: str) -> Iterator[tuple[Key, Series]]:
        """The series of one name, whoever told them."""
        for key, series in self.series.items():
            if key.source == source and key.name == name:
                yield key, series

    def origins(self, source: str) -> tuple[str, ...]:
        """Who was asked, and answered or not."""
        return tuple(sorted({key.origin for key in self.series if key.source == source}))

    def instants(self, source: str, start_at_ns: int, end_at_ns: int) -> int:
        """How many looks brought an answer between two instants."""
        found = [
            series.within(start_at_ns, end_at_ns).at_ns
            for key, series in self.series.items()
            if key.source == source and key.name != SILENT
        ]
        return len(np.unique(np.concatenate(found))) if found else 0


def looks_of(telemetry: Telemetry) -> Looks:
    """The samples as series."""
    rows: dict[Key, list[int]] = {}
    words = (telemetry.source, telemetry.origin, telemetry.name, telemetry.part)
    for row, key in enumerate(zip(*words, strict=True)):
        rows.setdefault(Key(*key), []).append(row)
    return Looks({k: Series(telemetry.at_ns[at], telemetry.value[at]) for k, at in rows.items()})
