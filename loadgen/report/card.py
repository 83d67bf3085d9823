"""The disclosure card: in two lines on the screen, field by field in the report for a page."""

from collections.abc import Iterator

from loadgen.model.disclosure import DisclosedField
from loadgen.model.summary import Summary
from loadgen.report.layout import shortened

LINES = 2
TOLD = ("observed", "declared")


def missing(summary: Summary) -> list[DisclosedField]:
    """What is not told, the heaviest first; contradicted fields before all."""
    if summary.disclosure is None:
        return []
    open_fields = [f for f in summary.disclosure.fields if f.status not in (*TOLD, "inferred")]
    return sorted(open_fields, key=lambda f: (f.status != "contradicted", -f.weight))


def card_lines(summary: Summary, label: int, width: int) -> Iterator[str]:
    """`disclosure  61 of 100 · missing: ...`: two lines, more where contradicted; none without."""
    if summary.disclosure is None:
        return
    found = missing(summary)
    wrong = [field.field for field in found if field.status == "contradicted"]
    names = [f"{field.field} {field.weight:g}" for field in found if field.status == "missing"]
    text = f"{summary.disclosure.score:.0f} of 100"
    if wrong:
        text += f" · contradicted: {', '.join(wrong)}"
    shown = len(names)
    while len(lines := _wrapped(text, names, shown, width - label)) > LINES and shown:
        shown -= 1
    for number, line in enumerate(lines):
        yield ("" if number else "  disclosure").ljust(label) + line


def _wrapped(text: str, names: list[str], shown: int, width: int) -> list[str]:
    """The text with the first `shown` names, and how many there are besides."""
    if names:
        more = [] if shown == len(names) else [f"{len(names) - shown} more (--format md)"]
        text += f" · missing, by weight: {', '.join([*names[:shown], *more])}"
    return shortened(text, width, lines=LINES + 9)


def card_rows(summary: Summary) -> list[tuple[str, ...]]:
    """Group, field, weight, status, observed, declared, what would tell it."""
    if summary.disclosure is None:
        return []
    return [
        (f.group, f.field, f"{f.weight:g}", f.status, f.observed, f.declared, f.hint)
        for f in summary.disclosure.fields
    ]
