"""Every measure of one point as rows: percentiles side by side, then one-number metrics."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from loadgen.model.summary import Measure, PointSummary
from loadgen.report.figures import format_number, shared_decimals
from loadgen.report.layout import Block, side_by_side

VALUE = "value"
ORDER = ("mean", "min", "p50", "p90", "p95", "p99", "p99.9", "max")
SECOND = 1.0
MS = 1000.0
PERCENT = 100.0
INTERVAL_WORDS = 2
"""How many of an interval's remarks the screen has room for; json and csv hold all."""


@dataclass(frozen=True, slots=True)
class Spread:
    """One metric's row: name, unit, a cell for each of the table's statistics, n."""

    name: str
    unit: str
    cells: tuple[str, ...]
    n: str


@dataclass(frozen=True, slots=True)
class Scalar:
    """A one-number metric's row: name, figure, unit, and its interval in words."""

    name: str
    figure: str
    unit: str
    remark: str


def _by_name(point: PointSummary) -> dict[str, list[Measure]]:
    """Measures with several statistics by name, in the summary's order."""
    found: dict[str, list[Measure]] = {}
    for measure in point.measures.values():
        if measure.stat != VALUE:
            found.setdefault(measure.name, []).append(measure)
    return found


def _known(measures: Iterable[Measure]) -> list[float]:
    """The figures that are there."""
    return [measure.value for measure in measures if measure.value is not None]


def statistics(point: PointSummary) -> list[str]:
    """The statistics that occur, in reading order: the columns of the rows."""
    found = {measure.stat for measures in _by_name(point).values() for measure in measures}
    return [stat for stat in ORDER if stat in found] + sorted(found - set(ORDER))


def spreads(point: PointSummary) -> list[Spread]:
    """Rows of all metrics that have at least one figure."""
    columns = statistics(point)
    return [_spread(name, ms, columns) for name, ms in _by_name(point).items() if _known(ms)]


def _spread(name: str, measures: Sequence[Measure], columns: Sequence[str]) -> Spread:
    """One metric's row; statistics that it lacks stay empty, absent figures read n/a."""
    unit, scale = readable_unit(measures)
    by_stat = {measure.stat: measure for measure in measures}
    middle = by_stat.get("p50", measures[0]).value
    decimals = shared_decimals([(middle or max(_known(measures))) * scale], 3, most=2)
    cells = [
        _scaled(by_stat[stat].value, scale, decimals) if stat in by_stat else "" for stat in columns
    ]
    n = format_number(max(measure.n for measure in measures))
    return Spread(shown_name(measures[0]), unit, tuple(cells), n)


def shown_name(measure: Measure) -> str:
    """The metric's name, without the unit where the column beside it shows another one."""
    return measure.name.removesuffix("_s") if measure.unit == "s" else measure.name


def readable_unit(measures: Sequence[Measure]) -> tuple[str, float]:
    """Unit and factor in which the figures read well: seconds below 1 in ms, shares in percent."""
    values = _known(measures)
    if measures[0].unit == "s" and (not values or min(abs(value) for value in values) < SECOND):
        return "ms", MS
    if measures[0].unit == "frac":
        return "%", PERCENT
    return measures[0].unit, 1.0


def _scaled(value: float | None, scale: float, decimals: int) -> str:
    """The figure in its readable unit."""
    return format_number(None if value is None else value * scale, decimals)


def spread_lines(point: PointSummary) -> list[str]:
    """The distributions as an aligned table; a sentence when the point has none."""
    rows = spreads(point)
    if not rows:
        return ["  no distribution: no request of this point has one"]
    names = max(len(row.name) for row in rows)
    units = max(len(row.unit) for row in rows)
    words = tuple((f"{row.name.ljust(names)} {row.unit.ljust(units)}",) for row in rows)
    found = [Block("", (" " * (names + 1 + units),), words)]
    for place, stat in enumerate(statistics(point)):
        found.append(Block("", (stat,), tuple((row.cells[place],) for row in rows)))
    found.append(Block("", ("n",), tuple((row.n,) for row in rows)))
    return [line for line in side_by_side(found) if line.strip()]


def scalars(point: PointSummary) -> list[Scalar]:
    """Rows of all one-number metrics that have their figure."""
    measures = [m for m in point.measures.values() if m.stat == VALUE and m.value is not None]
    return [_scalar(measure) for measure in measures]


def _scalar(measure: Measure) -> Scalar:
    """One row; shares are shown in percent, times below a second in ms."""
    unit, scale = readable_unit([measure])
    value = None if measure.value is None else measure.value * scale
    figure = format_number(value, shared_decimals([value], 3))
    return Scalar(shown_name(measure), figure, unit, _interval(measure, scale))


def _interval(measure: Measure, scale: float) -> str:
    """`130 .. 142 (95 %, 15 batch means)`, or nothing."""
    if measure.low is None or measure.high is None:
        return ""
    low, high = measure.low * scale, measure.high * scale
    decimals = shared_decimals([low, high], 3)
    span = f"{format_number(low, decimals)} .. {format_number(high, decimals)}"
    words = ", ".join(measure.interval.split(", ")[:INTERVAL_WORDS])
    return f"{span} ({words})" if words else span


def scalar_lines(point: PointSummary) -> list[str]:
    """The one-number metrics, aligned; empty when the point has none."""
    rows = scalars(point)
    if not rows:
        return []
    names = max(len(row.name) for row in rows)
    figures = max(len(row.figure) for row in rows)
    units = max(len(row.unit) for row in rows)
    return [
        f"  {row.name.ljust(names)}  {row.figure.rjust(figures)} {row.unit.ljust(units)}"
        f"  {row.remark}".rstrip()
        for row in rows
    ]


def absent_metrics(point: PointSummary) -> list[str]:
    """`n/a: tls_s, ttfr_s: no values`: metrics without any figure, those of one reason together."""
    by_reason: dict[str, list[str]] = {}
    for name, measures in _by_name(point).items():
        if not _known(measures):
            by_reason.setdefault(measures[0].reason, []).append(name)
    for measure in point.measures.values():
        if measure.stat == VALUE and measure.value is None:
            by_reason.setdefault(measure.reason, []).append(measure.name)
    return [
        f"n/a: {', '.join(names)}" + (f": {reason}" if reason else "")
        for reason, names in by_reason.items()
    ]
