"""Words on a page of fixed width: flowed facts, indented paragraphs, aligned tables. No figures."""

import textwrap
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 100
DOT = " · "
GAPS = ("    ", "   ", "  ")


def printable(text: str) -> str:
    """The text without control characters: what a server says must not move a cursor."""
    return "".join(
        " " if unicodedata.category(character) in {"Cc", "Zl", "Zp"} else character
        for character in text
    )


def flow(facts: Sequence[str], first: str = "", then: str | None = None) -> list[str]:
    """Facts joined by dots, broken between facts at `WIDTH`; later lines begin with `then`."""
    indent = first if then is None else then
    lines: list[str] = []
    line = first
    empty = True
    for fact in facts:
        candidate = line + fact if empty else line + DOT + fact
        if not empty and len(candidate) > WIDTH:
            lines.append(line)
            line = indent + fact
        else:
            line = candidate
        empty = False
    return lines if empty else [*lines, line]


def paragraph(text: str, first: str = "", then: str | None = None) -> list[str]:
    """The text wrapped at `WIDTH`, never inside a word."""
    return textwrap.wrap(
        printable(text),
        WIDTH,
        initial_indent=first,
        subsequent_indent=" " * len(first) if then is None else then,
        break_long_words=False,
        break_on_hyphens=False,
    )


def shortened(text: str, width: int, lines: int = 1) -> list[str]:
    """The text on at most so many lines of this width; an ellipsis where something is gone."""
    return textwrap.wrap(
        printable(text),
        width,
        max_lines=lines,
        placeholder=" …",
        break_long_words=False,
        break_on_hyphens=False,
    )


@dataclass(frozen=True, slots=True)
class Block:
    """Columns that belong together under one heading; cells are rows of texts."""

    heading: str
    titles: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]

    def widths(self) -> list[int]:
        """Width of each column; the last makes room for the heading."""
        columns = zip(self.titles, *self.cells, strict=True)
        widths = [max(len(text) for text in column) for column in columns]
        missing = len(self.heading) - sum(widths) - len(widths) + 1
        widths[0] += max(0, missing)
        return widths

    def lines(self) -> list[str]:
        """Heading, titles and rows of this block, all equally wide."""
        widths = self.widths()
        total = sum(widths) + len(widths) - 1
        rows = [
            " ".join(text.rjust(width) for text, width in zip(row, widths, strict=True))
            for row in (self.titles, *self.cells)
        ]
        slack = len(rows[0]) - len(rows[0].lstrip())
        heading = (" " * min(slack, max(0, total - len(self.heading)))) + self.heading
        return [heading.ljust(total), *rows]


def side_by_side(blocks: Sequence[Block], indent: str = "  ") -> list[str]:
    """The blocks beside each other, as far apart as `WIDTH` allows; the rest follows below.

    The first block is repeated at the left of every part. A single block is never cut.
    """
    if not blocks:
        return []
    total = len(indent) + sum(len(block.lines()[0]) for block in blocks)
    gap = next((g for g in GAPS if total + len(g) * (len(blocks) - 1) <= WIDTH), GAPS[-1])
    key, *rest = blocks
    lines: list[str] = []
    while True:
        part = [key]
        width = len(indent) + len(key.lines()[0])
        while rest and (len(part) == 1 or width + len(gap) + len(rest[0].lines()[0]) <= WIDTH):
            width += len(gap) + len(rest[0].lines()[0])
            part.append(rest.pop(0))
        rows = zip(*(block.lines() for block in part), strict=True)
        lines += [(indent + gap.join(row)).rstrip() for row in rows]
        if not rest:
            return lines
        lines.append("")
