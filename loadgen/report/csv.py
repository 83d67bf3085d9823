"""One row a load point: counts, every measure of the window with its interval, whole-point figures.

Headings are metric names, so units stand in them; an absent figure is an empty cell.
"""

import csv
import io
from collections.abc import Iterable

from loadgen.model.summary import Measure, PointSummary, Summary
from loadgen.model.table import Recording
from loadgen.report.rows import failed

Cell = str | float | int | None


def format_csv(summary: Summary, recording: Recording) -> Iterable[str]:
    """Heading line, then one line a point; empty cells for what is absent."""
    rows = [_row(summary, point) for point in summary.points]
    names = list(dict.fromkeys(name for row in rows for name in row)) or ["point"]
    yield _line(names)
    for row in rows:
        yield _line([row.get(name) for name in names])


def _line(cells: Iterable[Cell]) -> str:
    """One CSV line; quoting by the standard library, ended by a newline alone."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow("" if c is None else c for c in cells)
    return buffer.getvalue()


def _row(summary: Summary, point: PointSummary) -> dict[str, Cell]:
    """All cells of one point by heading."""
    counts = point.counts
    row: dict[str, Cell] = {
        "run_id": summary.run_id,
        "verdict": summary.verdict,
        "point": point.index,
        "load": point.load,
        "concurrency": point.concurrency,
        "issued": counts.issued,
        "ok": counts.outcomes.get("ok", 0),
        "failed": failed(point),
        "cancelled": counts.outcomes.get("cancelled", 0),
        "unfinished": counts.outcomes.get("unfinished", 0),
        "skipped": counts.skipped,
        "warmup": counts.warmup,
    }
    for key, measure in point.measures.items():
        row |= _cells(key, measure)
    row |= {f"whole.{key}": measure.value for key, measure in point.whole.items()}
    return row


def _cells(key: str, measure: Measure) -> dict[str, Cell]:
    """Value, sample size and interval of one measure; the interval only where there is one."""
    cells: dict[str, Cell] = {key: measure.value, f"{key}.n": measure.n}
    if measure.low is not None or measure.high is not None:
        cells |= {f"{key}.low": measure.low, f"{key}.high": measure.high}
    return cells
