"""One row a load point: counts, every measure of the window with its interval, whole-point figures.

Headings are metric names, so units stand in them; an absent figure is an empty cell.
"""

import csv
import io
from collections.abc import Iterable

from msgspec.structs import asdict

from loadgen.model.summary import Measure, PointSummary, ReplaySummary, Summary
from loadgen.model.table import Recording
from loadgen.report.costs import cost_cells
from loadgen.report.rows import failed

Cell = str | float | int | None
PERCENTILES = ("intvty_tps", "e2e_norm_tps", "itl_s")
ONE_NUMBER = (
    "requests",
    "span_s",
    "total_tps",
    "computed_tps",
    "output_tps",
    "input_tok",
    "cached_tok",
    "output_tok",
    "hit_measured",
    "hit_designed",
    "drift_frac",
    "fan_out_mean",
    "fan_out_most",
    "idle_frac",
    "sessions",
    "finished",
    "recycled",
    "traces",
    "usd_per_session",
    "joules_per_session",
    "coverage_frac",
)


def format_csv(summary: Summary, recording: Recording) -> Iterable[str]:
    """Heading line, then one line a point; empty cells for what is absent."""
    replays, made = {r.point: r for r in summary.replays}, recording.plan.workload.label
    rows = [_row(summary, point, replays.get(point.index), made) for point in summary.points]
    names = list(dict.fromkeys(name for row in rows for name in row)) or ["point"]
    yield _line(names)
    for row in rows:
        yield _line([row.get(name) for name in names])


def _line(cells: Iterable[Cell]) -> str:
    """One CSV line; quoting by the standard library, ended by a newline alone."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow("" if c is None else c for c in cells)
    return buffer.getvalue()


def _row(
    summary: Summary, point: PointSummary, replay: ReplaySummary | None, made: str
) -> dict[str, Cell]:
    """All cells of one point by heading."""
    counts = point.counts
    row: dict[str, Cell] = {
        "run_id": summary.run_id,
        "verdict": summary.verdict,
        "point": point.index,
        "load": point.load,
        "concurrency": point.concurrency,
        **({"made": made} if made else {}),
        "issued": counts.issued,
        "ok": counts.outcomes.get("ok", 0),
        "failed": failed(point),
        "cancelled": counts.outcomes.get("cancelled", 0),
        "unfinished": counts.outcomes.get("unfinished", 0),
        "skipped": counts.skipped,
        "warmup": counts.warmup,
        **_trust(summary, point),
    }
    for key, measure in point.measures.items():
        row |= _cells(key, measure)
    row |= {f"whole.{key}": measure.value for key, measure in point.whole.items()}
    row |= cost_cells(summary, point.index)
    return row | (_replayed(replay) if replay is not None else {})


def _trust(summary: Summary, point: PointSummary) -> dict[str, Cell]:
    """What the point's figures rest on: its client, its steadiness, how sure its times are."""
    steady = point.steady
    return {
        "client_grade": point.client_grade,
        "client_error_s": point.client_error_s,
        "timing_uncertainty": summary.timing_uncertainty,
        "steady": steady.verdict if steady is not None else None,
        "floors_missed": "; ".join(steady.floors_missed) if steady is not None else None,
    }


def _replayed(replay: ReplaySummary) -> dict[str, Cell]:
    """A replayed point's own figures, `replay.intvty_tps.p90` and so on."""
    row: dict[str, Cell] = {}
    for name in PERCENTILES:
        row |= {f"replay.{name}.{p}": value for p, value in getattr(replay, name).items()}
    row |= {f"replay.{name}": getattr(replay, name) for name in ONE_NUMBER}
    if replay.pace is not None:
        row |= {f"replay.{name}": value for name, value in asdict(replay.pace).items()}
    return row | {"replay.not_comparable": "; ".join(replay.not_comparable)}


def _cells(key: str, measure: Measure) -> dict[str, Cell]:
    """Value and n of one measure; interval, bound and lack of requests only where there are any."""
    cells: dict[str, Cell] = {key: measure.value, f"{key}.n": measure.n}
    if measure.low is not None or measure.high is not None:
        cells |= {f"{key}.low": measure.low, f"{key}.high": measure.high}
    if measure.certified is not None:
        cells[f"{key}.certified"] = measure.certified
    if measure.needs_more is not None:
        cells |= {
            f"{key}.needs_more": measure.needs_more,
            f"{key}.needs_more_s": measure.needs_more_s,
        }
    return cells
