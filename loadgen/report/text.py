"""The screen: the answer first, then its doubts, then the detail. 100 columns, no escape bytes."""

from collections.abc import Iterable, Iterator

from loadgen.model.summary import Summary
from loadgen.model.table import Recording
from loadgen.report.card import card_lines
from loadgen.report.certainty import certified_line
from loadgen.report.costs import cost_lines, phase_lines
from loadgen.report.distributions import absent_metrics, scalar_lines, spread_lines
from loadgen.report.doubts import (
    absences,
    client_grade,
    doubts,
    endings,
    error_bar,
    failures,
    leads_with_failures,
    reasons,
    sum_of_requests,
    tally,
    whole_run,
)
from loadgen.report.energy import energy_lines
from loadgen.report.heading import heading
from loadgen.report.headline import Answer, answers
from loadgen.report.ladder import ladder_lines
from loadgen.report.layout import DOT, WIDTH, flow, paragraph, printable, shortened, side_by_side
from loadgen.report.rows import Sheet, blocks
from loadgen.report.server import server_lines
from loadgen.report.sessions import session_lines

LABEL = 16
"""Columns that the word before a line takes, indent included."""
ANSWER = 18
REASON_LINES = 2
"""What a reason of the verdict may take; its finding below says all of it."""
FOOTNOTED = "too_few"
"""The finding that the table's own footnote tells in fewer words."""


def format_text(summary: Summary, recording: Recording) -> Iterable[str]:
    """The screen in lines, each with its newline; the last names the folder and how to see more."""
    for line in _lines(summary, recording):
        yield line.rstrip() + "\n"


def _lines(summary: Summary, recording: Recording) -> Iterator[str]:
    """All lines without newlines; sections are parted by one empty line."""
    sheet = Sheet(summary, recording.plan)
    sections = [
        [line for facts in heading(summary, recording) for line in flow(facts, then="  ")],
        _failed(summary, recording),
        _verdict(summary, recording),
        _answers(sheet),
        _figures(sheet),
        list(session_lines(summary, recording.plan)),
        list(ladder_lines(summary)),
        list(server_lines(summary)),
        list(energy_lines(summary)),
        [*phase_lines(summary), *cost_lines(summary)],
        _asides(summary, recording),
        _findings(summary),
        _folder(recording),
    ]
    filled = [section for section in sections if section]
    for number, section in enumerate(filled):
        if number:
            yield ""
        yield from section


def _labelled(label: str, words: str) -> list[str]:
    """The word, then the text beside it, wrapped below itself."""
    return paragraph(words, first=f"  {label}".ljust(LABEL), then=" " * LABEL)


def _failed(summary: Summary, recording: Recording) -> list[str]:
    """Failures that come before every figure; empty where the run mostly went well."""
    counts = tally(summary)
    if not leads_with_failures(counts, recording.plan.error_limit_frac):
        return []
    lines = _labelled("FAILED", failures(counts))
    example = next((str(detail) for detail in recording.table.detail if detail), "")
    return [*lines, *_labelled("", f"first: {example[:300]}")] if example else lines


def _verdict(summary: Summary, recording: Recording) -> list[str]:
    """The verdict word with its reasons, what the client was worth, how sure its times are."""
    word, grade, why = summary.verdict.upper(), client_grade(summary), reasons(summary)
    if summary.verdict == "valid":
        lines = _labelled(word, DOT.join([grade, *why]))
    else:
        lines = _labelled(word, grade)
        for reason in why:
            first, *more = shortened(reason, WIDTH - LABEL - 2, REASON_LINES)
            lines += [" " * LABEL + first, *(" " * (LABEL + 2) + line for line in more)]
    if summary.timing_uncertainty:
        uncertain = f"  timing uncertainty: {summary.timing_uncertainty}"
        lines += paragraph(uncertain, then=" " * LABEL)
    bar = error_bar(summary)
    if bar:
        lines += _labelled("", bar)
    lines += _labelled("requests", DOT.join(sum_of_requests(tally(summary))))
    for ending in endings(recording):
        lines += _labelled("not complete", ending)
    return lines


def _answers(sheet: Sheet) -> list[str]:
    """The headline; figures under each other, meanings at the right where they fit."""
    if not tally(sheet.summary).ok:
        return []
    rows = answers(sheet)
    figure = max(len(row.figure) for row in rows)
    facts = max((len("   ".join(row.facts)) for row in rows if len(row.facts) < 3), default=0)
    lines = []
    for row in rows:
        lines += _answer(row, figure, facts)
    return [*lines, *card_lines(sheet.summary, ANSWER, WIDTH)]


def _answer(row: Answer, figure: int, facts: int) -> list[str]:
    """One row of the headline, on a second line where one does not hold it."""
    start = f"  {row.label}".ljust(ANSWER) + row.figure.ljust(figure)
    beside = "   ".join(row.facts)
    if not row.facts:
        return paragraph(row.meaning, first=f"{start}   ", then=" " * (ANSWER + figure + 3))
    line = f"{start}   {beside.ljust(facts)}   {row.meaning}".rstrip()
    if len(line) <= WIDTH:
        return [line]
    return [f"{start}   {beside}", " " * (ANSWER + figure + 3) + row.meaning]


def _figures(sheet: Sheet) -> list[str]:
    """The table of a sweep; the distributions of a single point."""
    if not sheet.summary.points:
        return ["  no point was measured"]
    if sheet.is_sweep:
        lines = [*side_by_side(blocks(sheet)), *_absent(absences(sheet.summary))]
    else:
        lines = _one_point(sheet.summary)
    return lines


def _one_point(summary: Summary) -> list[str]:
    """The distributions and the one-number metrics of a run's only point; then what is absent."""
    point = summary.points[0]
    scalars = scalar_lines(point)
    lines = [*spread_lines(point), *(["", *scalars] if scalars else [])]
    return [*lines, *_absent(absences(summary, of_table=False) + absent_metrics(point))]


def _absent(words: Iterable[str]) -> list[str]:
    """Why figures are n/a."""
    lines: list[str] = []
    for absence in words:
        lines += paragraph(absence, first="  ", then="       ")
    return lines


def _asides(summary: Summary, recording: Recording) -> list[str]:
    """Certified bounds, whole-point figures where they differ, failures that did not lead."""
    bounds = certified_line(summary)
    lines = _labelled("99 % certain", bounds) if bounds else []
    counts = tally(summary)
    if counts.failed and not leads_with_failures(counts, recording.plan.error_limit_frac):
        lines += _labelled("failures", failures(counts))
    whole = whole_run(summary)
    for number, words in enumerate(whole):
        lines += _labelled("" if number else "whole points", words)
    if whole:
        lines += _labelled("", "ramp and drain included; the table above counts the window only")
    return lines


def _findings(summary: Summary) -> list[str]:
    """Every doubt, its severity first, with what to do about it."""
    lines = []
    footnoted = bool(absences(summary, of_table=False))
    for doubt in doubts(summary):
        if footnoted and doubt.code == FOOTNOTED:
            continue
        lines += _labelled(doubt.severity, doubt.text)
        if doubt.hint:
            lines += _labelled("", f"hint: {doubt.hint}")
    return lines


def _folder(recording: Recording) -> list[str]:
    """The folder, and the commands that repeat the run and print it again, to be copied."""
    path = printable(recording.path)
    again = f"loadgen report {_quoted(path)} --format json"
    if recording.imported is not None:
        return [f"  {path}", f"  {again}"]
    return [f"  {path}/", f"  loadgen run --like {_quoted(path)}", f"  {again}"]


def _quoted(path: str) -> str:
    """The path as a shell takes it."""
    return f"'{path}'" if " " in path else path
