"""A comparison, or the noise of a place, as text, markdown or JSON. No figure computed."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from loadgen.model.comparison import (
    Comparison,
    FigureChange,
    FigureSpread,
    Noise,
    Repetition,
    Unlike,
)
from loadgen.report.figures import NOT_AVAILABLE, format_figure
from loadgen.report.layout import paragraph, printable

LABEL = 14
NAMES_SHOWN = 3
BETTER_WORDS = {"faster": "better", "slower": "worse"}
SPEED_UNITS = frozenset({"s", "tok/s", "req/s"})
ALL_POINTS = "all points"
HEADINGS = ("point", "figure", "base", "new", "change", "95 % interval", "margin", "verdict")
NOISE_HEADINGS = ("point", "figure", "mean", "run-to-run", "widest", "margin", "3 runs", "5", "10")
LEFT = 2
"""Columns that align left."""


def compare_text(comparison: Comparison) -> Iterator[str]:
    """The screen: sides, verdicts in a sentence, the table, what forbids or would decide more."""
    lines = [*_sides(comparison), ""]
    lines += _labelled("verdict", verdict_line(comparison))
    lines += ["", *_table(HEADINGS, [_cells(row) for row in comparison.figures])]
    lines += ["", *_notes(comparison)]
    yield from (line.rstrip() + "\n" for line in lines)


def compare_md(comparison: Comparison) -> Iterator[str]:
    """The same for a pull request."""
    lines = [f"**{verdict_line(comparison)}**", ""]
    lines += _pipe(HEADINGS, [_cells(row) for row in comparison.figures])
    lines += ["", *(f"- {_one_line(line)}" for line in _remarks(comparison))]
    lines += [f"- base: {_named(comparison.base)}", f"- new: {_named(comparison.new)}"]
    yield from (line + "\n" for line in lines)


def repetition_lines(told: Repetition) -> list[str]:
    """Whether the earlier result came again, and the figures that did not."""
    word = REPEATED[told.verdict]
    runs = f"{', '.join(told.comparison.new)} after {', '.join(told.comparison.base)}"
    lines = [*_labelled("repeat", f"{word}: {told.text}"), *_labelled("", printable(runs))]
    for one in told.comparison.unlike:
        lines += _labelled(_severity(one), f"{_where(one)}{one.text}")
    return [line.rstrip() + "\n" for line in lines]


def noise_text(noise: Noise) -> Iterator[str]:
    """How much runs differ by themselves, and what so many runs a side could tell."""
    lines = _labelled("runs", _named(noise.runs))
    lines += _labelled("noise", noise_line(noise))
    lines += ["", *_table(NOISE_HEADINGS, [_noise_cells(row) for row in noise.spreads])]
    lines += ["", *_labelled("", NOISE_MEANING)]
    lines += _flagged(noise.unlike)
    yield from (line.rstrip() + "\n" for line in lines)


def noise_md(noise: Noise) -> Iterator[str]:
    """The same for a pull request."""
    lines = [f"**{noise_line(noise)}**", ""]
    lines += _pipe(NOISE_HEADINGS, [_noise_cells(row) for row in noise.spreads])
    lines += ["", NOISE_MEANING, *(f"- {_one_line(one.text)}" for one in noise.unlike)]
    yield from (line + "\n" for line in lines)


def as_json(told: Comparison | Noise) -> Iterator[str]:
    """Strict JSON of the courtyard's own words."""
    yield msgspec.json.format(msgspec.json.encode(told), indent=2).decode() + "\n"


REPEATED = {
    "reproduced": "REPRODUCED",
    "not_reproduced": "NOT REPRODUCED",
    "cannot_tell": "can't be told",
}
SINGLE = (
    "one run a side: this holds for these two runs and leaves out what differs from run to run;"
    " make several with --repeat 5"
)
NOISE_MEANING = (
    "run-to-run: standard deviation, of the mean. widest: largest over smallest run. 3, 5, 10: the"
    " least change that so many runs a side show here"
)


def verdict_line(comparison: Comparison) -> str:
    """How many figures went which way, in one sentence: the worst first."""
    rows = comparison.figures
    if not rows:
        return "nothing to compare"
    by_verdict: dict[str, list[str]] = {}
    for row in rows:
        by_verdict.setdefault(row.verdict, []).append(row.key)
    parts = []
    for verdict in ("slower", "faster", "equivalent", "size_unclear", "inconclusive"):
        keys = by_verdict.get(verdict)
        if keys:
            names = ", ".join(dict.fromkeys(keys)) if verdict in {"slower", "faster"} else ""
            told = f"{verdict.replace('_', ' ')} in {len(keys)}"
            parts.append(f"{told} ({names})" if names else told)
    words = f"of {len(rows)} figures: {'; '.join(parts)}"
    return (
        f"{words} ({SINGLE})" if max(row.base_runs + row.new_runs for row in rows) == 2 else words
    )


def noise_line(noise: Noise) -> str:
    """Whether the place is quiet enough for its margins."""
    if not noise.spreads:
        return "no figure that all runs have"
    loud = [row for row in noise.spreads if row.noisy]
    if loud:
        names = ", ".join(f"{row.key} at {row.point}" for row in loud[:3])
        return (
            f"{len(loud)} of {len(noise.spreads)} figures differ from themselves by more than their"
            f" margin ({names}): a change of that size says nothing here"
        )
    wide = [row for row in noise.spreads if row.tells_frac["5"] > row.margin_frac]
    if wide:
        names = ", ".join(f"{row.key} at {row.point}" for row in wide[:3])
        return (
            f"no figure differs from itself by more than its margin, but 5 runs a side would not"
            f" show a change of the margin in {len(wide)} of {len(noise.spreads)} ({names})"
        )
    return "quiet: 5 runs a side show a change of the margin in every figure"


def verdict_words(row: FigureChange) -> str:
    """The verdict as people read it: faster and slower for speeds, better and worse for others."""
    words = row.verdict.replace("_", " ")
    if row.verdict == "size_unclear":
        return f"{_speed_word(row, row.direction)}, size unclear"
    return _speed_word(row, words)


def _speed_word(row: FigureChange, word: str) -> str:
    return word if row.unit in SPEED_UNITS else BETTER_WORDS.get(word, word)


def _sides(comparison: Comparison) -> list[str]:
    """Which runs stand on which side."""
    lines = _labelled("base", _named(comparison.base))
    lines += _labelled("new", _named(comparison.new))
    if comparison.paired:
        lines += _labelled("", "runs of both sides alternated: compared in pairs")
    return lines


def _named(names: Sequence[str]) -> str:
    """The runs by name: several of one folder by that folder, many by the first of them."""
    parents = {name.rpartition("/")[0] for name in names}
    if len(names) > 1 and len(parents) == 1 and parents != {""}:
        return f"{printable(parents.pop())}/ ({len(names)} runs)"
    shown = ", ".join(printable(name) for name in names[:NAMES_SHOWN])
    rest = len(names) - NAMES_SHOWN
    return shown + (f" and {rest} more" if rest > 0 else "")


def _cells(row: FigureChange) -> tuple[str, ...]:
    """One row of the table."""
    interval = NOT_AVAILABLE
    if row.low_frac is not None and row.high_frac is not None:
        interval = f"{_signed(row.low_frac)} .. {_signed(row.high_frac)} %"
    change = "" if row.change_frac is None else f"{_signed(row.change_frac)} %"
    return (
        row.point or ALL_POINTS,
        f"{row.key} {_unit(row.unit)}",
        _value(row.base, row.unit) if row.point else "",
        _value(row.new, row.unit) if row.point else "",
        change or NOT_AVAILABLE,
        interval,
        f"{row.margin_frac * 100:g} %",
        verdict_words(row),
    )


def _noise_cells(row: FigureSpread) -> tuple[str, ...]:
    """One row of the noise table."""
    return (
        row.point,
        f"{row.key} {_unit(row.unit)}",
        _value(row.mean, row.unit),
        f"{row.spread_frac * 100:.1f} %",
        f"{row.widest_frac * 100:.1f} %",
        f"{row.margin_frac * 100:g} %",
        *(f"{told * 100:.1f} %" for told in row.tells_frac.values()),
    )


def _unit(unit: str) -> str:
    """Times are shown in ms."""
    return "ms" if unit == "s" else unit


def _value(value: float | None, unit: str) -> str:
    if value is None:
        return NOT_AVAILABLE
    return format_figure(value * 1000 if unit == "s" else value)


def _signed(share: float) -> str:
    return f"{share * 100:+.1f}"


def _table(headings: Sequence[str], rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Aligned columns; a point is named once, and an empty line parts points."""
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    lines = [_line(headings, widths)]
    before = None
    for row in rows:
        if before is not None and row[0] != before:
            lines.append("")
        shown = ("" if row[0] == before else row[0], *row[1:])
        lines.append(_line(shown, widths))
        before = row[0]
    return lines


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """One line: words at the left, figures at the right, the last column as it is."""
    parts = [
        cell.ljust(width) if place < LEFT or place == len(cells) - 1 else cell.rjust(width)
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  " + "  ".join(parts)


def _pipe(headings: Sequence[str], rows: Sequence[tuple[str, ...]]) -> list[str]:
    """A table of GitHub's markdown."""
    rule = ["---" if place < LEFT else "---:" for place in range(len(headings))]
    lines = [headings, rule, *rows]
    return [f"| {' | '.join(_one_line(cell) for cell in cells)} |" for cells in lines]


def _one_line(text: str) -> str:
    return printable(text).replace("|", "\\|")


def _remarks(comparison: Comparison) -> list[str]:
    """What forbids verdicts, what is absent, how intervals were made, what would decide."""
    found = [f"{_severity(one)}: {_where(one)}{one.text}" for one in comparison.unlike]
    for reason in dict.fromkeys(row.reason for row in comparison.figures if row.reason):
        if not reason.startswith(("unlike", "the interval")):
            keys = [row.key for row in comparison.figures if row.reason == reason]
            found.append(f"n/a: {', '.join(dict.fromkeys(keys))}: {reason}")
    if comparison.unmatched:
        found.append(f"only one side has: {', '.join(comparison.unmatched)}")
    found += [
        f"intervals: {how}"
        for how in dict.fromkeys(row.interval for row in comparison.figures if row.interval)
    ]
    wanted = [row for row in comparison.figures if row.more_runs]
    if wanted:
        most = max(wanted, key=lambda row: row.more_runs or 0)
        found.append(
            f"to decide: about {most.more_runs} more runs a side ({most.key} at"
            f" {most.point or ALL_POINTS} scatters most; {_least(wanted)})"
        )
    return found


def _least(rows: Sequence[FigureChange]) -> str:
    """The open figure that fewest runs would decide."""
    least = min(rows, key=lambda row: row.more_runs or 0)
    return f"{least.more_runs} would do for {least.key} at {least.point or ALL_POINTS}"


def _severity(one: Unlike) -> str:
    return "no verdict" if one.blocks else "note"


def _where(one: Unlike) -> str:
    return f"{one.point}, " if one.point else ""


def _notes(comparison: Comparison) -> list[str]:
    """The remarks below the table."""
    lines: list[str] = []
    for remark in _remarks(comparison):
        label, _, words = remark.partition(": ")
        lines += _labelled(label, words)
    return lines


def _flagged(unlike: Iterable[Unlike]) -> list[str]:
    lines: list[str] = []
    for one in unlike:
        lines += _labelled("note", f"{_where(one)}{one.text}")
    return lines


def _labelled(label: str, words: str) -> list[str]:
    """The word, then the text beside it, wrapped below itself."""
    first = f"  {label}".ljust(LABEL)
    first += "" if first.endswith(" ") else "  "
    return paragraph(words, first=first, then=" " * LABEL)


COMPARE_OUTPUTS = {"text": compare_text, "md": compare_md, "json": as_json}
NOISE_OUTPUTS = {"text": noise_text, "md": noise_md, "json": as_json}
