"""A run folder is read in whatever state its run left it, and says which that is."""

from pathlib import Path

import pytest

from loadgen.errors import InputError
from loadgen.model.observed import ClientHealth
from loadgen.model.plan import Anchor
from loadgen.store.folder import PROGRESS_FILE, RunState, update_run_file
from loadgen.store.journal import append_anchor, append_health
from loadgen.store.progress import Progress
from loadgen.store.recording import read_recording
from loadgen.store.requests import finish
from loadgen.store.segments import segment_paths
from tests.stored_records import plan, record, start_run, write_segment


def health(share: int, point: int = 0, issued: int = 0) -> ClientHealth:
    return ClientHealth(share=share, point=point, started_at_ns=0, ended_at_ns=1, issued=issued)


def test_a_run_that_has_just_begun_is_readable(tmp_path: Path) -> None:
    recording = read_recording(start_run(tmp_path))
    assert len(recording.table) == 0
    assert recording.state == "running_or_killed"
    assert recording.plan == plan()
    assert recording.path.startswith(str(tmp_path))


@pytest.mark.parametrize("state", ["complete", "interrupted"])
def test_an_ended_run_says_how_it_ended(tmp_path: Path, state: RunState) -> None:
    folder = start_run(tmp_path)
    write_segment(folder, [[record(0)]])
    finish(folder)
    update_run_file(folder, state=state, started_wall_ns=5, ended_wall_ns=9)
    recording = read_recording(folder)
    assert recording.state == state
    assert (recording.started_wall_ns, recording.ended_wall_ns) == (5, 9)
    assert len(recording.table) == 1


def test_a_killed_run_tells_how_many_requests_left_no_record(tmp_path: Path) -> None:
    folder = start_run(tmp_path)
    progress = Progress.create(folder, shares=2)
    write_segment(folder, [[record(0, point=0), record(0, point=1), record(1, point=1)]])
    write_segment(folder, [[record(0, share=1)]], share=1)
    worker = progress.worker(0)
    worker.point, worker.issued, worker.ended, worker.in_flight = 1, 7, 4, 3
    progress.worker(1).issued = 1
    assert read_recording(folder).in_flight_at_end == 5
    update_run_file(folder, state="complete")
    assert read_recording(folder).in_flight_at_end == 0


def test_a_cut_segment_is_named(tmp_path: Path) -> None:
    folder = start_run(tmp_path)
    write_segment(folder, [[record(0)], [record(1)]])
    path = segment_paths(folder)[0]
    path.write_bytes(path.read_bytes()[:-100])
    recording = read_recording(folder)
    assert recording.truncated_segments == (path.name,)
    assert len(recording.table) == 1


def test_health_and_anchors_come_from_run_json_and_journal_without_doubles(tmp_path: Path) -> None:
    folder = start_run(tmp_path)
    anchor = Anchor("h", "b", 1, 2)
    append_health(folder, 1, health(1))
    append_health(folder, 0, health(0, issued=1))
    append_anchor(folder, 0, anchor)
    update_run_file(folder, health=(health(0, issued=2),), anchors=(anchor,))
    recording = read_recording(folder)
    assert recording.health == (health(0, issued=2), health(1))
    assert recording.anchors == (anchor,)


def test_a_missing_or_cut_progress_file_does_not_stop_the_reader(tmp_path: Path) -> None:
    folder = start_run(tmp_path)
    Progress.create(folder, shares=1)
    path = folder / PROGRESS_FILE
    path.write_bytes(path.read_bytes()[:100])
    assert read_recording(folder).in_flight_at_end == 0


def test_a_folder_that_is_no_run_is_called_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no run"):
        read_recording(tmp_path)
