"""Frontier and ladder of one run or several: text, markdown, CSV, JSON. No figure computed."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

import msgspec

from loadgen.model.ladder import FrontierPoint, Ladder, LadderRow, LadderRun, Ladders
from loadgen.report.figures import NOT_AVAILABLE, format_figure, format_usd
from loadgen.report.layout import Block, flow, paragraph, side_by_side
from loadgen.report.md import escaped, table

STATISTICS = {
    "p50": "p50 speed a user (half of the requests are faster)",
    "p90": "slow-tail p90 speed a user (nine in ten requests are at least as fast)",
}
READ = (
    "read off Steffen's monotone cubic through the frontier, never outside what was measured; "
    "total tokens are prompt and output, cached prompts too; $/1M of all tokens, 100 % busy"
)
FRONTIER_HEADS = ("point", "tok/s/user", "total", "output", "$/1M")
LADDER_HEADS = ("tok/s/user", "total", "output", "$/1M", "between")
MEASURED_HEADS = ("total", "output", "$/1M", "at", "engine", "precision")
LABEL = "  "


def ladders_text(told: Ladders) -> Iterator[str]:
    """The screen, 100 columns: the runs, then frontier and ladder by each statistic."""
    lines = [f"frontier and ladder of {_counted(told)}, tok/s per GPU", *_runs(told)]
    for one in told.ladders:
        lines += ["", *paragraph(STATISTICS[one.statistic], LABEL), *_frontier(one)]
        lines += [*_ties(one), ""]
        lines += [*_ladder(one, told), *_reasons(one)]
    lines += ["", *paragraph(READ, LABEL)]
    for words, texts in (("left out", told.left_out), ("not alike", told.unlike)):
        for text in texts:
            lines += paragraph(f"{words}: {text}", LABEL)
    yield from (line.rstrip() + "\n" for line in lines)


def ladders_md(told: Ladders) -> Iterator[str]:
    """The same for a pull request."""
    lines = [f"### Frontier and ladder of {_counted(told)}, tok/s per GPU", ""]
    heads = ("run", "folder", "model", "engine", "precision", "GPUs", "$/GPU-h")
    lines += table(heads, [[escaped(cell) for cell in _run_cells(run)] for run in told.runs], 6)
    for one in told.ladders:
        lines += ["", STATISTICS[one.statistic], ""]
        lines += table(FRONTIER_HEADS, [_point_cells(point) for point in one.frontier])
        wide = (*LADDER_HEADS, *(f"measured {head}" for head in MEASURED_HEADS), "reason")
        cells = [(*_row_cells(r), *_measured_cells(r, told), r.reason) for r in one.rows]
        lines += ["", *table(wide, [[escaped(cell) for cell in row] for row in cells], 0)]
    lines += ["", READ, *(f"- left out: {escaped(text)}" for text in told.left_out)]
    lines += [f"- not alike: {escaped(text)}" for text in told.unlike]
    yield from (line + "\n" for line in lines)


def ladders_csv(told: Ladders) -> Iterator[str]:
    """One row a statistic and target; empty cells for what is absent."""
    heads = (
        "statistic,target_tps,total_tps,output_tps,usd_per_1m,between,measured_at,"
        "measured_user_tps,measured_total_tps,measured_output_tps,measured_usd_per_1m,"
        "engine,precision,run,reason"
    )
    yield heads + "\n"
    runs = {run.letter: run for run in told.runs}
    for one in told.ladders:
        for row in one.rows:
            yield _csv_line((one.statistic, *_csv_cells(row, runs)))


def ladders_json(told: Ladders) -> Iterator[str]:
    """Strict JSON of the courtyard's own words."""
    yield msgspec.json.format(msgspec.json.encode(told), indent=2).decode() + "\n"


LADDER_OUTPUTS: dict[str, Callable[[Ladders], Iterable[str]]] = {
    "text": ladders_text,
    "md": ladders_md,
    "csv": ladders_csv,
    "json": ladders_json,
}
"""Every output that shows ladders."""


def _counted(told: Ladders) -> str:
    return "1 run" if len(told.runs) == 1 else f"{len(told.runs)} runs"


def _runs(told: Ladders) -> Iterator[str]:
    for run in told.runs:
        letter, *facts = _run_cells(run)
        yield from flow([fact for fact in facts if fact], f"  {letter}  ", "     ")


def _run_cells(run: LadderRun) -> tuple[str, ...]:
    price = "no price" if run.usd_per_gpu_h is None else f"{format_usd(run.usd_per_gpu_h)}/GPU-h"
    tier = f" ({run.tier})" if run.tier else ""
    engine = run.engine or "engine not told"
    precision = run.precision or "precision not told"
    gpus = run.gpus or "GPUs not told"
    return run.letter, run.run, run.model, engine, precision, gpus, price + tier


def _frontier(one: Ladder) -> list[str]:
    """The points that none beats; how many there are besides."""
    if not one.points:
        return [f"{LABEL}  no point bears a figure per GPU"]
    cells = tuple(_point_cells(point) for point in one.frontier)
    heading = f"frontier: {len(cells)} of {len(one.points)} points"
    return side_by_side([Block(heading, FRONTIER_HEADS, cells)], LABEL * 2)


def _ties(one: Ladder) -> Iterator[str]:
    """Beaten points that another run may turn round."""
    tied = [f"{point.name} (by {point.beaten_by})" for point in one.points if point.tied]
    if tied:
        yield from paragraph(
            f"beaten within the intervals only, so a tie: {', '.join(tied)}", LABEL * 2, LABEL * 3
        )


def _point_cells(point: FrontierPoint) -> tuple[str, ...]:
    return (
        point.name,
        format_figure(point.user_tps),
        format_figure(point.total_tps),
        format_figure(point.output_tps),
        format_usd(point.usd_per_1m),
    )


def _ladder(one: Ladder, told: Ladders) -> list[str]:
    """The targets that the frontier reaches: interpolated, then measured at or above."""
    rows = [row for row in one.rows if row.total_tps is not None]
    if not rows:
        return []
    cells = tuple(_row_cells(row) for row in rows)
    measured = tuple(_measured_cells(row, told) for row in rows)
    parts = [
        Block("target", LADDER_HEADS[:1], tuple(row[:1] for row in cells)),
        Block("interpolated", LADDER_HEADS[1:], tuple(row[1:] for row in cells)),
        Block("measured at or above", MEASURED_HEADS, measured),
    ]
    return side_by_side(parts, LABEL * 2)


def _row_cells(row: LadderRow) -> tuple[str, ...]:
    return (
        f"{row.target_tps:g}",
        format_figure(row.total_tps),
        format_figure(row.output_tps),
        format_usd(row.usd_per_1m),
        ", ".join(row.between) or NOT_AVAILABLE,
    )


def _measured_cells(row: LadderRow, told: Ladders) -> tuple[str, ...]:
    if row.measured is None:
        return (NOT_AVAILABLE,) * len(MEASURED_HEADS)
    run = next(run for run in told.runs if run.letter == row.measured.letter)
    name, _, *rates = _point_cells(row.measured)
    return (*rates, name, run.engine or "not told", run.precision or "not told")


def _reasons(one: Ladder) -> Iterator[str]:
    """Targets without a value; those that fail for one reason share a line."""
    for reason, group in groupby(one.rows, key=lambda row: row.reason):
        rows = list(group)
        if not reason or reason == "no point was measured":
            continue
        ends = " to ".join(dict.fromkeys(f"{rows[at].target_tps:g}" for at in (0, -1)))
        best = rows[-1].measured
        more = "" if best is None else f"; {format_figure(best.total_tps)} at {best.name} is above"
        yield from paragraph(f"{ends}: n/a: {reason}{more}", LABEL * 2, LABEL * 3)


def _csv_cells(row: LadderRow, runs: dict[str, LadderRun]) -> Iterator[str | float | None]:
    yield from (row.target_tps, row.total_tps, row.output_tps, row.usd_per_1m)
    yield " | ".join(row.between)
    best = row.measured
    if best is None:
        yield from (None,) * 8
    else:
        run = runs[best.letter]
        yield from (best.name, best.user_tps, best.total_tps, best.output_tps, best.usd_per_1m)
        yield from (run.engine, run.precision, run.run)
    yield row.reason


def _csv_line(cells: Iterable[str | float | None]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow("" if c is None else c for c in cells)
    return buffer.getvalue()
