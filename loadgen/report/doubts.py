"""What the reader has to be told: failures, absent figures, whole-run differences, findings."""

from collections.abc import Iterator
from dataclasses import dataclass

from loadgen.model.summary import Finding, Measure, PointSummary, Summary
from loadgen.model.table import Recording
from loadgen.report.certainty import is_short, still_needed
from loadgen.report.figures import format_figure, format_number, format_percent
from loadgen.report.rows import NO_FAILURE, failed, point_label

GRADES = ("A", "B", "C")
SEVERITIES = ("fatal", "doubt", "note")
TABLE_METRICS = ("intvty_tps", "ttft_s", "tpot_s", "e2e_s")
DIFFERS_FRAC = 0.03
COMPARED = (
    ("out_tps", "output tok/s", 1.0),
    ("ttft_s.p50", "TTFT p50 ms", 1000.0),
    ("tpot_s.p50", "TPOT p50 ms", 1000.0),
)


@dataclass(frozen=True, slots=True)
class Tally:
    """All requests of a run by how they ended; issued = ok + failed + cancelled + unfinished."""

    issued: int
    ok: int
    failed: int
    cancelled: int
    unfinished: int
    skipped: int
    warmup: int
    by_class: dict[str, int]

    @property
    def failed_frac(self) -> float:
        """Share of issued requests that failed; 0 when none was issued."""
        return self.failed / self.issued if self.issued else 0.0


def tally(summary: Summary) -> Tally:
    """The counts of all points added up."""
    outcomes: dict[str, int] = {}
    by_class: dict[str, int] = {}
    for point in summary.points:
        for outcome, count in point.counts.outcomes.items():
            outcomes[outcome] = outcomes.get(outcome, 0) + count
        for name, count in point.counts.errors_by_class.items():
            by_class[name] = by_class.get(name, 0) + count
    if not by_class:
        by_class = {name: n for name, n in outcomes.items() if n and name not in NO_FAILURE}
    return Tally(
        issued=sum(point.counts.issued for point in summary.points),
        ok=outcomes.get("ok", 0),
        failed=sum(failed(point) for point in summary.points),
        cancelled=outcomes.get("cancelled", 0),
        unfinished=outcomes.get("unfinished", 0),
        skipped=sum(point.counts.skipped for point in summary.points),
        warmup=sum(point.counts.warmup for point in summary.points),
        by_class=by_class,
    )


def sum_of_requests(counts: Tally) -> list[str]:
    """`issued 100 = ok 80 + failed 20 + cancelled 0`, then what stands beside that sum."""
    parts = [("ok", counts.ok), ("failed", counts.failed), ("cancelled", counts.cancelled)]
    if counts.unfinished:
        parts.append(("unfinished", counts.unfinished))
    total = " + ".join(f"{name} {format_number(count)}" for name, count in parts)
    facts = [f"issued {format_number(counts.issued)} = {total}"]
    if counts.warmup:
        facts.append(f"{format_number(counts.warmup)} more of the warm-up")
    if counts.skipped:
        facts.append(f"{format_number(counts.skipped)} later turns never issued")
    return facts


def failures(counts: Tally) -> str:
    """`20 of 100 requests failed: http_error 500 (12), timeout_stall (8)`; empty without any."""
    if not counts.issued:
        return "no request was issued"
    if not counts.failed:
        return "" if counts.ok else "no request ended well"
    kinds = sorted(counts.by_class.items(), key=lambda item: -item[1])
    listed = ", ".join(f"{name} ({format_number(count)})" for name, count in kinds)
    head = f"{format_number(counts.failed)} of {format_number(counts.issued)} requests failed"
    return f"{head} ({format_percent(counts.failed_frac)}): {listed}"


def leads_with_failures(counts: Tally, limit_frac: float) -> bool:
    """Whether failures come before every figure: nothing ended well, or too much failed."""
    return counts.ok == 0 or counts.failed_frac > limit_frac


def endings(recording: Recording) -> list[str]:
    """What is missing of a run that did not end by itself; empty for a complete one."""
    if recording.state == "complete":
        return []
    lines = {
        "interrupted": "interrupted: what was measured until then is shown",
        "failed": "broken off: a process of the run died; what was written until then is shown",
        "running_or_killed": "still running or killed: what was written until then is shown",
    }
    text = lines.get(recording.state, recording.state)
    if recording.in_flight_at_end:
        text += f"; {format_number(recording.in_flight_at_end)} requests in flight left no record"
    return [text]


def absences(summary: Summary, of_table: bool = True) -> list[str]:
    """Why figures are n/a: what n a percentile needs; in a table every other reason once."""
    missing = list(_missing(summary))
    found: dict[str, None] = {}
    for _, measure in missing:
        if measure.reason and of_table and not is_short(measure):
            found.setdefault(measure.reason, None)
    short = still_needed(missing, several=len(summary.points) > 1)
    return [*short, *(f"n/a: {reason}" for reason in found)]


def _missing(summary: Summary) -> Iterator[tuple[PointSummary, Measure]]:
    """The table's measures that have no value."""
    for point in summary.points:
        for measure in point.measures.values():
            if measure.value is None and measure.name in TABLE_METRICS:
                yield point, measure


def whole_run(summary: Summary) -> list[str]:
    """Figures over whole points that differ from the window's by more than 3 %; often empty."""
    lines = []
    for key, words, scale in COMPARED:
        found = []
        for point in summary.points:
            here, whole = point.measures.get(key), point.whole.get(key)
            if here is None or whole is None or not here.value or whole.value is None:
                continue
            change = whole.value / here.value - 1
            if abs(change) > DIFFERS_FRAC:
                figure = format_figure(whole.value * scale)
                share = format_percent(change, signed=True)
                found.append(f"c={point_label(point)} {figure} ({share})")
        if found:
            lines.append(f"{words}: " + ", ".join(found))
    return lines


@dataclass(frozen=True, slots=True)
class Doubt:
    """Findings of one code drawn together: the first one's words, and where else it holds."""

    code: str
    severity: str
    text: str
    hint: str


def doubts(summary: Summary) -> list[Doubt]:
    """Findings, the gravest first; those of one code at several points become one."""
    by_code: dict[tuple[str, str], list[Finding]] = {}
    for finding in summary.findings:
        by_code.setdefault((finding.severity, finding.code), []).append(finding)
    found = [_drawn_together(group, summary) for group in by_code.values()]
    return sorted(found, key=lambda doubt: SEVERITIES.index(doubt.severity))


def reasons(summary: Summary) -> list[str]:
    """The verdict's reasons: doubts as they are drawn together, and what no finding says."""
    grave = [doubt.text for doubt in doubts(summary) if doubt.severity != "note"]
    said = {finding.text for finding in summary.findings}
    return grave + [reason for reason in summary.verdict_reasons if reason not in said]


def client_grade(summary: Summary) -> str:
    """`client A`; `client grade: refuse` and `client not graded` for what is no grade."""
    grade = summary.client_grade
    if grade == "refuse":
        return "client grade: refuse"
    return f"client {grade if grade in GRADES else 'not graded'}"


def error_bar(summary: Summary) -> str:
    """`TPOT 8.31 ms ±0.06 (client) at c=8`, of the point with the widest one; empty without any."""
    bars = []
    for point in summary.points:
        measure = point.measures.get("tpot_s.p50")
        if measure is not None and measure.value is not None and point.client_error_s is not None:
            bars.append((point.client_error_s, measure.value, point))
    if not bars:
        return ""
    error_s, value_s, point = max(bars, key=lambda bar: bar[0])
    where = point_label(point) if point.concurrency is None else f"c={point_label(point)}"
    return f"TPOT {value_s * 1000:.2f} ms ±{max(error_s * 1000, 0.01):.2f} (client) at {where}"


def _drawn_together(group: list[Finding], summary: Summary) -> Doubt:
    """One doubt out of findings of one code."""
    first, *others = group
    labels = {point.index: point_label(point) for point in summary.points}
    elsewhere = [labels.get(finding.point, "?") for finding in others if finding.point is not None]
    text = first.text
    where = f"c={labels.get(first.point, '?')}" if first.point is not None else ""
    if where and len(summary.points) > 1 and where not in text:
        text = f"{where}: {text}"
    if elsewhere:
        text += f" (also at c={', '.join(elsewhere)})"
    return Doubt(first.code, first.severity, text, first.hint)
