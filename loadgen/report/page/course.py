"""The run over time: one panel a quantity, all on one axis, the measuring windows shaded."""

from collections.abc import Iterator, Sequence

import numpy as np

from loadgen.model.series import Telemetry
from loadgen.model.summary import Summary
from loadgen.model.table import Floats, Recording
from loadgen.model.timeline import Timeline
from loadgen.report.figures import format_figure
from loadgen.report.page.axes import Axis, from_zero, spanning
from loadgen.report.page.chart import Chart, Mark, Series, Span, breaks
from loadgen.report.page.loads import MS, load_name
from loadgen.units import NS_PER_S

HEIGHT = 190.0
ROWS = 30
"""Rows of a panel's table: the run in so many equal parts."""
LINES = 8
POINTS = 400
PERCENT = 100.0
TELEMETRY = (
    ("server", "running_requests", "Server: running requests", "requests", 1.0),
    ("server", "waiting_requests", "Server: waiting requests (queue)", "requests", 1.0),
    ("server", "kv_used_frac", "Server: KV cache in use", "%", PERCENT),
    ("gpu", "power_w", "Power", "W", 1.0),
    ("gpu", "util_frac", "GPU utilisation", "%", PERCENT),
    ("gpu", "temperature_c", "GPU temperature", "°C", 1.0),
    ("gpu", "sm_clock_hz", "SM clock", "MHz", 1e-6),
)
"""Gauges that are drawn: source, name, title, unit shown, factor."""


def course_charts(summary: Summary, recording: Recording) -> list[Chart]:
    """In flight, output rate, TTFT, server, power, client lag; none for a run without requests."""
    line = recording.timeline
    if line is None:
        return []
    panels = [
        *_own(line),
        *_told(recording.telemetry, line),
        *_client(line),
    ]
    spans = _windows(summary, line)
    axis = Axis("seconds since the run's first request was due", 0.0, _length_s(line))
    return [_panel(number, *panel, axis, spans) for number, panel in enumerate(panels)]


Panel = tuple[str, str, list[Series], Axis]


def _panel(
    number: int, title: str, says: str, series: list[Series], y: Axis, x: Axis, spans: list[Span]
) -> Chart:
    names = [one.name or y.title for one in series]
    return Chart(
        title=title,
        says=says,
        x=x,
        y=y,
        series=series,
        spans=spans,
        headings=("seconds", *(f"{name} (mean)" for name in names)),
        rows=_rows(series, x.high),
        name=f"time-{number}",
        height=HEIGHT,
    )


def _rows(series: Sequence[Series], length_s: float) -> list[tuple[str, ...]]:
    """Means of each series over equal parts of the run."""
    edges = np.linspace(0.0, length_s, min(ROWS, max(1, max(len(s.marks) for s in series))) + 1)
    columns = []
    for one in series:
        x, y = np.array([(mark.x, mark.y) for mark in one.marks]).T
        place = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(edges) - 2)
        columns.append([y[place == part].mean() if (place == part).any() else None
                        for part in range(len(edges) - 1)])  # fmt: skip
    return [
        (f"{edges[part]:.1f} to {edges[part + 1]:.1f}", *(format_figure(c[part]) for c in columns))
        for part in range(len(edges) - 1)
    ]


def _length_s(line: Timeline) -> float:
    return len(line.in_flight) * line.bin_s


def _windows(summary: Summary, line: Timeline) -> list[Span]:
    """The measuring windows of all points."""
    spans = []
    for point in summary.points:
        if point.window is not None:
            low, high = (
                (at - line.start_at_ns) / NS_PER_S
                for at in (point.window.start_at_ns, point.window.end_at_ns)
            )
            spans.append(Span(low, high, f"measuring window of {load_name(point)}"))
    return spans


def _own(line: Timeline) -> Iterator[Panel]:
    """What the client saw: requests in flight, tokens, first tokens, failures."""
    flight = _binned(line, line.in_flight)
    yield "Requests in flight", _every(line), [flight], from_zero("requests", _values(flight))
    tokens = _binned(line, line.out_tps)
    yield "Output tokens", _every(line), [tokens], from_zero("tok/s", _values(tokens))
    middle = _binned(line, line.ttft_p50_s * MS, "p50")
    highest = _binned(line, line.ttft_max_s * MS, "highest", 1)
    if middle.marks:
        values = [*_values(middle), *_values(highest)]
        says = f"Of the requests that were due in each {line.bin_s:.2g} s."
        yield "Time to first token", says, [middle, highest], spanning("TTFT ms (log)", values)
    if line.failed.any():
        failed = _binned(line, line.failed, style=1)
        yield "Failures", _every(line), [failed], from_zero("requests", _values(failed))


def _client(line: Timeline) -> Iterator[Panel]:
    """How late requests left."""
    lag = _binned(line, line.send_lag_max_s * MS, style=3)
    if lag.marks:
        says = f"From due to sent, the latest in each {line.bin_s:.2g} s."
        yield "Client: sending lag", says, [lag], from_zero("ms", _values(lag))


def _every(line: Timeline) -> str:
    return f"Mean of each {line.bin_s:.2g} s; measuring windows are shaded."


def _values(series: Series) -> list[float]:
    return [mark.y for mark in series.marks]


def _binned(line: Timeline, values: Floats, name: str = "", style: int = 0) -> Series:
    """One value a bin at the bin's middle; the line breaks where bins are empty."""
    known = np.flatnonzero(np.isfinite(values))
    marks = [Mark((place + 0.5) * line.bin_s, float(values[place])) for place in known]
    gaps = breaks([float(place) for place in known], 3.0)
    return Series(name, marks, style, dots=len(marks) <= LINES, gaps=gaps)


def _told(telemetry: Telemetry, line: Timeline) -> Iterator[Panel]:
    """Gauges of server and GPUs that anybody told."""
    for source, name, title, unit, scale in TELEMETRY:
        rows = (telemetry.source == source) & (telemetry.name == name)
        if not rows.any():
            continue
        parts = sorted(
            {(o, p) for o, p in zip(telemetry.origin[rows], telemetry.part[rows], strict=True)}
        )
        series = []
        for number, (origin, part) in enumerate(parts[:LINES]):
            own = rows & (telemetry.origin == origin) & (telemetry.part == part)
            at_s = (telemetry.at_ns[own] - line.start_at_ns) / NS_PER_S
            label = _part_name(origin, part, len(parts))
            series.append(_sampled(label, at_s, telemetry.value[own] * scale, number, line))
        series = [one for one in series if one.marks]
        if not series:
            continue
        origins = ", ".join(sorted({origin for origin, _ in parts}))
        left = f" The first {LINES} of {len(parts)} are drawn." if len(parts) > LINES else ""
        values = [value for one in series for value in _values(one)]
        yield title, f"As told by {origins}.{left}", series, from_zero(unit, values)


def _part_name(origin: str, part: str, count: int) -> str:
    """What tells one line of several from the others."""
    return "" if count == 1 else part or origin


def _sampled(name: str, at_s: Floats, values: Floats, style: int, line: Timeline) -> Series:
    """Samples within the run, thinned evenly."""
    inside = (at_s >= 0) & (at_s <= _length_s(line)) & np.isfinite(values)
    at_s, values = at_s[inside], values[inside]
    if len(at_s) > POINTS:
        kept = np.linspace(0, len(at_s) - 1, POINTS).round().astype(np.int64)
        at_s, values = at_s[kept], values[kept]
    marks = [Mark(float(x), float(y)) for x, y in zip(at_s, values, strict=True)]
    return Series(name, marks, style, dots=len(marks) <= LINES)
