"""Whole replays on the simulator: what was recorded comes back as due times, waits and hits."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from loadgen.analysis import summarise
from loadgen.analysis.replay.prefix_hits import designed_hit
from loadgen.analysis.requests import Requests
from loadgen.measure.mockserver import running_mock
from loadgen.model.table import Recording, RunTable
from loadgen.store.recording import read_recording

TRACES = Path(__file__).parents[2] / "workloads" / "agentx"
QUICK = ("--set", "decode.a_s=0.0002", "--set", "decode.b_s=0", "--set", "decode.c_s=0")
LARGE = (
    "--set",
    "max_model_len=262144",
    "--set",
    "prefill.tps=4000000",
    "--set",
    "kv.n_blocks=60000",
)
MS = 1_000_000
QUICKLY, AT_LENGTH = "4s", "15s"
DURATIONS = {
    "trace_0504": QUICKLY,
    "trace_0331": QUICKLY,
    "trace_0011": AT_LENGTH,
    "trace_0277": AT_LENGTH,
    "trace_0279": AT_LENGTH,
    "trace_0327": AT_LENGTH,
}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A simulator with room for the longest shipped trace, as fast as it goes."""
    with running_mock("small", *QUICK, *LARGE, "--set", "prefill.step_s=0.0002") as url:
        yield url


def replayed(url: str, out: Path, traces: Path, *words: str) -> Recording:
    command = [sys.executable, "-m", "loadgen", "replay", url, "--traces", str(traces)]
    command += ["--rules", "smoke", "--out", str(out), "--quiet", *words]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert ended.returncode == 0, ended.stderr
    (folder,) = out.iterdir()
    return read_recording(folder)


def profiled(table: RunTable) -> dict[str, tuple[int, int]]:
    """(due, done) by turn of the first play's profiling, ns."""
    rows = np.flatnonzero((table.phase == "window") & (table.session_id == "0-0-0"))
    return {
        str(table.turn_id[row]): (int(table.due_at_ns[row]), int(table.done_at_ns[row]))
        for row in rows
    }


def test_the_worked_example_comes_back_in_the_records_due_times(
    server: str, tmp_path: Path
) -> None:
    """trace_0277 from its beginning, one lane, delays by 3 thousandths: who spawns and joins."""
    trace = TRACES / "trace_0277.json"
    words = ("--warmup-turns", "0", "--duration", "9s", "--time-scale", "0.003")
    turns = profiled(replayed(server, tmp_path, trace, *words).table)
    due = {name: at[0] for name, at in turns.items()}
    done = {name: at[1] for name, at in turns.items()}
    assert due["agent_001/0"] == due["agent_002/0"] == done["root/0"]
    assert due["agent_003/0"] - done["root/0"] == pytest.approx(82.323 * MS, abs=1000)
    delayed = done["root/0"] + round(627.66 * MS)
    assert due["root/1"] == pytest.approx(max(delayed, done["agent_001/3"]), abs=1000)
    delayed = done["root/6"] + round(1135.11 * MS)
    joined = max(delayed, done["agent_002/11"], done["agent_003/16"])
    assert due["root/7"] == pytest.approx(joined, abs=1000)
    assert due["agent_004/0"] == done["root/6"]
    assert due["root/8"] - done["root/7"] == pytest.approx(22.77 * MS, abs=1000)
    assert "agent_004/10" in turns


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if length == QUICKLY else pytest.mark.slow)
        for name, length in DURATIONS.items()
    ],
)
def test_measured_hits_are_the_designed_ones_within_a_point(
    server: str, tmp_path: Path, name: str
) -> None:
    """In the first play: later ones find the system prompt that all plays of a trace share."""
    words = ("--time-scale", "0.0005", "--duration", DURATIONS[name], "--warmup-turns", "0")
    table = replayed(server, tmp_path, TRACES / f"{name}.json", *words).table
    requests = Requests(table)
    rows = requests.ok & requests.in_window_phase & (table.session_id == "0-0-0")
    designed = designed_hit(requests, rows)
    measured = table.usage_cached_tok[rows].sum() / table.usage_input_tok[rows].sum()
    assert designed is not None
    assert abs(measured - designed) <= 0.01
    assert abs(table.usage_input_tok[rows].sum() / table.input_tok[rows].sum() - 1) < 0.02
    assert rows.sum() >= 3


def test_a_replay_that_is_killed_leaves_a_readable_result(server: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "loadgen", "replay", server, "--traces", str(TRACES)]
    command += ["-c", "2", "--rules", "smoke", "--out", str(tmp_path), "--quiet"]
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(4)
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    time.sleep(1)
    (folder,) = tmp_path.iterdir()
    recording = read_recording(folder)
    assert recording.state == "running_or_killed"
    assert len(recording.table) > 0
    assert summarise(recording).verdict in {"suspect", "invalid"}
