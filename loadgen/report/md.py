"""The report for a pull request: the same order as the screen, in GitHub's markdown."""

from collections.abc import Iterable, Iterator, Sequence

from loadgen.model.summary import Summary
from loadgen.model.table import Recording
from loadgen.report.card import card_rows
from loadgen.report.certainty import certified_line
from loadgen.report.costs import cost_lines, phase_lines
from loadgen.report.distributions import absent_metrics, scalars, spreads, statistics
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
from loadgen.report.headline import answers
from loadgen.report.ladder import ladder_lines
from loadgen.report.layout import DOT, printable
from loadgen.report.rows import Sheet, blocks
from loadgen.report.server import CHECK_HEADS, check_rows, server_lines
from loadgen.report.sessions import session_lines

SPECIAL = str.maketrans({c: f"\\{c}" for c in "\\`*_[]<>|#~"})


def format_md(summary: Summary, recording: Recording) -> Iterable[str]:
    """The report in lines; sections are parted by empty lines."""
    sections = [
        _title(summary, recording),
        _verdict(summary, recording),
        _answers(Sheet(summary, recording.plan)),
        *_figures(Sheet(summary, recording.plan)),
        _fenced(session_lines(summary, recording.plan)),
        _fenced(ladder_lines(summary)),
        _fenced(server_lines(summary)),
        _fenced(energy_lines(summary)),
        _fenced([*phase_lines(summary), *cost_lines(summary)]),
        _asides(summary, recording),
        _findings(summary),
        _checks(summary),
        _card(summary),
        _again(recording),
    ]
    filled = [section for section in sections if section]
    for number, section in enumerate(filled):
        yield from (["\n"] if number else [])
        yield from (line + "\n" for line in section)


def escaped(text: str) -> str:
    """The text with markdown's special characters made harmless, on one line."""
    return printable(text).translate(SPECIAL)


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> list[str]:
    """A pipe table; the first `words` columns align left, the others right."""
    rule = ["---" if place < words else "---:" for place in range(len(headings))]
    lines = [headings, rule, *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def _fenced(lines: Iterable[str]) -> list[str]:
    """Lines as they stand on the screen; none for none."""
    block = [line.rstrip() for line in lines]
    return ["```text", *block, "```"] if block else []


def _title(summary: Summary, recording: Recording) -> list[str]:
    """What was measured."""
    model = recording.plan.target.model or "model unknown"
    return [
        f"## {escaped(model)}: {summary.verdict.upper()}",
        "",
        "  \n".join(escaped(DOT.join(facts)) for facts in heading(summary, recording)),
    ]


def _verdict(summary: Summary, recording: Recording) -> list[str]:
    """Failures where they lead, the verdict's reasons, how sure the times are."""
    counts = tally(summary)
    lines = []
    if leads_with_failures(counts, recording.plan.error_limit_frac):
        lines += [f"**FAILED: {escaped(failures(counts))}**", ""]
    words = DOT.join([client_grade(summary), *reasons(summary)])
    lines.append(f"**{summary.verdict.upper()}** {escaped(words)}  ")
    if summary.timing_uncertainty:
        lines.append(f"timing uncertainty: {escaped(summary.timing_uncertainty)}  ")
    bar = error_bar(summary)
    if bar:
        lines.append(f"{escaped(bar)}  ")
    lines.append(f"requests: {escaped(DOT.join(sum_of_requests(counts)))}")
    lines += [f"  \nnot complete: {escaped(ending)}" for ending in endings(recording)]
    return lines


def _answers(sheet: Sheet) -> list[str]:
    """The answers; none where no request ended well."""
    if not tally(sheet.summary).ok:
        return []
    rows = [
        (row.label, f"**{row.figure}**", escaped(DOT.join((*row.facts, row.meaning)).strip(DOT)))
        for row in answers(sheet)
    ]
    return table(("", "", ""), rows, words=3)


def _figures(sheet: Sheet) -> Iterator[list[str]]:
    """The sweep table, or one point's distributions; then why figures are absent."""
    points = sheet.summary.points
    if not points:
        yield ["No point was measured."]
    elif sheet.is_sweep:
        yield _sweep(sheet)
        yield [escaped(absence) + "  " for absence in absences(sheet.summary)]
    else:
        yield from _one_point(sheet.summary)


def _one_point(summary: Summary) -> Iterator[list[str]]:
    """Distributions and one-number metrics of a run's only point; then what is absent."""
    point = summary.points[0]
    many = [(f"`{row.name}`", row.unit, *row.cells, row.n) for row in spreads(point)]
    ones = [(f"`{s.name}`", s.figure, s.unit, escaped(s.remark)) for s in scalars(point)]
    yield table(("", "unit", *statistics(point), "n"), many, words=2) if many else []
    yield table(("", "value", "unit", "interval"), ones) if ones else []
    absent = absences(summary, of_table=False) + absent_metrics(point)
    yield [escaped(words) + "  " for words in absent]


def _sweep(sheet: Sheet) -> list[str]:
    """The sweep table; a block's heading goes before the title of each of its columns."""
    found = blocks(sheet)
    headings = [f"{block.heading} {title}".strip() for block in found for title in block.titles]
    rows = zip(*(block.cells for block in found), strict=True)
    return table(headings, [[cell for part in row for cell in part] for row in rows], words=0)


def _asides(summary: Summary, recording: Recording) -> list[str]:
    """Certified bounds, failures by class, whole-point figures where they differ."""
    counts, bounds = tally(summary), certified_line(summary)
    lines = [f"99 % certain: {escaped(bounds)}  "] if bounds else []
    if counts.failed and not leads_with_failures(counts, recording.plan.error_limit_frac):
        lines.append(f"failures: {escaped(failures(counts))}  ")
    return lines + [f"whole points, {escaped(words)}  " for words in whole_run(summary)]


def _findings(summary: Summary) -> list[str]:
    """Every doubt with its hint."""
    return [
        f"- **{doubt.severity}** {escaped(doubt.text)}"
        + (f" (hint: {escaped(doubt.hint)})" if doubt.hint else "")
        for doubt in doubts(summary)
    ]


def _checks(summary: Summary) -> list[str]:
    """Every cross-check with the server's metrics, folded."""
    rows = [tuple(map(escaped, row)) for row in check_rows(summary)]
    if not rows:
        return []
    title = "<details><summary>Cross-checks with the server's metrics</summary>"
    return [title, "", *table(CHECK_HEADS, rows, words=5), "", "</details>"]


def _card(summary: Summary) -> list[str]:
    """The disclosure card, folded: the six values by their definitions, then field by field."""
    if summary.disclosure is None:
        return []
    title = f"Disclosure: {summary.disclosure.score:.0f} of 100"
    six = [
        (one.name.replace("_", " "), escaped(one.text), escaped(one.definition), escaped(one.hint))
        for one in summary.disclosure.six
    ]
    fields = [tuple(map(escaped, row)) for row in card_rows(summary)]
    heads = ("", "field", "weight", "status", "observed", "declared", "what would tell it")
    return [
        f"<details><summary>{title}</summary>",
        "",
        *table(("value", "measured", "definition", "what would measure it"), six, words=4),
        "",
        *table(heads, fields, words=7),
        "",
        "</details>",
    ]


def _again(recording: Recording) -> list[str]:
    """The command that made the run, and the one that prints it."""
    command = printable(recording.provenance.command_line)
    lines = [f"made by `{command}`  "] if command else []
    if recording.imported is None:
        lines.append(f"repeated by `loadgen run --like {printable(recording.path)}`  ")
    return [*lines, f"printed by `loadgen report {printable(recording.path)} --format md`"]
