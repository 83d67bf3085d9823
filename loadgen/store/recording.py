"""A run folder in memory, whatever state its run left it in."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from loadgen.errors import InputError
from loadgen.model.observed import ClientHealth
from loadgen.model.plan import Anchor
from loadgen.model.table import Recording, RunTable
from loadgen.store.folder import read_run_file
from loadgen.store.journal import read_journal
from loadgen.store.progress import Progress
from loadgen.store.samples import read_telemetry
from loadgen.store.tables import read_requests


def read_recording(folder: Path) -> Recording:
    """The run in `folder`: finished, interrupted, killed at any moment, or still running.

    `state` is `running_or_killed` where nobody has written an end. Raises `InputError` where
    `folder` is no run, a file is damaged, or of a version that this tool doesn't read.
    """
    run_file = read_run_file(folder)
    journal = read_journal(folder)
    table, truncated = read_requests(folder)
    ended = run_file.state != "running"
    return Recording(
        path=str(folder),
        plan=run_file.plan,
        table=table,
        observed=run_file.observed,
        provenance=run_file.provenance,
        health=_healths([*journal.health, *run_file.health]),
        anchors=_anchors([*journal.anchors, *run_file.anchors]),
        state=run_file.state if ended else "running_or_killed",
        in_flight_at_end=0 if run_file.state == "complete" else _without_record(folder, table),
        started_wall_ns=run_file.started_wall_ns,
        ended_wall_ns=run_file.ended_wall_ns,
        truncated_segments=truncated,
        telemetry=read_telemetry(folder),
    )


def _healths(entries: Iterable[ClientHealth]) -> tuple[ClientHealth, ...]:
    """One a point and share, in that order; of two the later entry."""
    by_place = {(health.point, health.share): health for health in entries}
    return tuple(by_place[place] for place in sorted(by_place))


def _anchors(entries: Iterable[Anchor]) -> tuple[Anchor, ...]:
    by_instant = {(anchor.host, anchor.mono_ns): anchor for anchor in entries}
    return tuple(by_instant.values())


def _without_record(folder: Path, table: RunTable) -> int:
    """Requests that the workers had issued in their last point and that no record tells of."""
    try:
        progress = Progress.open(folder, writable=False)
    except InputError:
        return 0
    missing = 0
    for share in range(progress.shares):
        row = progress.worker(share)
        recorded = np.count_nonzero((table.share == share) & (table.point == row.point))
        missing += max(0, row.issued - int(recorded))
    return missing
