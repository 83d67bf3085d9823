"""A replay of 64 lanes with long prompts: does the client keep its times, and what memory it takes.

    python benchmarks/replay.py [--short] [--lanes N] [--seconds S]

Made AgentX-like sessions with prompts of 100,000 to 400,000 tokens (bodies of 0.6 to 2.4 MB)
against the metronome, which takes everything at once and answers by a timetable. Printed: how
late requests left by the run's own records, and the most resident memory of all its processes.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from random import Random

import msgspec
import numpy as np
from parts.watch import rss_of, tree_of

from loadgen.measure.mockserver import running_mock
from loadgen.store.recording import read_recording
from loadgen.workload.made_traces import made_sessions

LOW_TOK, HIGH_TOK = 100_000, 400_000
TURNS = 12


def main() -> None:
    """Makes the traces, plays them, prints the figures."""
    words = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    words.add_argument("--short", action="store_true", help="16 lanes for 15 s")
    words.add_argument("--lanes", type=int, default=64)
    words.add_argument("--seconds", type=float, default=60.0)
    chosen = words.parse_args()
    lanes, seconds = (16, 15.0) if chosen.short else (chosen.lanes, chosen.seconds)
    with tempfile.TemporaryDirectory(prefix="replay-") as name:
        folder = Path(name)
        write_traces(folder / "made.jsonl", lanes)
        print(f"{lanes} lanes, {seconds:g} s, prompts of {LOW_TOK:,} to {HIGH_TOK:,} tokens")
        play(folder, lanes, seconds)


def write_traces(path: Path, n_traces: int) -> None:
    """Sessions cut to the turns whose prompts are long, with delays of seconds."""
    chance = Random("replay bench")
    found = 0
    with path.open("wb") as file:
        for trace in made_sessions("agentx-like", 40 * n_traces, 7):
            calls = [entry for entry in trace["requests"] if entry["type"] == "s"]
            calls = [c for c in calls if LOW_TOK <= c["in"] <= HIGH_TOK][:TURNS]
            if len(calls) < TURNS:
                continue
            at_s = 0.0
            for call in calls:
                call["t"], call["api_time"], call["out"] = at_s, 0.5, 50
                at_s += 0.5 + chance.uniform(1.0, 6.0)
            file.write(msgspec.json.encode(trace | {"requests": calls}) + b"\n")
            found += 1
            if found == n_traces:
                return


def play(folder: Path, lanes: int, seconds: float) -> None:
    """One replay, watched, and what its records say."""
    with running_mock(kind="metronome") as url:
        command = [sys.executable, "-m", "loadgen", "replay", url, "-m", "metronome", "-c"]
        command += [str(lanes), "--traces", str(folder / "made.jsonl"), "--rules", "smoke"]
        command += ["--time-scale", "1", "--duration", f"{seconds}s", "--no-preflight", "--quiet"]
        command += ["--extra-body", json.dumps({"ttft_ms": 200, "itl_ms": 10, "max_tokens": 50})]
        run = subprocess.Popen([*command, "--out", str(folder / "out")], stdout=subprocess.DEVNULL)
        most = [0]
        watching = threading.Thread(target=watch, args=(run, most))
        watching.start()
        run.wait()
        watching.join()
    (out,) = (folder / "out").iterdir()
    recording = read_recording(out)
    table = recording.table
    rows = (table.phase == "window") & (table.outcome == "ok")
    lags_ms = (table.sent_at_ns - table.due_at_ns)[rows] / 1e6
    sent_mb = table.sent_bytes[rows] / 1e6
    p50, p99, worst = np.percentile(lags_ms, [50, 99, 100])
    print(f"requests     {rows.sum():,}, bodies {sent_mb.min():.1f} to {sent_mb.max():.1f} MB")
    print(f"send lag     p50 {p50:.2f}, p99 {p99:.2f}, max {worst:.2f} ms")
    lag_ms = max((health.loop_lag_max_ns or 0) / 1e6 for health in recording.health)
    print(f"loop lag     max {lag_ms:.1f} ms; workers {len(recording.health)}")
    print(f"memory       {most[0] / 1e9:.2f} GB, all processes of the run, shared pages in each")


def watch(run: "subprocess.Popen[bytes]", most: list[int]) -> None:
    """The most resident memory of the run's processes together."""
    while run.poll() is None:
        rss = 0
        for pid in tree_of(run.pid):
            try:
                rss += rss_of(pid)
            except OSError:
                continue
        most[0] = max(most[0], rss)
        time.sleep(0.2)


if __name__ == "__main__":
    main()
