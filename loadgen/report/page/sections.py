"""The sections below the first screen: charts with their tables, lists, and how to repeat it."""

import shlex
from collections.abc import Iterable, Sequence

from loadgen.model.summary import PointSummary, Summary
from loadgen.model.table import Recording
from loadgen.report.distributions import absent_metrics, scalars, spreads, statistics
from loadgen.report.doubts import absences, doubts, failures, tally, whole_run
from loadgen.report.headline import answers
from loadgen.report.layout import DOT, printable
from loadgen.report.page.chart import Chart, draw, legend
from loadgen.report.page.loads import load_name
from loadgen.report.page.markup import items, paragraph, section, table, tag, text
from loadgen.report.rows import Sheet, blocks
from loadgen.report.server import CHECK_HEADS, check_rows, server_lines


def figures(charts: Iterable[Chart]) -> str:
    """Charts beside each other as far as there is room; nothing for none."""
    drawn = "".join(map(figure, charts))
    return tag("div", drawn, class_="figures") if drawn else ""


def figure(chart: Chart) -> str:
    """One chart: title, how to read it, legend, picture, and its table, closed."""
    shown = tag(
        "details",
        tag("summary", f"figures of “{text(chart.title)}” as a table"),
        table(chart.headings, chart.rows, chart.title),
    )
    caption = tag("figcaption", tag("b", text(chart.title)), paragraph(chart.says))
    return tag("figure", caption, legend(chart), draw(chart), shown, id=chart.name)


def answers_table(sheet: Sheet) -> str:
    """The answers in words: single stream, aggregate, knee, cost; none where nothing went well."""
    if not tally(sheet.summary).ok:
        return ""
    rows = [
        (row.label, row.figure, DOT.join((*row.facts, row.meaning)).strip(DOT))
        for row in answers(sheet)
    ]
    return table(("", "figure", "meaning"), rows, "in short", words=3)


def sweep_table(sheet: Sheet) -> str:
    """The table of all points as the screen has it; then why figures are absent."""
    if not sheet.summary.points:
        return paragraph("No point was measured.")
    if not sheet.is_sweep:
        return ""
    found = blocks(sheet)
    headings = [title for block in found for title in block.titles]
    groups = [(block.heading, len(block.titles)) for block in found]
    rows = zip(*(block.cells for block in found), strict=True)
    joined = [[cell for part in row for cell in part] for row in rows]
    caption = "over the measuring window of each point"
    absent = "".join(map(paragraph, absences(sheet.summary)))
    return table(headings, joined, caption, words=0, groups=groups) + absent


def every_measure(summary: Summary) -> str:
    """Every measure of each point; open where there is one point only."""
    alone = len(summary.points) == 1
    pieces = []
    for point in summary.points:
        inner = _measures(point)
        if not alone:
            inner = tag(
                "details", tag("summary", f"every figure at {text(load_name(point))}"), inner
            )
        pieces.append(inner)
    return "".join(pieces)


def _measures(point: PointSummary) -> str:
    """Distributions, one-number metrics, and what is absent."""
    many = [(row.name, row.unit, *row.cells, row.n) for row in spreads(point)]
    ones = [(row.name, row.figure, row.unit, row.remark) for row in scalars(point)]
    caption = f"distributions at {load_name(point)}"
    heads = ("metric", "unit", *statistics(point), "n")
    return "".join(
        (
            table(heads, many, caption, words=2) if many else "",
            table(
                ("metric", "value", "unit", "interval"), ones, f"one number at {load_name(point)}"
            )
            if ones
            else "",
            *map(paragraph, absent_metrics(point)),
        )
    )


def findings(summary: Summary) -> str:
    """Every doubt, the gravest first, with what to do about it."""
    entries = []
    for doubt in doubts(summary):
        kind = tag("span", text(doubt.severity), class_=f"severity {doubt.severity}")
        said = tag("p", kind + text(doubt.text))
        hint = paragraph(f"hint: {doubt.hint}", "soft") if doubt.hint else ""
        entries.append(said + hint)
    listed = items(entries, "findings") or paragraph("No finding.")
    return section("findings", "Findings", listed)


def failed(summary: Summary, recording: Recording) -> str:
    """Failures by class and point with an example of each class; nothing without any."""
    counts = tally(summary)
    if not counts.failed:
        return ""
    classes = sorted(counts.by_class, key=lambda name: -counts.by_class[name])
    rows = []
    for name in classes:
        by_point = [str(_of_class(point, name)) for point in summary.points]
        rows.append((name, *by_point, _example(recording, name)))
    heads = ("class", *(load_name(point) for point in summary.points), "an example")
    told = paragraph(failures(counts))
    return section("failures", "Failures", told, table(heads, rows, "failed requests by load"))


def _of_class(point: PointSummary, name: str) -> int:
    return point.counts.errors_by_class.get(name, point.counts.outcomes.get(name, 0))


def _example(recording: Recording, name: str) -> str:
    """The detail of the first request that ended so."""
    outcome, _, status = name.partition(" ")
    rows = recording.table.outcome == outcome
    if status.isdigit():
        rows = rows & (recording.table.http_status == int(status))
    return next((str(detail)[:300] for detail in recording.table.detail[rows] if detail), "")


def fenced(name: str, title: str, lines: Iterable[str]) -> str:
    """A section of lines as the screen has them; nothing for none."""
    block = "\n".join(printable(line).rstrip() for line in lines)
    return section(name, title, _pre(block)) if block else ""


def _pre(block: str) -> str:
    """Text whose line breaks and spaces stay."""
    lines = (text(line) for line in block.split("\n"))
    return tag("pre", "\n".join(lines), tabindex="0")


def server_section(summary: Summary) -> str:
    """What the server's own metrics told, and each cross-check; nothing where they told nothing."""
    lines = "\n".join(server_lines(summary))
    if not lines:
        return ""
    checks = table(CHECK_HEADS, check_rows(summary), "ours beside the server's", words=5)
    return section("server", "The server's own metrics", _pre(lines), checks)


def whole_points(summary: Summary) -> str:
    """Figures over whole points where they differ from the window's."""
    lines = whole_run(summary)
    if not lines:
        return ""
    why = "Ramp and drain included; all other figures count the measuring window only."
    return section("whole", "Whole points", paragraph(why), items(map(text, lines)))


def provenance(recording: Recording) -> str:
    """Declared and observed facts of the system and of the client, in tables of their own."""
    observed = [
        (name, _said(value))
        for name, value in _fields(recording.observed)
        if value not in (None, "", ())
    ]
    where = [
        (name, _said(v)) for name, v in _fields(recording.provenance) if v not in ("", {}, None)
    ]
    tables = [table(("observed of the endpoint", "value"), observed, words=2)] if observed else []
    if recording.plan.system is not None:
        declared = [(n, _said(v)) for n, v in _fields(recording.plan.system) if v not in (None, "")]
        tables.insert(0, table(("declared by the user", "value"), declared, words=2))
    if where:
        tables.append(table(("the client", "value"), where, words=2))
    inner = "".join(tables)
    return (
        section(
            "provenance",
            "Provenance",
            tag("details", tag("summary", "declared and observed"), inner),
        )
        if tables
        else ""
    )


def _fields(told: object) -> list[tuple[str, object]]:
    """Members of a struct or dataclass by name."""
    names: Iterable[str] = getattr(told, "__struct_fields__", ()) or getattr(
        told, "__dataclass_fields__", ()
    )
    return [(name, getattr(told, name)) for name in names]


def _said(value: object) -> str:
    """A value as words."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {item}" for key, item in value.items())
    if isinstance(value, (tuple, list)):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def again(recording: Recording, others: Sequence[str] = ()) -> str:
    """The commands that made the run and that print this page."""
    made = recording.provenance.command_line
    paths = " ".join(shlex.quote(path) for path in (recording.path, *others))
    pieces = [paragraph("This made the run:"), _pre(made)] if made else []
    if recording.imported is None:
        pieces += [paragraph("This repeats it, and says whether its result came again:")]
        pieces.append(_pre(f"loadgen run --like {shlex.quote(recording.path)}"))
    pieces += [paragraph("This makes the page again:")]
    pieces.append(_pre(f"loadgen report {paths} --format html --out report.html"))
    return section("again", "Repeat it", *pieces)
