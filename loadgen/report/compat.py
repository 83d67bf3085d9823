"""A run by another tool's rules: a table of its names, its values, its units, what each counts."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from loadgen.model.compat import CompatFigure, CompatPoint, CompatTable
from loadgen.report.figures import NOT_AVAILABLE, format_number, shared_decimals
from loadgen.report.layout import paragraph, printable

COLUMN = 11
POINTS_MOST = 4
SIGNIFICANT = 4
DECIMALS = 5
INDENT = "  "


@dataclass(frozen=True, slots=True)
class Row:
    """One figure over several points; `figures` has None where a point lacks it."""

    name: str
    unit: str
    figures: tuple[CompatFigure | None, ...]

    def cells(self) -> list[str]:
        """The values with the decimals that they share; what the tool printed beside it."""
        decimals = shared_decimals([f.value for f in self.figures if f], SIGNIFICANT, DECIMALS)
        if self.unit in {"requests", "tok"} and all(f is None or _whole(f) for f in self.figures):
            decimals = 0
        return [NOT_AVAILABLE if f is None else _cell(f, decimals) for f in self.figures]


def format_compat_text(tables: Sequence[CompatTable], runs: Sequence[str]) -> Iterable[str]:
    """The screen, 100 columns: figures of the points side by side, then what they count."""
    for number, (table, run) in enumerate(zip(tables, runs, strict=True)):
        if number:
            yield "\n"
        for line in _text(table, run):
            yield line.rstrip() + "\n"


def format_compat_md(tables: Sequence[CompatTable], runs: Sequence[str]) -> Iterable[str]:
    """The same for a pull request."""
    for number, (table, run) in enumerate(zip(tables, runs, strict=True)):
        if number:
            yield "\n"
        yield f"### `{printable(run)}` by the rules of {table.tool}\n\n"
        if table.label:
            yield f"**{table.label}**\n\n"
        points = table.points
        titles = [_title(point) for point in points]
        yield "| metric | unit | " + " | ".join(titles) + " |\n"
        yield "|---|---|" + "---:|" * len(points) + "\n"
        for row in _rows(points):
            yield f"| `{row.name}` | {row.unit} | " + " | ".join(row.cells()) + " |\n"
        yield "\n"
        for names, says in _definitions(points):
            yield f"- `{names}`: {says}\n"
        for note in table.notes:
            yield f"- {note}\n"


def format_compat_json(tables: Sequence[CompatTable], runs: Sequence[str]) -> Iterable[str]:
    """One document: every figure with value, unit, n, definition and reason."""
    document = [
        {"run": run, **msgspec.to_builtins(table)} for table, run in zip(tables, runs, strict=True)
    ]
    yield json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def format_compat_csv(tables: Sequence[CompatTable], runs: Sequence[str]) -> Iterable[str]:
    """One line a figure and point."""
    yield _csv_line(["run", "rules", "label", "load", "metric", "unit", "value", "n", "reason"])
    for table, run in zip(tables, runs, strict=True):
        for point in table.points:
            for figure in point.figures:
                value = "" if figure.value is None else repr(figure.value)
                yield _csv_line(
                    [run, table.rules, table.label, point.load, figure.name, figure.unit, value,
                     figure.n, figure.reason]
                )  # fmt: skip


COMPAT_OUTPUTS: dict[str, Callable[[Sequence[CompatTable], Sequence[str]], Iterable[str]]] = {
    "text": format_compat_text,
    "md": format_compat_md,
    "json": format_compat_json,
    "csv": format_compat_csv,
}
"""Outputs of `report --compat` by the name that `--format` takes."""


def _text(table: CompatTable, run: str) -> Iterator[str]:
    yield from paragraph(f"{run}, by the rules of {table.tool}", then=INDENT)
    if table.label:
        yield f"{INDENT}{table.label.upper()}"
    if not table.points:
        yield f"{INDENT}no point was measured"
    printed = any(f.printed is not None for point in table.points for f in point.figures)
    for start in range(0, len(table.points), POINTS_MOST):
        points = table.points[start : start + POINTS_MOST]
        yield ""
        yield from _grid(points)
    if printed:
        yield ""
        yield f"{INDENT}[in brackets]: what the tool itself printed"
    yield ""
    for names, says in _definitions(table.points):
        yield from paragraph(says, first=f"{INDENT}{names}: ", then=INDENT * 3)
    for note in table.notes:
        yield from paragraph(note, first=f"{INDENT}note: ", then=INDENT * 3)


def _grid(points: Sequence[CompatPoint]) -> Iterator[str]:
    """Names, values by point, units; absences below with their reasons."""
    rows = _rows(points)
    cells = [row.cells() for row in rows]
    titles = [_title(point) for point in points]
    widths = [
        max(COLUMN, len(title), *(len(line[number]) for line in cells))
        for number, title in enumerate(titles)
    ]
    name = max(len(row.name) for row in rows)
    yield (
        INDENT + " " * name + "".join(f" {t.rjust(w)}" for t, w in zip(titles, widths, strict=True))
    )
    for row, line in zip(rows, cells, strict=True):
        values = "".join(f" {c.rjust(w)}" for c, w in zip(line, widths, strict=True))
        yield f"{INDENT}{row.name.ljust(name)}{values} {row.unit}"
    for names, reason in _absences(rows):
        yield from paragraph(reason, first=f"{INDENT}n/a {names}: ", then=INDENT * 3)


def _right(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "".join(f" {text.rjust(width)}" for text, width in zip(cells, widths, strict=True))


def _rows(points: Sequence[CompatPoint]) -> list[Row]:
    """Figures by name in the tool's order."""
    by_point = [{figure.name: figure for figure in point.figures} for point in points]
    names: dict[str, str] = {}
    for figures in by_point:
        for figure in figures.values():
            names.setdefault(figure.name, figure.unit)
    return [
        Row(name, unit, tuple(figures.get(name) for figures in by_point))
        for name, unit in names.items()
    ]


def _definitions(points: Sequence[CompatPoint]) -> list[tuple[str, str]]:
    """What the figures count, each definition once, with the names that it holds for."""
    found: dict[str, list[str]] = {}
    for point in points:
        for figure in point.figures:
            found.setdefault(figure.definition, [])
            if figure.name not in found[figure.definition]:
                found[figure.definition].append(figure.name)
    return [(_shared(names), says) for says, names in found.items()]


def _absences(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Why figures are absent, each reason once."""
    found: dict[str, list[str]] = {}
    for row in rows:
        for figure in row.figures:
            if figure is not None and figure.value is None:
                names = found.setdefault(figure.reason, [])
                if row.name not in names:
                    names.append(row.name)
    return [(_shared(names), reason) for reason, names in found.items()]


def _shared(names: Sequence[str]) -> str:
    """`*_ttft_ms` or `ttft.*` for several statistics of one family; else the names."""
    if len(names) == 1:
        return names[0]
    families = dict.fromkeys(_family(name) for name in names)
    return ", ".join(families)


def _family(name: str) -> str:
    """The name without its statistic."""
    if "." in name:
        return name.partition(".")[0] + ".*"
    stat, _, rest = name.partition("_")
    known = stat in {"mean", "median", "std", "max"} or (stat[:1] == "p" and stat[1:].isdigit())
    return f"*_{rest}" if known else name


def _title(point: CompatPoint) -> str:
    return point.load if point.concurrency is None else f"c={point.concurrency}"


def _cell(figure: CompatFigure, decimals: int) -> str:
    value = format_number(figure.value, decimals)
    if figure.printed is None:
        return value
    return f"{value} [{format_number(figure.printed, decimals)}]"


def _whole(figure: CompatFigure) -> bool:
    return figure.value is None or figure.value == round(figure.value)


def _csv_line(cells: Sequence[object]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(cells)
    return buffer.getvalue()
