"""Every measure of one point as rows: percentiles side by side, then one-number metrics."""

from collections.abc import Sequence

from loadgen.model.summary import Measure, PointSummary
from loadgen.report.figures import format_number, shared_decimals
from loadgen.report.layout import Block, side_by_side

VALUE = "value"
SECOND = 1.0
MS = 1000.0
PERCENT = 100.0


def spreads(point: PointSummary) -> dict[str, list[Measure]]:
    """Measures with several statistics by name, in the summary's order."""
    found: dict[str, list[Measure]] = {}
    for measure in point.measures.values():
        if measure.stat != VALUE:
            found.setdefault(measure.name, []).append(measure)
    return found


def scalars(point: PointSummary) -> list[Measure]:
    """Measures that are one number a point."""
    return [measure for measure in point.measures.values() if measure.stat == VALUE]


def statistics(point: PointSummary) -> list[str]:
    """The statistics that occur, in order of first appearance: the columns of the rows."""
    return list(dict.fromkeys(m.stat for ms in spreads(point).values() for m in ms))


def spread_cells(point: PointSummary) -> list[tuple[str, ...]]:
    """Rows of name, unit, one cell a statistic, n. Times below a second are shown in ms."""
    columns = statistics(point)
    return [_spread_row(name, measures, columns) for name, measures in spreads(point).items()]


def _spread_row(name: str, measures: Sequence[Measure], columns: Sequence[str]) -> tuple[str, ...]:
    """One metric's cells; statistics that it lacks stay empty, absent figures read n/a."""
    unit, scale = readable_unit(measures)
    by_stat = {measure.stat: measure for measure in measures}
    values = [m.value * scale for m in measures if m.value is not None]
    decimals = shared_decimals(values[:1] or values, 3, most=2)
    cells = [
        _scaled(by_stat[stat].value, scale, decimals) if stat in by_stat else "" for stat in columns
    ]
    stem = name.removesuffix(f"_{measures[0].unit}")
    return (stem, unit, *cells, format_number(max(measure.n for measure in measures)))


def readable_unit(measures: Sequence[Measure]) -> tuple[str, float]:
    """Unit and factor in which the figures read well: seconds below 1 become ms."""
    values = [measure.value for measure in measures if measure.value is not None]
    if measures[0].unit == "s" and (not values or min(abs(value) for value in values) < SECOND):
        return "ms", MS
    if measures[0].unit == "frac":
        return "%", PERCENT
    return measures[0].unit, 1.0


def _scaled(value: float | None, scale: float, decimals: int) -> str:
    """The figure in its readable unit."""
    return format_number(None if value is None else value * scale, decimals)


def spread_lines(point: PointSummary) -> list[str]:
    """The distributions as an aligned table; empty when the point has none."""
    rows = spread_cells(point)
    if not rows:
        return ["  no distribution: no request of this point has a latency"]
    names = max(len(row[0]) for row in rows)
    units = max(len(row[1]) for row in rows)
    left = Block("", ("".ljust(names + 1 + units),), tuple((_name(r, names, units),) for r in rows))
    titles = (*statistics(point), "n")
    widest = [max(len(row[2 + i]) for row in rows) for i in range(len(titles))]
    rest = [
        Block("", (titles[i],), tuple((row[2 + i].rjust(widest[i]),) for row in rows))
        for i in range(len(titles))
    ]
    return [line for line in side_by_side([left, *rest]) if line.strip()]


def _name(row: tuple[str, ...], names: int, units: int) -> str:
    """Name and unit, both aligned at the left."""
    return f"{row[0].ljust(names)} {row[1].ljust(units)}"


def scalar_cells(point: PointSummary) -> list[tuple[str, str, str, str]]:
    """Rows of name, figure, unit and interval or reason."""
    return [_scalar_row(measure) for measure in scalars(point)]


def _scalar_row(measure: Measure) -> tuple[str, str, str, str]:
    """One metric's row; shares are shown in percent, times below a second in ms."""
    unit, scale = readable_unit([measure])
    value = None if measure.value is None else measure.value * scale
    figure = format_number(value, shared_decimals([value], 3))
    return measure.name.removesuffix(f"_{measure.unit}"), figure, unit, _remark(measure, scale)


def _remark(measure: Measure, scale: float) -> str:
    """`130 .. 142 (95 %, blocks)`, the reason why a figure is absent, or nothing."""
    if measure.value is None:
        return measure.reason
    if measure.low is None or measure.high is None:
        return ""
    low, high = measure.low * scale, measure.high * scale
    decimals = shared_decimals([low, high], 3)
    span = f"{format_number(low, decimals)} .. {format_number(high, decimals)}"
    return f"{span} ({measure.interval})" if measure.interval else span


def scalar_lines(point: PointSummary) -> list[str]:
    """The one-number metrics, aligned; empty when the point has none."""
    rows = scalar_cells(point)
    if not rows:
        return []
    names, figures, units = (max(len(row[i]) for row in rows) for i in range(3))
    return [
        f"  {name.ljust(names)}  {figure.rjust(figures)} {unit.ljust(units)}  {remark}".rstrip()
        for name, figure, unit, remark in rows
    ]
