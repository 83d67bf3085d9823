"""HTML out of texts: everything that comes from elsewhere is escaped here, and only here.

A text is a `str` as anybody wrote it; a piece is a `str` of markup. Functions say which they take.
"""

import html
import re
from collections.abc import Iterable, Sequence

from loadgen.report.layout import printable

TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Marks that turn the direction of what follows: a server's text must not reorder ours."""


def text(words: str) -> str:
    """The words as markup that shows them, whatever they hold."""
    return html.escape(TURNING.sub("", printable(words)), quote=True)


def tag(name: str, *pieces: str, **attributes: str | float | None) -> str:
    """`<name a="b">pieces</name>`; attribute values are texts, None leaves one out.

    A trailing underscore of an attribute's name is dropped, others become hyphens.
    """
    shown = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(_plain(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{shown}>{''.join(pieces)}</{name}>"


def _plain(value: str | float) -> str:
    """A number without needless digits."""
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")


def paragraph(words: str, kind: str | None = None) -> str:
    """One paragraph of a text; nothing for no words."""
    return tag("p", text(words), class_=kind) if words else ""


def items(pieces: Iterable[str], kind: str | None = None) -> str:
    """An unordered list of pieces; nothing for none."""
    entries = "".join(tag("li", piece) for piece in pieces)
    return tag("ul", entries, class_=kind) if entries else ""


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    caption: str = "",
    words: int = 1,
    groups: Sequence[tuple[str, int]] = (),
) -> str:
    """A table of texts in a box that scrolls by itself; the first `words` columns align left.

    `groups` are headings over several columns: their text and how many they span.
    """
    top = ""
    if any(name for name, _ in groups):
        spans = (
            tag("th", text(name), colspan=str(span), scope="colgroup") for name, span in groups
        )
        top = tag("tr", *spans, class_="groups")
    heads = (
        tag("th", text(title), scope="col", class_=None if place < words else "n")
        for place, title in enumerate(headings)
    )
    body = "".join(_row(row, words) for row in rows)
    told = tag("caption", text(caption)) if caption else ""
    inner = tag("table", told, tag("thead", top, tag("tr", *heads)), tag("tbody", body))
    return tag(
        "div", inner, class_="scroll", tabindex="0", role="group", aria_label=caption or "table"
    )


def _row(row: Sequence[str], words: int) -> str:
    """A row; its first cell names it."""
    cells = []
    for place, cell in enumerate(row):
        kind = None if place < words else "n"
        if place == 0:
            cells.append(tag("th", text(cell), scope="row", class_=kind))
        else:
            cells.append(tag("td", text(cell), class_=kind))
    return tag("tr", *cells)


def section(name: str, title: str, *pieces: str) -> str:
    """A section with its heading, nothing where all pieces are empty."""
    if not any(pieces):
        return ""
    head = tag("h2", text(title), id=name)
    return tag("section", head, *pieces, aria_labelledby=name) + "\n"
