"""Charts of a sweep: yield against speed a user, rates and times against load; runs laid over."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from loadgen.model.plan import Plan
from loadgen.model.summary import Measure, PointSummary, Summary
from loadgen.report.figures import format_figure, format_number
from loadgen.report.page.axes import Axis, from_zero, spanning
from loadgen.report.page.chart import OTHERS, Chart, Mark, Series
from loadgen.report.rows import OUT, TOTAL, USER_P50, figure_of, measure_of, point_label

MS = 1000.0
LEAST_POINTS = 2
WIDE = 12.0
"""A range of figures beyond which its axis is logarithmic."""
PERCENTILES = ("p50", "p95", "p99")
TIMES = (
    ("ttft_s", "Time to first token", "from the moment a request was due"),
    ("tpot_s", "Time per output token", "after the first event of a request"),
    ("e2e_s", "Whole answer", "from due to the last token"),
)


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a page: the first is what the page is about, others are laid over."""

    name: str
    summary: Summary
    plan: Plan

    @property
    def points(self) -> tuple[PointSummary, ...]:
        """Its load points."""
        return self.summary.points


@dataclass(frozen=True, slots=True)
class Knot:
    """A point of the frontier: its speed a user, its yield, and the bounds of both."""

    point: PointSummary
    x: float
    y: float
    x_bounds: tuple[float, float] | None
    y_bounds: tuple[float, float] | None


def load_charts(runs: Sequence[Run]) -> list[Chart]:
    """The frontier, output rate, TTFT, TPOT and E2E; none for fewer than two points."""
    if len(runs[0].points) < LEAST_POINTS:
        return []
    found = [_frontier(runs), _rates(runs)]
    found += [_times(runs, *time) for time in TIMES]
    return [chart for chart in found if chart is not None]


def load_name(point: PointSummary) -> str:
    """`c=8`, or the load's own words."""
    label = point_label(point)
    return label if point.concurrency is None else f"c={label}"


def _frontier(runs: Sequence[Run]) -> Chart | None:
    """Yield against speed a user; the first run's points all, of others the frontier."""
    first = runs[0]
    per_gpu = all("gpus" in run.plan.prices for run in runs)
    knots = [_knots(run, per_gpu) for run in runs]
    if not knots[0]:
        return None
    every = [knot for of_run in knots for knot in of_run]
    unit = "total tok/s per GPU" if per_gpu else "output tok/s, all users"
    user = "p90 interactivity" if first.summary.replays else "p50"
    series = []
    for number, (run, of_run) in reversed(list(enumerate(zip(runs, knots, strict=True)))):
        style = 0 if number == 0 else OTHERS
        edge = [_mark(run, knot, unit, plain=True) for knot in frontier(of_run)]
        series.append(Series(run.name if len(runs) > 1 else "", edge, style, "steps", dots=False))
        marks = [_mark(run, knot, unit, plain=number > 0) for knot in of_run]
        series.append(Series("", marks, style, "none"))
    ladder = [(rung.target_tps, f"{rung.target_tps:g}") for rung in first.summary.ladder]
    highest = [knot.y_bounds[1] if knot.y_bounds else knot.y for knot in every]
    widest = [knot.x_bounds[1] if knot.x_bounds else knot.x for knot in every]
    return Chart(
        title="Throughput against interactivity",
        says=f"Steps join the points that no other beats in both; bars are intervals of"
        f" 95 % where there are any. Speed a user: {user}.",
        x=from_zero("tok/s per user", [1.1 * max(widest)]),
        y=from_zero(unit, highest),
        series=series,
        verticals=ladder,
        headings=("run", "load", "tok/s per user", unit),
        rows=[
            (run.name, load_name(k.point), format_figure(k.x), format_figure(k.y))
            for run, of_run in zip(runs, knots, strict=True)
            for k in of_run
        ],
        name="frontier",
        height=400.0,
    )


def _knots(run: Run, per_gpu: bool) -> list[Knot]:
    """Points that have both figures; a replay's own where the run is one."""
    gpus = run.plan.prices.get("gpus", 1.0) if per_gpu else 1.0
    replays = {replay.point: replay for replay in run.summary.replays}
    found = []
    for point in run.points:
        replay = replays.get(point.index)
        user = measure_of(point, USER_P50)
        rate = measure_of(point, TOTAL if per_gpu else OUT)
        if replay is not None:
            total = replay.total_tps if per_gpu else replay.output_tps
            x, y = replay.intvty_tps.get("p90"), total
        else:
            x, y = user.value if user else None, rate.value if rate else None
        if x is None or y is None:
            continue
        bounds = (None, None) if replay is not None else (_bounds(user), _bounds(rate))
        scaled = None if bounds[1] is None else (bounds[1][0] / gpus, bounds[1][1] / gpus)
        found.append(Knot(point, x, y / gpus, bounds[0], scaled))
    return found


def frontier(knots: Sequence[Knot]) -> list[Knot]:
    """Those that no other beats in both figures, by rising speed."""
    kept: list[Knot] = []
    for knot in sorted(knots, key=lambda knot: (knot.x, -knot.y)):
        while kept and kept[-1].y <= knot.y:
            kept.pop()
        kept.append(knot)
    return kept


def _mark(run: Run, knot: Knot, unit: str, *, plain: bool) -> Mark:
    """The point as it is drawn; labelled in the first run, where it is not plain."""
    headline = run.summary.headline
    name = load_name(knot.point)
    tip = (
        f"{run.name} {name}: {format_figure(knot.x)} tok/s per user, {format_figure(knot.y)} {unit}"
    )
    if plain:
        return Mark(knot.x, knot.y, tip=tip)
    roles = {headline.single_stream: "single stream", headline.best_aggregate: "best aggregate"}
    role = roles.get(knot.point.index, "")
    return Mark(
        knot.x,
        knot.y,
        label=f"{name} {role}".strip(),
        tip="; ".join([tip, *_more(knot.point)]),
        x_bounds=knot.x_bounds,
        y_bounds=knot.y_bounds,
        strong=bool(role),
    )


def _more(point: PointSummary) -> Iterator[str]:
    """What else hovering over a point tells."""
    for key, name in (("ttft_s.p50", "TTFT p50"), ("tpot_s.p50", "TPOT p50")):
        measure = measure_of(point, key)
        if measure is not None and measure.value is not None:
            yield f"{name} {format_figure(measure.value * MS)} ms (n={format_number(measure.n)})"


def _bounds(measure: Measure | None, scale: float = 1.0) -> tuple[float, float] | None:
    if measure is None or measure.low is None or measure.high is None:
        return None
    return measure.low * scale, measure.high * scale


def _places(points: Sequence[PointSummary]) -> tuple[str, Callable[[PointSummary], float]]:
    """By what points are placed along a load axis, and its words."""
    if all(point.concurrency for point in points):
        return "concurrency", lambda point: float(point.concurrency or 1)
    if all(figure_of(point, "asked_rps") for point in points):
        return "requests due per second", lambda point: figure_of(point, "asked_rps") or 0.0
    return "point of the run", lambda point: point.index + 1.0


def _load_axis(runs: Sequence[Run]) -> tuple[Axis, Callable[[PointSummary], float]]:
    """One axis for all runs, its ticks at the first run's loads."""
    title, place = _places([point for run in runs for point in run.points])
    places = [place(point) for run in runs for point in run.points]
    named = tuple(dict.fromkeys(place(point) for point in runs[0].points))
    axis = spanning(title, places)
    return Axis(title, axis.low * 0.95, axis.high * 1.05, axis.log, named), place


def _rates(runs: Sequence[Run]) -> Chart | None:
    """Output tokens a second against load, with intervals; the knee where there is one."""
    axis, place = _load_axis(runs)
    series, rows = [], []
    for number, run in reversed(list(enumerate(runs))):
        marks = _by_load(run, OUT, place, 1.0, "tok/s")
        if marks:
            style = 0 if number == 0 else OTHERS
            series.append(Series(run.name if len(runs) > 1 else "", marks, style))
        rows += [_rate_row(run, point) for point in run.points]
    if not series:
        return None
    tops = [m.y_bounds[1] if m.y_bounds else m.y for one in series for m in one.marks]
    return Chart(
        title="Output rate against load",
        says="Tokens that came in the measuring window, all users together; bars: 95 % interval.",
        x=axis,
        y=from_zero("output tok/s", tops),
        series=series,
        verticals=list(_knee(runs[0], place)),
        headings=("run", "load", "output tok/s", "low", "high"),
        rows=rows,
        name="rates",
    )


def _rate_row(run: Run, point: PointSummary) -> tuple[str, ...]:
    measure = measure_of(point, OUT)
    figures = (measure.value, measure.low, measure.high) if measure else (None,) * 3
    return (run.name, load_name(point), *(format_figure(figure) for figure in figures))


def _knee(run: Run, place: Callable[[PointSummary], float]) -> Iterator[tuple[float, str]]:
    for point in run.points:
        if point.index == run.summary.headline.knee:
            yield place(point), "knee"


def _by_load(
    run: Run, key: str, place: Callable[[PointSummary], float], scale: float, unit: str
) -> list[Mark]:
    """Marks of one measure over the points that have it, in order of load."""
    marks = []
    for point in sorted(run.points, key=place):
        measure = measure_of(point, key)
        if measure is None or measure.value is None:
            continue
        value = measure.value * scale
        n = f"(n={format_number(measure.n)})"
        words = f"{load_name(point)}: {measure.stat} {format_figure(value)} {unit} {n}"
        bounds = _bounds(measure, scale)
        marks.append(Mark(place(point), value, tip=words, y_bounds=bounds))
    return marks


def _times(runs: Sequence[Run], name: str, title: str, clock: str) -> Chart | None:
    """Percentiles of one time against load; of other runs the median."""
    axis, place = _load_axis(runs)
    own = [
        Series(stat, marks, number)
        for number, stat in enumerate(PERCENTILES)
        if (marks := _by_load(runs[0], f"{name}.{stat}", place, MS, "ms"))
    ]
    if not own:
        return None
    others = [
        Series(f"p50 of {run.name}", marks, OTHERS)
        for run in runs[1:]
        if (marks := _by_load(run, f"{name}.p50", place, MS, "ms"))
    ]
    series = [*others, *own]
    values = [mark.y for one in series for mark in one.marks]
    wide = min(values) > 0 and max(values) / min(values) > WIDE
    tops = [m.y_bounds[1] if m.y_bounds else m.y for one in series for m in one.marks]
    stem = name.removesuffix("_s").upper()
    unit = f"{stem} ms"
    return Chart(
        title=f"{title} against load",
        says=f"{stem}, {clock}. A percentile that its n can't carry is not drawn.",
        x=axis,
        y=spanning(unit + " (log)", [*values, *tops]) if wide else from_zero(unit, tops),
        series=series,
        headings=("load", *(f"{stat} ms" for stat in PERCENTILES), "n"),
        rows=[_time_row(point, name) for point in runs[0].points],
        name=f"load-{name}",
    )


def _time_row(point: PointSummary, name: str) -> tuple[str, ...]:
    measures = [measure_of(point, f"{name}.{stat}") for stat in PERCENTILES]
    figures = [m.value if m is not None else None for m in measures]
    cells = [format_figure(None if f is None else f * MS) for f in figures]
    return (load_name(point), *cells, format_number(measures[0].n if measures[0] else None))
