"""The sweep table as columns of figures, shared by text, md and csv; knows its metrics by key.

A figure comes from `PointSummary.measures`, over the window; what counts requests from its counts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from loadgen.model.plan import Plan
from loadgen.model.summary import Measure, PointSummary, Summary
from loadgen.report.figures import (
    NOT_AVAILABLE,
    format_number,
    format_percent,
    shared_decimals,
)
from loadgen.report.layout import Block

MS = 1_000.0
USER_P50 = "intvty_tps.p50"
USER_SLOW = "intvty_tps.p90"
OUT = "out_tps"
TOTAL = "total_tps"
KEPT = "kept_frac"
USD_OUT = "usd_per_1m_out"
USD_TOTAL = "usd_per_1m_total"
NO_FAILURE = frozenset({"ok", "cancelled", "unfinished"})


@dataclass(frozen=True, slots=True)
class Sheet:
    """What a column may look at: the summary, and what was planned."""

    summary: Summary
    plan: Plan

    @property
    def is_sweep(self) -> bool:
        """Whether loads stand beside each other, also where the run ended after the first."""
        return max(len(self.plan.points), len(self.summary.points)) > 1

    @property
    def single_stream(self) -> PointSummary | None:
        """The point that stands for one user on an idle server."""
        return point_at(self.summary, self.summary.headline.single_stream)


Value = Callable[[Sheet, PointSummary], float | None]


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its key in csv, heading in tables, how to get and how to show its figure."""

    key: str
    group: str
    title: str
    value: Value
    significant: int = 2
    percent: bool = False


def point_at(summary: Summary, index: int | None) -> PointSummary | None:
    """The point with this index; None where there is none."""
    return next((point for point in summary.points if point.index == index), None)


def measure_of(point: PointSummary | None, key: str) -> Measure | None:
    """The window's measure under `key`; None where the point has no such row."""
    return None if point is None else point.measures.get(key)


def figure_of(point: PointSummary | None, key: str) -> float | None:
    """The window's figure under `key`; None where it could not be given."""
    measure = measure_of(point, key)
    return None if measure is None else measure.value


def failed(point: PointSummary) -> int:
    """Requests that were issued and neither ended well nor were stopped by us."""
    return sum(n for outcome, n in point.counts.outcomes.items() if outcome not in NO_FAILURE)


def measured(key: str, scale: float = 1.0) -> Value:
    """A column's function that reads the measure `key`, times `scale`."""

    def value(_: Sheet, point: PointSummary) -> float | None:
        figure = figure_of(point, key)
        return None if figure is None else figure * scale

    return value


def sample_size(_: Sheet, point: PointSummary) -> float:
    """Requests behind the point's latencies; those that ended well where no latency says it."""
    for key in ("ttft_s.p50", "e2e_s.p50"):
        measure = measure_of(point, key)
        if measure is not None and measure.value is not None:
            return measure.n
    return point.counts.outcomes.get("ok", 0)


def _times(name: str, group: str, stats: Sequence[str], scale: float, digits: int) -> list[Column]:
    """Columns of one time metric: one a percentile."""
    unit = "ms" if scale == MS else "s"
    stem = name.removesuffix("_s")
    return [
        Column(f"{stem}_{unit}.{stat}", group, stat, measured(f"{name}.{stat}", scale), digits)
        for stat in stats
    ]


COLUMNS: tuple[Column, ...] = (
    Column("user_tps.p50", "tok/s per user", "p50", measured(USER_P50)),
    Column("user_tps.slow_p90", "tok/s per user", "slow p90", measured(USER_SLOW)),
    Column("kept_frac", "tok/s per user", "kept", measured(KEPT), percent=True),
    Column("out_tps", "tok/s, all", "output", measured(OUT)),
    Column("total_tps", "tok/s, all", "total", measured(TOTAL)),
    *_times("ttft_s", "TTFT ms", ("p50", "p95", "p99"), MS, 2),
    *_times("tpot_s", "TPOT ms", ("p50", "p95", "p99"), MS, 2),
    *_times("e2e_s", "E2E s", ("p50", "p95"), 1.0, 3),
    *_times("e2e_s", "E2E ms", ("p50", "p95"), MS, 2),
    Column("n", "", "n", sample_size),
    Column("errors", "", "errors", lambda _, point: failed(point)),
)
PRICE = Column(USD_OUT, "$/1M", "output", measured(USD_OUT))


def columns_for(sheet: Sheet) -> tuple[Column, ...]:
    """The columns of this run's table: E2E in ms or s, a price only where one was given."""
    points = sheet.summary.points
    slow = any((figure_of(point, "e2e_s.p50") or 1.0) >= 1.0 for point in points)
    left_out = "E2E ms" if slow else "E2E s"
    columns = tuple(column for column in COLUMNS if column.group != left_out)
    return (*columns, PRICE) if "gpu_usd_per_h" in sheet.plan.prices else columns


def point_label(point: PointSummary) -> str:
    """`32`, or the load as it was written where it has no fixed concurrency."""
    return point.load if point.concurrency is None else str(point.concurrency)


def _show(column: Column, value: float | None, decimals: int) -> str:
    """One cell as text."""
    if value is None:
        return NOT_AVAILABLE
    return format_percent(value) if column.percent else format_number(value, decimals)


def _counts(column: Column) -> bool:
    """Whether the column counts things, so that it has no decimals."""
    return column.key in {"n", "errors"}


def blocks(sheet: Sheet) -> list[Block]:
    """The sweep table in blocks, first the loads; decimals agree within a block's columns."""
    points = sheet.summary.points
    labels = tuple((point_label(point),) for point in points)
    found = [Block("", ("c",), labels)]
    groups: dict[str, list[Column]] = {}
    for column in columns_for(sheet):
        groups.setdefault(column.group, []).append(column)
    for group, columns in groups.items():
        texts = _texts(sheet, columns)
        rows = tuple(zip(*texts, strict=True)) if points else ()
        found.append(Block(group, tuple(column.title for column in columns), rows))
    return found


def _texts(sheet: Sheet, columns: Sequence[Column]) -> list[list[str]]:
    """Cells by column, for all points; the columns of a block share their decimals."""
    values = [[column.value(sheet, point) for point in sheet.summary.points] for column in columns]
    plain = [
        value
        for column, row in zip(columns, values, strict=True)
        for value in row
        if not column.percent
    ]
    decimals = shared_decimals(plain, columns[0].significant)
    return [
        [_show(column, value, 0 if _counts(column) else decimals) for value in row]
        for column, row in zip(columns, values, strict=True)
    ]
