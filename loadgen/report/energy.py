"""Energy on the screen: one row a point, with boundary and source; what was provisioned, apart."""

from collections.abc import Iterator

from loadgen.model.energy import PointEnergy
from loadgen.model.summary import PointSummary, Summary
from loadgen.report.figures import format_figure
from loadgen.report.layout import flow, paragraph
from loadgen.report.rows import figure_of, point_at, point_label

COLUMNS = (
    ("J/out tok", "j_per_out_tok", 11),
    ("J/tok", "j_per_tok", 10),
    ("J/req", "j_per_req", 10),
    ("out tok/s/MW", "out_tps_per_mw", 14),
)
PROVISIONED = "out_tps_per_mw_provisioned"
LOAD = 11


def energy_lines(summary: Summary) -> Iterator[str]:
    """What each point cost; nothing where nobody was asked for power."""
    told = [one for one in summary.energy if one.joules is not None]
    if not told:
        return
    yield from flow(_facts(told), first="  energy        ", then=" " * 16)
    heads = "".join(f"{head:>{width}}" for head, _, width in COLUMNS)
    yield f"  {'load':>{LOAD}}{heads}{'mean W':>10}{'window s':>10}{'samples':>9}"
    for one in summary.energy:
        point = point_at(summary, one.point)
        if point is not None:
            yield _row(one, point)
    provisioned = [
        f"{_load(point)} {format_figure(value)}"
        for one in told
        if (point := point_at(summary, one.point)) is not None
        and (value := figure_of(point, PROVISIONED)) is not None
    ]
    if provisioned:
        watts = format_figure(told[0].provisioned_w)
        words = f"by {watts} W provisioned (a rating, not measured): {', '.join(provisioned)}"
        yield from paragraph(f"out tok/s/MW {words}", first="    ", then="      ")


def _facts(told: list[PointEnergy]) -> list[str]:
    """Boundary, who told, how many GPUs, counter or integral, idle."""
    first = told[0]
    idle = [one.idle_w for one in told if one.idle_w is not None]
    sources = sorted({one.source for one in told})
    return [
        f"within: {first.boundary}",
        first.origin,
        f"{first.gpus_seen} GPU{'s' if first.gpus_seen != 1 else ''}",
        f"by {' and '.join(sources)}",
        f"idle {format_figure(idle[0])} W, in the figures" if idle else "idle not watched (--idle)",
    ]


def _row(one: PointEnergy, point: PointSummary) -> str:
    cells = "".join(f"{_cell(figure_of(point, key)):>{width}}" for _, key, width in COLUMNS)
    rest = f"{_cell(one.mean_w):>10}{one.window_s:>10.1f}{one.samples:>9}"
    return f"  {_load(point):>{LOAD}}{cells}{rest}"


def _cell(value: float | None) -> str:
    return "n/a" if value is None else format_figure(value)


def _load(point: PointSummary) -> str:
    label = point_label(point)
    name = label if point.concurrency is None else f"c={label}"
    return name if len(name) < LOAD else f"{name[: LOAD - 2]}…"
