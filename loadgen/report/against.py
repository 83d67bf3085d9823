"""A claim beside a run of ours, 100 columns wide."""

from collections.abc import Iterator
from itertools import groupby

from loadgen.model.claim import AgainstResult, Held
from loadgen.report.layout import paragraph

LABEL = 26
LISTS = (
    ("same", "same"),
    ("differs", "not the same"),
    ("unlike", "unlike"),
    ("claim_silent", "the claim doesn't tell"),
    ("run_silent", "the run doesn't tell"),
)


def against_lines(result: AgainstResult) -> Iterator[str]:
    """The conditions, then each figure with its verdict, both numbers and why.

    Statements that no run can measure share one entry.
    """
    yield from paragraph(result.run, _label("against"))
    for name, label in LISTS:
        texts = getattr(result, name)
        if texts:
            yield from paragraph("; ".join(texts), _label(label))
    for (verdict, measured, why), group in groupby(result.figures, key=_told):
        figures = list(group)
        names = ", ".join(dict.fromkeys(held.what for held in figures))
        claimed = "; ".join(dict.fromkeys(held.said for held in figures))
        yield from paragraph(verdict.upper(), _label(names))
        yield from paragraph(f"claimed {claimed}; ours {measured}", _label(""))
        yield from paragraph(why, _label(""))


def _told(held: Held) -> tuple[str, str, str]:
    """What figures that share an entry have in common."""
    return held.verdict, held.measured, held.why


def _label(text: str) -> str:
    return f"  {text:<{LABEL - 2}} " if len(text) > LABEL - 3 else f"  {text:<{LABEL - 2}}"
