"""kill -9 at a random moment: all but the last second is readable, and never a traceback."""

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from loadgen.errors import InputError
from loadgen.store.folder import RUN_FILE
from loadgen.store.recording import read_recording
from loadgen.store.requests import finish
from loadgen.store.tables import read_table
from loadgen.units import NS_PER_S

ROOT = Path(__file__).parents[2]
STARTED_WITHIN_S = 60
LAST_SECOND_NS = NS_PER_S


@contextmanager
def killed_writer(folder: Path) -> Iterator[None]:
    """A writer runs in the body and is killed -9 at its end."""
    folder.mkdir()
    with (folder / "stderr.log").open("wb") as stderr:
        command = [sys.executable, "-m", "tests.scenarios.record_writer", str(folder)]
        process = subprocess.Popen(command, cwd=ROOT, stderr=stderr)
        try:
            yield
        finally:
            process.kill()
            process.wait()
    assert (folder / "stderr.log").read_text(encoding="utf-8") == ""
    assert process.returncode == -9


def wait_for_segments(folder: Path) -> None:
    deadline = time.monotonic() + STARTED_WITHIN_S
    while not any(folder.glob("segments/*")):
        assert time.monotonic() < deadline, "the writer did not start"
        time.sleep(0.01)


def appended(folder: Path) -> list[tuple[int, int]]:
    """(sequence number, instant in ns) of every record that the writer had taken, in order."""
    lines = (folder / "appended.log").read_text(encoding="ascii").split("\n")[:-1]
    return [(int(seq), int(at_ns)) for seq, at_ns in (line.split() for line in lines)]


def assert_all_but_the_last_second_is_there(folder: Path) -> None:
    log = appended(folder)
    recording = read_recording(folder)
    rows = len(recording.table)
    last_at_ns = log[-1][1]
    certain = sum(at_ns <= last_at_ns - LAST_SECOND_NS for _, at_ns in log)
    assert rows >= certain
    assert recording.table.seq.tolist() == list(range(rows))
    assert recording.table.due_at_ns.tolist() == [at_ns for _, at_ns in log[:rows]]
    assert recording.state == "running_or_killed"
    assert 0 <= recording.in_flight_at_end - (len(log) - rows) <= 1
    finish(folder)
    assert read_table(folder).seq.tolist() == list(range(rows))


def kill_once(folder: Path, chance: random.Random) -> None:
    with killed_writer(folder):
        wait_for_segments(folder)
        time.sleep(chance.uniform(0, 1.6))
    assert_all_but_the_last_second_is_there(folder)


@pytest.mark.parametrize("kill", range(4))
def test_a_killed_writer_leaves_all_but_the_last_second(tmp_path: Path, kill: int) -> None:
    kill_once(tmp_path / "run", random.Random(f"kill {kill}"))


@pytest.mark.slow
@pytest.mark.parametrize("kill", range(20))
def test_twenty_killed_writers_leave_all_but_the_last_second(tmp_path: Path, kill: int) -> None:
    kill_once(tmp_path / "run", random.Random(f"slow kill {kill}"))


@pytest.mark.parametrize("delay_s", [0.02, 0.15, 0.25, 0.35])
def test_killed_while_starting_the_folder_is_a_run_or_named_as_none(
    tmp_path: Path, delay_s: float
) -> None:
    folder = tmp_path / "run"
    with killed_writer(folder):
        time.sleep(delay_s)
    if (folder / RUN_FILE).exists():
        assert read_recording(folder).state == "running_or_killed"
    else:
        with pytest.raises(InputError, match="is no run"):
            read_recording(folder)
