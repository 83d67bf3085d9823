"""Charts as inline SVG: no script, no font, no network; colours come from the page's style.

A chart is a picture of a table: `Chart.table` holds the same figures for those who can't see it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, pairwise
from typing import Literal

from loadgen.report.page.axes import Axis
from loadgen.report.page.markup import tag, text

WIDTH, HEIGHT = 600.0, 340.0
LEFT, RIGHT, TOP, BOTTOM = 74.0, 16.0, 34.0, 50.0
COLOURS = 7
OTHERS = -1
"""The style of runs laid under the first: grey."""
CAP = 4.0


@dataclass(frozen=True, slots=True)
class Mark:
    """One figure: its place, its interval each way where there is one, what hovering says."""

    x: float
    y: float
    label: str = ""
    tip: str = ""
    x_bounds: tuple[float, float] | None = None
    y_bounds: tuple[float, float] | None = None
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """Marks of one kind. `style` chooses colour and dash; `gaps` breaks the line before these."""

    name: str
    marks: Sequence[Mark]
    style: int = 0
    line: Literal["none", "straight", "steps", "stairs"] = "straight"
    """steps: down at a mark, then across to the next (a frontier); stairs: across, then up."""
    dots: bool = True
    gaps: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Span:
    """A shaded stretch of the x axis."""

    low: float
    high: float
    label: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture with its words: title, one sentence on how to read it, the table behind it."""

    title: str
    says: str
    x: Axis
    y: Axis
    series: Sequence[Series]
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    spans: Sequence[Span] = ()
    verticals: Sequence[tuple[float, str]] = ()
    height: float = HEIGHT
    name: str = field(default="chart")
    """Unique in the page: ids are made of it."""


@dataclass(frozen=True, slots=True)
class _Frame:
    """The drawing area of one chart: figures to places."""

    chart: Chart

    @property
    def bottom(self) -> float:
        return self.chart.height - BOTTOM

    def at(self, mark: Mark) -> tuple[float, float]:
        return self.across(mark.x), self.up(mark.y)

    def across(self, value: float) -> float:
        return LEFT + self.chart.x.share(value) * (WIDTH - LEFT - RIGHT)

    def up(self, value: float) -> float:
        return self.bottom - self.chart.y.share(value) * (self.bottom - TOP)


def draw(chart: Chart) -> str:
    """The chart as an `<svg>`; one accessible image with a title and a description."""
    frame = _Frame(chart)
    pieces = [
        tag("title", text(chart.title), id=f"{chart.name}-t"),
        tag("desc", text(chart.says), id=f"{chart.name}-d"),
        *(_span(frame, span) for span in chart.spans),
        *_grid(frame),
        *_verticals(frame),
        *(_series(frame, series) for series in chart.series),
        *_labels(frame),
    ]
    return tag(
        "svg",
        *pieces,
        viewBox=f"0 0 {WIDTH:g} {chart.height:g}",
        role="img",
        aria_labelledby=f"{chart.name}-t {chart.name}-d",
        class_="chart",
    )


def _span(frame: _Frame, span: Span) -> str:
    left, right = frame.across(span.low), frame.across(span.high)
    tip = tag("title", text(span.label)) if span.label else ""
    width = max(right - left, 1.0)
    return tag("rect", tip, class_="span", x=left, y=TOP, width=width, height=frame.bottom - TOP)


def _grid(frame: _Frame) -> Iterator[str]:
    """Lines and words of both axes; the y title stands above its axis, so that it reads level."""
    chart = frame.chart
    for value, words in chart.y.ticks():
        y = frame.up(value)
        yield _line(LEFT, y, WIDTH - RIGHT, y, "grid")
        yield tag("text", text(words), x=LEFT - 8, y=y + 4, class_="tick end")
    for value, words in chart.x.ticks():
        x = frame.across(value)
        yield _line(x, frame.bottom, x, frame.bottom + 5, "axis")
        yield tag("text", text(words), x=x, y=frame.bottom + 20, class_="tick middle")
    yield _line(LEFT, frame.bottom, WIDTH - RIGHT, frame.bottom, "axis")
    yield tag("text", text(chart.y.title), x=4, y=16, class_="name")
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield tag("text", text(chart.x.title), x=middle, y=chart.height - 8, class_="name middle")


def _verticals(frame: _Frame) -> Iterator[str]:
    for value, words in frame.chart.verticals:
        if frame.chart.x.low <= value <= frame.chart.x.high:
            x = frame.across(value)
            yield _line(x, TOP, x, frame.bottom, "vertical")
            yield tag("text", text(words), x=x, y=TOP - 3, class_="note middle")


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)


def _series(frame: _Frame, series: Series) -> str:
    """Line, intervals and dots of one series."""
    pieces = [_path(frame, series)] if series.line != "none" else []
    for mark in series.marks:
        pieces += _interval(frame, mark)
    if series.dots:
        pieces += [_dot(frame, mark) for mark in series.marks]
    return tag("g", *pieces, class_=style_of(series.style))


def style_of(style: int) -> str:
    """The class of a series: a colour, and a dash once the colours are used up."""
    if style == OTHERS:
        return "series others"
    return f"series c{style % COLOURS} d{style // COLOURS % 3}"


def _path(frame: _Frame, series: Series) -> str:
    """One polyline, broken where the series has gaps."""
    places = [frame.at(mark) for mark in series.marks]
    steps = []
    for number, ((x, y), before) in enumerate(zip(places, [None, *places], strict=False)):
        if before is None or number in series.gaps:
            steps.append(f"M{x:.1f} {y:.1f}")
            continue
        if series.line == "steps":
            steps.append(f"V{y:.1f}")
        elif series.line == "stairs":
            steps.append(f"H{x:.1f}")
        steps.append(f"L{x:.1f} {y:.1f}")
    return tag("path", d="".join(steps), class_="line")


def _interval(frame: _Frame, mark: Mark) -> list[str]:
    """Whiskers with caps."""
    x, y = frame.at(mark)
    lines = []
    if mark.y_bounds is not None:
        top, bottom = frame.up(mark.y_bounds[1]), frame.up(mark.y_bounds[0])
        lines += [(x, top, x, bottom), (x - CAP, top, x + CAP, top)]
        lines.append((x - CAP, bottom, x + CAP, bottom))
    if mark.x_bounds is not None:
        left, right = frame.across(mark.x_bounds[0]), frame.across(mark.x_bounds[1])
        lines += [(left, y, right, y), (left, y - CAP, left, y + CAP)]
        lines.append((right, y - CAP, right, y + CAP))
    return [_line(*line, "whisker") for line in lines]


def _dot(frame: _Frame, mark: Mark) -> str:
    x, y = frame.at(mark)
    tip = tag("title", text(mark.tip)) if mark.tip else ""
    return tag("circle", tip, cx=x, cy=y, r=6.0 if mark.strong else 4.0, class_="dot")


def _labels(frame: _Frame) -> Iterator[str]:
    """Words beside marks, last, so that no line crosses them; those without room are left out."""
    taken: list[tuple[float, float, float, float]] = []
    for series in frame.chart.series:
        for mark in sorted(series.marks, key=lambda m: not m.strong):
            if not mark.label:
                continue
            x, y = frame.at(mark)
            placed = _placed(x, y, len(mark.label) * 8.0, taken)
            if placed is None:
                continue
            at_x, at_y, anchor = placed
            kind = f"label {anchor}" + (" strong" if mark.strong else "")
            yield tag("text", text(mark.label), x=at_x, y=at_y, class_=kind)


def _placed(
    x: float, y: float, wide: float, taken: list[tuple[float, float, float, float]]
) -> tuple[float, float, str] | None:
    """Where a label of this width fits beside (x, y), else None; what it takes is added."""
    for dx, dy, anchor in ((9, -9, "start"), (-9, -9, "end"), (9, 19, "start"), (-9, 19, "end")):
        left = x + dx if anchor == "start" else x + dx - wide
        box = (left, y + dy - 12, left + wide, y + dy + 3)
        inside = box[0] >= LEFT - 10 and box[2] <= WIDTH
        if inside and not any(_overlap(box, other) for other in taken):
            taken.append(box)
            return x + dx, y + dy, anchor
    return None


def _overlap(
    one: tuple[float, float, float, float], other: tuple[float, float, float, float]
) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def legend(chart: Chart) -> str:
    """Names of the series beside their line; nothing where none has a name."""
    named = [series for series in chart.series if series.name]
    if not named:
        return ""
    entries = []
    for series in named:
        inner = (
            [tag("line", x1=1, y1=7, x2=27, y2=7, class_="line")] if series.line != "none" else []
        )
        if series.dots:
            inner.append(tag("circle", cx=14, cy=7, r=4, class_="dot"))
        key = tag("g", *inner, class_=style_of(series.style))
        sign = tag("svg", key, viewBox="0 0 28 14", class_="key", aria_hidden="true")
        entries.append(tag("li", sign, text(series.name)))
    return tag("ul", *entries, class_="legend")


def breaks(values: Sequence[float], more_than: float) -> frozenset[int]:
    """Positions before which consecutive values lie further apart than this."""
    numbered = zip(count(1), pairwise(values), strict=False)
    return frozenset(number for number, (a, b) in numbered if b - a > more_than)
