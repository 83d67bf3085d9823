"""The report to look at: one self-contained page, no script, no network, light and dark.

Charts are inline SVG made here from thinned series; every figure is the summary's own.
"""

from collections.abc import Iterable, Iterator, Sequence

from loadgen.model.summary import Summary
from loadgen.model.table import Recording
from loadgen.report.costs import cost_lines, phase_lines
from loadgen.report.energy import energy_lines
from loadgen.report.ladder import ladder_lines
from loadgen.report.page.course import course_charts
from loadgen.report.page.head import head, title_of
from loadgen.report.page.loads import Run, load_charts
from loadgen.report.page.markup import section, tag, text
from loadgen.report.page.sections import (
    again,
    answers_table,
    every_measure,
    failed,
    fenced,
    figures,
    findings,
    provenance,
    server_section,
    sweep_table,
    whole_points,
)
from loadgen.report.page.spread import spread_charts
from loadgen.report.page.style import STYLE
from loadgen.report.rows import Sheet
from loadgen.report.sessions import session_lines

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""Nothing is fetched and nothing runs, whatever a server's text says."""


def format_html(summary: Summary, recording: Recording) -> Iterable[str]:
    """The page of one run, in pieces."""
    return format_html_of_runs([(summary, recording)])


def format_html_of_runs(runs: Sequence[tuple[Summary, Recording]]) -> Iterator[str]:
    """The page of the first run, in pieces; the others are laid over its charts of loads.

    Of the others the table of requests is not looked at.
    """
    summary, recording = runs[0]
    title = text(title_of(summary, recording))
    yield (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#findings">to the findings</a>\n<main>\n'
    )
    for piece in _main(runs):
        if piece:
            yield piece + "\n"
    yield f"{_footer(summary, recording)}</main>\n</body>\n</html>\n"


def _main(runs: Sequence[tuple[Summary, Recording]]) -> Iterator[str]:
    """First screen, charts, findings, then the detail."""
    summary, recording = runs[0]
    sheet = Sheet(summary, recording.plan)
    yield head(summary, recording)
    laid = [Run(name, s, r.plan) for name, (s, r) in zip(_names(runs), runs, strict=True)]
    charts = figures(load_charts(laid))
    yield section("loads", "Loads", charts, answers_table(sheet), sweep_table(sheet))
    yield fenced("ladder", "Ladder", ladder_lines(summary))
    yield findings(summary)
    yield failed(summary, recording)
    yield section("time", "The run over time", figures(course_charts(summary, recording)))
    spread = figures(spread_charts(summary, recording.timeline))
    yield section("spread", "Distributions", spread, every_measure(summary))
    yield server_section(summary)
    yield fenced("energy", "Energy", energy_lines(summary))
    yield fenced("phases", "Prefill and decode", phase_lines(summary))
    yield fenced("sessions", "Sessions", session_lines(summary, recording.plan))
    yield fenced("cost", "Cost", cost_lines(summary))
    yield whole_points(summary)
    yield provenance(recording)
    yield again(recording, [other.path for _, other in runs[1:]])


def _names(runs: Sequence[tuple[Summary, Recording]]) -> list[str]:
    """A name a run: its label, else the end of its folder; numbered where they are alike."""
    names = [r.plan.label or r.path.rstrip("/").rpartition("/")[2] for _, r in runs]
    return [
        f"{name} ({number})" if names.count(name) > 1 else name
        for number, name in enumerate(names, 1)
    ]


def _footer(summary: Summary, recording: Recording) -> str:
    """What made the page, of which run."""
    tool = f"loadgen {recording.provenance.tool_version}".strip()
    words = f"{tool} · run {summary.run_id} · definitions: docs/definitions.md"
    return tag("footer", text(words)) + "\n"
