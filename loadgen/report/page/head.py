"""The first screen: what was measured, six values, the verdict with its reasons, the card."""

import re
from itertools import groupby

from loadgen.model.disclosure import DisclosedField, Disclosure, SixthValue
from loadgen.model.summary import Summary
from loadgen.model.table import Recording
from loadgen.report.doubts import (
    client_grade,
    endings,
    error_bar,
    failures,
    leads_with_failures,
    reasons,
    sum_of_requests,
    tally,
)
from loadgen.report.figures import format_number
from loadgen.report.heading import heading
from loadgen.report.layout import DOT
from loadgen.report.page.markup import items, paragraph, table, tag, text
from loadgen.report.page.six import TITLES, six_of
from loadgen.report.rows import Sheet

MISSING_SHOWN = 5
WHERE = re.compile(r",? (?P<of>at |over |of |\(|n=)")
"""Where the figure of a value ends."""


def title_of(summary: Summary, recording: Recording) -> str:
    """The page's title as text: the model and the verdict."""
    model = recording.plan.target.model or "model unknown"
    return f"{model}: {summary.verdict}"


def head(summary: Summary, recording: Recording) -> str:
    """The whole first screen."""
    sheet = Sheet(summary, recording.plan)
    return "\n".join(
        piece
        for piece in (
            _title(summary, recording),
            _alarm(summary, recording),
            _six(six_of(sheet)),
            _reasons(summary, recording),
            _card(summary.disclosure),
        )
        if piece
    )


def _title(summary: Summary, recording: Recording) -> str:
    """Model, facts, and the verdict beside them."""
    model = recording.plan.target.model or "model unknown"
    facts = (paragraph(DOT.join(line), "facts") for line in heading(summary, recording))
    badge = tag("span", text(summary.verdict.upper()), class_=f"badge {summary.verdict}")
    return tag(
        "header",
        tag("div", tag("h1", text(model)), *facts),
        tag("div", badge, paragraph(client_grade(summary)), class_="verdict"),
        class_="top",
    )


def _alarm(summary: Summary, recording: Recording) -> str:
    """Failures that come before every figure, and how a run ended that did not end by itself."""
    counts = tally(summary)
    lines = [f"not complete: {ending}" for ending in endings(recording)]
    if leads_with_failures(counts, recording.plan.error_limit_frac):
        lines.insert(0, f"FAILED: {failures(counts)}")
        first = next((str(detail) for detail in recording.table.detail if detail), "")
        lines += [f"first: {first[:300]}"] if first else []
    return tag("div", *map(paragraph, lines), class_="alarm", role="alert") if lines else ""


def _six(values: list[SixthValue]) -> str:
    """Six cells, each with its definition or with what would measure it."""
    return tag("div", *map(_value, values), class_="six", role="list", aria_label="six values")


def _value(value: SixthValue) -> str:
    kind = "figure" if value.measured else "figure none"
    figure, where = _parted(value.text)
    return tag(
        "div",
        tag("h3", text(TITLES.get(value.name, value.name))),
        paragraph(figure, kind),
        paragraph(where, "where"),
        paragraph(value.definition),
        "" if value.measured else paragraph(value.hint),
        role="listitem",
    )


def _parted(words: str) -> tuple[str, str]:
    """The figure, and where it holds with how many: `3,156 tok/s ±42` and `at c=32, n=740`."""
    found = WHERE.search(words)
    return (words, "") if found is None else (words[: found.start()], words[found.start("of") :])


def _reasons(summary: Summary, recording: Recording) -> str:
    """Why the verdict is what it is; what the times are worth; how requests ended."""
    lines = [tag("b", text(summary.verdict)) + " " + text(reason) for reason in reasons(summary)]
    if summary.timing_uncertainty:
        lines.append(tag("b", "timing") + " " + text(summary.timing_uncertainty))
    bar = error_bar(summary)
    lines += [text(bar)] if bar else []
    counted = DOT.join(sum_of_requests(tally(summary)))
    lines.append(tag("b", "requests") + " " + text(counted))
    return items(lines, "reasons")


def _card(card: Disclosure | None) -> str:
    """The disclosure card: its score and what misses; every field below, closed."""
    if card is None:
        return ""
    missing = sorted(
        (field for field in card.fields if field.status == "missing"), key=lambda f: -f.weight
    )
    names = ", ".join(field.field for field in missing[:MISSING_SHOWN])
    more = f" and {len(missing) - MISSING_SHOWN} more" if len(missing) > MISSING_SHOWN else ""
    words = f"missing: {names}{more}" if missing else "nothing is missing"
    against = [field for field in card.fields if field.status == "contradicted"]
    clash = f"contradicted: {', '.join(field.field for field in against)}" if against else ""
    shown = tag("details", tag("summary", "every field, by weight"), _fields(card.fields))
    score = tag("h3", f"Disclosure {format_number(card.score)} of 100")
    return tag("div", score, paragraph(words), paragraph(clash), shown, class_="card", id="card")


def _fields(fields: tuple[DisclosedField, ...]) -> str:
    """All fields, a table a group."""
    tables = []
    for group, members in groupby(fields, key=lambda field: field.group):
        rows = [
            (f.field, f.status, f.observed, f.declared, f.hint, format_number(f.weight))
            for f in members
        ]
        headings = ("field", "status", "observed", "declared", "what would tell it", "weight")
        tables.append(table(headings, rows, group, words=5))
    return "".join(tables)
