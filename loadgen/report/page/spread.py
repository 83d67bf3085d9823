"""Distributions of one run: for each time, what share of the requests took at most how long."""

from collections.abc import Iterator, Sequence

from loadgen.model.summary import PointSummary, Summary
from loadgen.model.timeline import Curve, Timeline
from loadgen.report.figures import format_figure, format_number
from loadgen.report.page.axes import Axis, spanning
from loadgen.report.page.chart import Chart, Mark, Series
from loadgen.report.page.loads import MS, load_name
from loadgen.report.rows import measure_of, point_at

TITLES = {
    "ttft_s": "Time to first token",
    "tpot_s": "Time per output token",
    "e2e_s": "Whole answer",
}
STATS = ("p50", "p90", "p95", "p99", "max")
LINES = 8
DOTTED = 12
"""Up to so many values each is a dot."""


def spread_charts(summary: Summary, line: Timeline | None) -> Iterator[Chart]:
    """One chart a time, a line a load; at most `LINES` loads, evenly chosen."""
    if line is None:
        return
    for name, title in TITLES.items():
        curves = [curve for curve in line.curves if curve.metric == name]
        if curves:
            yield _chart(name, title, curves, summary)


def _chart(name: str, title: str, curves: Sequence[Curve], summary: Summary) -> Chart:
    drawn = _chosen(curves)
    series = []
    for number, curve in enumerate(drawn):
        point = point_at(summary, curve.point)
        marks = [
            Mark(float(value) * MS, float(frac) * 100)
            for value, frac in zip(curve.value, curve.frac, strict=True)
        ]
        label = f"{load_name(point)} (n={format_number(curve.n)})" if point else ""
        series.append(Series(label, marks, number, "stairs", dots=curve.n <= DOTTED))
    unit = f"{name.removesuffix('_s').upper()} ms (log)"
    left = f" {len(drawn)} of {len(curves)} loads are drawn." if len(drawn) < len(curves) else ""
    return Chart(
        title=f"{title}: distribution",
        says=f"Share of good requests of the measuring window that took at most so long.{left}",
        x=spanning(unit, [mark.x for one in series for mark in one.marks]),
        y=Axis("% of requests", 0.0, 100.0),
        series=series,
        headings=("load", *(f"{stat} ms" for stat in STATS), "n"),
        rows=[_row(point, name) for point in summary.points],
        name=f"spread-{name}",
    )


def _chosen(curves: Sequence[Curve]) -> list[Curve]:
    """All, or `LINES` of them, first and last among them."""
    if len(curves) <= LINES:
        return list(curves)
    last = len(curves) - 1
    return [curves[round(place * last / (LINES - 1))] for place in range(LINES)]


def _row(point: PointSummary, name: str) -> tuple[str, ...]:
    """The summary's own figures, of all requests."""
    measures = [measure_of(point, f"{name}.{stat}") for stat in STATS]
    figures = [None if m is None or m.value is None else m.value * MS for m in measures]
    n = next((m.n for m in measures if m is not None), None)
    return (load_name(point), *(format_figure(f) for f in figures), format_number(n))
