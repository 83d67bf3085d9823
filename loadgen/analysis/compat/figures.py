"""Statistics as the peers print them: linear percentiles, spreads, sums over a duration."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from loadgen.model.compat import CompatFigure
from loadgen.model.table import Floats

NONE_HAS_IT = "no request has it"


@dataclass(frozen=True, slots=True)
class Family:
    """A quantity with several statistics. Values in SI; `scale` makes the tool's unit of them.

    `lacking` says why the records can't give it (empty: they can).
    """

    values: Floats
    unit: str
    definition: str
    scale: float = 1.0
    lacking: str = ""
    ddof: int = 0
    """Of the standard deviation: 0 over n, 1 over n - 1."""


def spread(family: Family, stats: Sequence[str], name: Callable[[str], str]) -> list[CompatFigure]:
    """One figure a statistic: mean, avg, median, std, std_dev, min, max, total, p99.9 ..."""
    values = family.values * family.scale
    reason = family.lacking or ("" if len(values) else NONE_HAS_IT)
    return [
        CompatFigure(
            name=name(stat),
            unit=family.unit,
            value=None if reason else statistic(values, stat, family.ddof),
            n=0 if reason else len(values),
            definition=family.definition,
            reason=reason,
        )
        for stat in stats
    ]


def statistic(values: Floats, stat: str, ddof: int = 0) -> float | None:
    """One statistic of a non-empty pool; percentiles by linear interpolation."""
    if stat in {"mean", "avg"}:
        return float(np.mean(values))
    if stat in {"std", "std_dev"}:
        return float(np.std(values, ddof=ddof)) if len(values) > ddof else 0.0
    if stat in {"min", "max"}:
        return float(values.min() if stat == "min" else values.max())
    if stat in {"total", "sum"}:
        return float(values.sum())
    percent = 50.0 if stat == "median" else float(stat[1:])
    return float(np.percentile(values, percent))


def one(
    name: str, unit: str, value: float | None, definition: str, n: int = 0, reason: str = ""
) -> CompatFigure:
    """A single figure; without a value it needs a reason."""
    return CompatFigure(name, unit, value, n, definition, reason)


def per_s(total: float, span_s: float) -> tuple[float | None, str]:
    """Total over the duration, and why there is none."""
    return (total / span_s, "") if span_s > 0 else (None, "the duration is 0")


def rate(name: str, unit: str, total: float, span_s: float, definition: str) -> CompatFigure:
    """A total over the duration as a figure."""
    value, reason = per_s(total, span_s)
    return CompatFigure(name, unit, value, 0, definition, reason)


def reciprocals(
    figures: Sequence[CompatFigure],
    name: Callable[[str], str],
    unit: str,
    definition: str,
    scale: float = 1.0,
) -> Iterator[CompatFigure]:
    """`scale` over each figure that is above 0: a speed at the same end of the distribution."""
    for figure in figures:
        value = scale / figure.value if figure.value else None
        reason = figure.reason or ("" if value is not None else "the time is 0")
        yield CompatFigure(name(figure.name), unit, value, figure.n, definition, reason)
