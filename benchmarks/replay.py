"""Replays of 64 lanes with prompts of 100,000 to 400,000 tokens: the client's lateness and memory.

    python benchmarks/replay.py [--short] [--lanes N] [--seconds S] [--scale X,...]

Traces are AgentX-like synthetic, cut to the requests whose prompt is that long. The server is the
C one, on a core of its own; all of the client (parent, worker, builder, scribe) shares the other.
`--scale` multiplies the recorded delays: 1 is what a replay does, less is more load.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from parts import machine
from parts.programs import loadgen_python
from parts.server import running_server
from parts.watch import Watched, run_watched

from loadgen.model.table import ABSENT
from loadgen.store.recording import read_recording
from loadgen.workload.made_traces import made_sessions

SHORTEST_TOK, LONGEST_TOK = 100_000, 400_000
LEAST_TURNS = 20
LAG_LIMIT_S, MEMORY_LIMIT_BYTES = 0.010, 1_500_000_000
TTFT_MS, ITL_MS = 400, 6


@dataclass(frozen=True)
class Row:
    """One replay. Seconds and bytes; `lag` is due to sent, over the profiling's requests."""

    scale: float
    requests: int
    sent_bytes: int
    largest_bytes: int
    lag_p50_s: float
    lag_p99_s: float
    lag_max_s: float
    loop_lag_p99_s: float
    peak_rss_bytes: int
    cpu_share: float

    def line(self) -> str:
        """A row of the table."""
        holds = self.lag_p99_s < LAG_LIMIT_S and self.peak_rss_bytes < MEMORY_LIMIT_BYTES
        return (
            f"| {self.scale:g} | {self.requests:,} | {self.sent_bytes / self.requests / 1e6:.2f}"
            f" / {self.largest_bytes / 1e6:.2f} MB | {self.lag_p50_s * 1e3:.2f} |"
            f" {self.lag_p99_s * 1e3:.2f} | {self.lag_max_s * 1e3:.2f} |"
            f" {self.loop_lag_p99_s * 1e3:.2f} | {self.peak_rss_bytes / 1e6:,.0f} MB |"
            f" {self.cpu_share:.0%} | {'yes' if holds else 'NO'} |"
        )


HEAD = """\
| delays x | requests | body mean / largest | lag p50 | lag p99 | lag max | loop lag p99 | memory |\
 CPU of a core | < 10 ms, < 1.5 GB |
|---|---|---|---|---|---|---|---|---|---|"""


def main() -> None:
    """Prints one row a scale. Times in ms; memory is the whole process tree's resident peak."""
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--short", action="store_true", help="one scale, 20 s")
    words.add_argument("--lanes", type=int, default=64)
    words.add_argument("--seconds", type=int)
    words.add_argument("--scale")
    chosen = words.parse_args()
    why_not = machine.build_reference()
    if why_not:
        print(f"replay.py: skipped, the reference server can't be built: {why_not}")
        return
    seconds = chosen.seconds or (20 if chosen.short else 60)
    scales = chosen.scale or ("0.5" if chosen.short else "1,0.25")
    print(f"{chosen.lanes} lanes, {seconds} s; {machine.describe()}\n\n{HEAD}", flush=True)
    with tempfile.TemporaryDirectory(prefix="replay-") as folder:
        traces = Path(folder) / "traces.jsonl"
        with traces.open("w", encoding="ascii") as file:
            for trace in long_sessions(chosen.lanes):
                file.write(json.dumps(trace, separators=(",", ":")) + "\n")
        for scale in map(float, scales.split(",")):
            print(replayed(traces, chosen.lanes, seconds, scale).line(), flush=True)


def long_sessions(count: int) -> Iterator[dict[str, Any]]:
    """AgentX-like sessions, less every request whose prompt isn't between the two lengths."""
    made, seed = 0, 1
    while made < count:
        for trace in made_sessions("agentx-like", count, seed):
            trace["id"] = f"{seed}_{trace['id']}"
            trace["requests"] = list(_long_requests(trace["requests"]))
            if made < count and len(trace["requests"]) >= LEAST_TURNS:
                made += 1
                yield trace
        seed += 1


def _long_requests(entries: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    started_s: float | None = None
    for entry in entries:
        inner = entry.get("requests")
        if inner is not None:
            entry["requests"] = [one for one in inner if _is_long(one)]
        if not (entry["requests"] if inner is not None else _is_long(entry)):
            continue
        if started_s is None:
            started_s = entry["t"]
        for one in (entry, *entry.get("requests", ())):
            one["t"] -= started_s
        yield entry


def _is_long(request: dict[str, Any]) -> bool:
    return SHORTEST_TOK <= int(request["in"]) <= LONGEST_TOK


def replayed(traces: Path, lanes: int, seconds: int, scale: float) -> Row:
    """One replay from the middle of the sessions on, watched."""
    out = Path(tempfile.mkdtemp(prefix="out-", dir=traces.parent))
    words = (
        f"-m loadgen replay {{}} -m truth --traces {traces} -c {lanes} --duration {seconds}s"
        f" --time-scale {scale} --warmup-turns 1 --no-preflight --quiet --out {out}"
    )
    with running_server("--ttft-ms", str(TTFT_MS), "--itl-ms", str(ITL_MS)) as server:
        command = [loadgen_python(), *words.format(server.url).split()]
        _, client_core = machine.cores()
        seen = run_watched(
            command, on_cores={client_core}, folder=out, is_first=False, timeout_s=600
        )
    return _row(seen, next(out.iterdir()), scale, seconds)


def _row(seen: Watched, folder: Path, scale: float, seconds: int) -> Row:
    recording = read_recording(folder)
    table = recording.table
    rows = np.flatnonzero((table.phase == "window") & (table.sent_at_ns != ABSENT))
    lag_s = (table.sent_at_ns[rows] - table.due_at_ns[rows]) / 1e9
    loop_ns = [health.loop_lag_p99_ns or 0 for health in recording.health]
    p50_s, p99_s = np.quantile(lag_s, (0.5, 0.99), method="higher")
    sent = table.sent_bytes[rows]
    from_ns = int(table.due_at_ns[rows].min())
    return Row(
        scale,
        requests=len(rows),
        sent_bytes=int(sent.sum()),
        largest_bytes=int(sent.max()),
        lag_p50_s=float(p50_s),
        lag_p99_s=float(p99_s),
        lag_max_s=float(lag_s.max()),
        loop_lag_p99_s=max(loop_ns) / 1e9,
        peak_rss_bytes=seen.peak_rss_bytes,
        cpu_share=seen.cpu_between_s(from_ns, from_ns + seconds * 10**9) / seconds,
    )


if __name__ == "__main__":
    main()
