"""The reading wing assembled: a run folder goes in, a summary and its outputs come out."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from loadgen.analysis import request_metrics, summarise
from loadgen.analysis.compat import recompute
from loadgen.analysis.disclosure.measured import measured_run
from loadgen.analysis.frontier import ladder_of
from loadgen.analysis.imported import told_columns
from loadgen.analysis.timeline import timeline_of
from loadgen.foreign import read_foreign
from loadgen.model.comparison import ReviewedRun
from loadgen.model.compat import CompatTable
from loadgen.model.measured import MeasuredRun
from loadgen.model.plan import Plan
from loadgen.model.summary import LadderRung, Summary
from loadgen.model.table import Recording
from loadgen.report import DRAWN, LISTING, OUTPUTS, TOGETHER
from loadgen.store.folder import update_run_file, write_report
from loadgen.store.recording import read_recording
from loadgen.store.tables import make_table

REPORTS = ("md", "html")
"""Outputs that every run folder keeps as `report.<name>`."""


def review(folder: Path, priced: Callable[[Plan], Plan] | None = None) -> tuple[Summary, Recording]:
    """The summary of a run folder, and its recording; `priced` gives its plan other prices.

    Raises:
        InputError: no run folder, or one that can't be read.

    """
    recording = _read(folder, priced)
    return summarise(recording), recording


def reviewed(folder: Path) -> ReviewedRun:
    """A run as a side of a comparison: its summary made anew, without its records.

    Raises as `review`.
    """
    return as_side(str(folder), *review(folder))


def as_side(name: str, summary: Summary, recording: Recording) -> ReviewedRun:
    """What a comparison needs of a reviewed run."""
    observed = recording.observed
    return ReviewedRun(
        name=name,
        plan=recording.plan,
        summary=summary,
        started_wall_ns=recording.started_wall_ns,
        engine=f"{observed.engine or ''} {observed.engine_version or ''}".strip(),
        host=recording.provenance.host,
    )


def measured(
    folder: Path, changes: Sequence[Callable[[Plan], Plan]] = (), targets: Sequence[float] = ()
) -> MeasuredRun:
    """A run as claims look at it, its plan told more by `changes`; the ladder at `targets`.

    Raises as `review`.
    """

    def changed(plan: Plan) -> Plan:
        for change in changes:
            plan = change(plan)
        return plan

    summary, recording = review(folder, changed)
    rungs: tuple[LadderRung, ...] = ()
    if targets:
        prices = recording.plan.prices
        rungs = ladder_of(summary.points, prices, summary.replays, targets)
    return measured_run(summary, recording, rungs)


def measured_run_of(summary: Summary, recording: Recording) -> MeasuredRun:
    """A reviewed run as claims and ladders look at it: no request stays in memory."""
    return measured_run(summary, recording)


def by_rules(folder: Path, rules: str, priced: Callable[[Plan], Plan] | None = None) -> CompatTable:
    """The same records by another tool's rules, one out of RULES. Raises as `review`."""
    return recompute(rules, _read(folder, priced))


def _read(folder: Path, priced: Callable[[Plan], Plan] | None) -> Recording:
    """What the folder, or another tool's file, holds; its plan with other prices where asked."""
    recording = read_foreign(folder) if folder.is_file() else read_recording(folder)
    return recording if priced is None else replace(recording, plan=priced(recording.plan))


def render(summary: Summary, recording: Recording, output: str) -> Iterable[str]:
    """Pieces of one output out of OUTPUTS, made as they are taken."""
    if output in LISTING:
        recording = with_request_metrics(recording)
    if output in DRAWN:
        recording = with_timeline(summary, recording)
    return OUTPUTS[output](summary, recording)


def render_together(runs: Iterable[tuple[Summary, Recording]], output: str) -> Iterable[str]:
    """Pieces of one output out of TOGETHER: several runs on one page, the first before others.

    Of the others no request stays in memory.
    """
    found: list[tuple[Summary, Recording]] = []
    for summary, recording in runs:
        if found:
            found.append((summary, replace(recording, table=make_table([]))))
        else:
            found.append((summary, with_timeline(summary, recording)))
    return TOGETHER[output](found)


def with_request_metrics(recording: Recording) -> Recording:
    """The recording with every per-request metric, for outputs that list requests."""
    columns = told_columns(request_metrics(recording.table), recording.imported)
    return replace(recording, request_metrics=columns)


def with_timeline(summary: Summary, recording: Recording) -> Recording:
    """The recording with its run over time, for outputs that draw it."""
    return replace(recording, timeline=timeline_of(recording, summary))


def write_reports(folder: Path, summary: Summary, recording: Recording) -> None:
    """Keeps the summary in run.json and each of REPORTS in a file of its own.

    Each is written whatever becomes of the others; what one of them raises comes out at the end.
    """
    with ExitStack() as stack:
        stack.callback(update_run_file, folder, summary=summary)
        for output in REPORTS:
            stack.callback(_write, folder, summary, recording, output)


def _write(folder: Path, summary: Summary, recording: Recording, output: str) -> None:
    """Writes one report."""
    write_report(folder, output, "".join(render(summary, recording, output)))
