"""Loadgen's stamps against the server's log, under several kinds of stress."""

import os
import signal
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from loadgen.measure.selftest import judge, key_of
from loadgen.model.table import RunTable
from loadgen.store.recording import read_recording
from parts.machine import cores
from parts.programs import ENVIRONMENT, Job, forget, loadgen_command, scratch
from parts.server import Log, running_server
from parts.watch import ProgramError, Watched, rss_of, run_watched

STOP_S, STOP_EVERY_S = 0.2, 1.0
BIG_BYTES = 4_000_000


@dataclass(frozen=True)
class Taken:
    """One run of loadgen: its records, the server's log, what was watched, the workers' health."""

    table: RunTable
    log: Log
    watched: Watched
    lag_max_ms: float


def take(
    job: Job, *extra: str, poke: Callable[[list[int]], None] | None = None, both: bool = False
) -> Taken:
    """A run of loadgen on the client's core, or on both cores with `both`."""
    folder = scratch()
    try:
        with running_server() as server:
            watched = run_watched(
                [*loadgen_command(job, server.port, folder), *extra],
                on_cores=set(cores()) if both else {cores()[1]},
                folder=folder.parent,
                environment=ENVIRONMENT,
                poke=poke,
            )
            log = server.log()
        (run,) = folder.iterdir()
        recording = read_recording(run)
        lags_ms = [(h.loop_lag_max_ns or 0) / 1e6 for h in recording.health]
        return Taken(recording.table, log, watched, max(lags_ms, default=0.0))
    finally:
        forget(folder)


def tables(rounds: int) -> Iterator[str]:
    """The sections, each as soon as it is measured."""
    yield "### Stamps of loadgen against the server's log, us: p50 / p99 / max\n"
    yield "| stress | stamp error | TTFT error | reads with several tokens | loop lag max ms |"
    yield "|---|---|---|---|---|"
    yield _line(
        "256 streams x 100/s, one worker, one core", Job(256, 256, 300, itl_ms=10.0), rounds
    )
    yield _line("64 streams x 50/s, one worker, one core", Job(64, 64, 150, itl_ms=20.0), rounds)
    two = Job(1000, 1000, 100, ttft_ms=500, itl_ms=40.0, workers=2)
    yield _line(
        "1,000 streams x 25/s, two workers, both cores shared with the server",
        two,
        rounds,
        both=True,
    )
    yield _big_bodies(rounds)
    yield ""
    yield _stopped(Job(64, 64, 300, itl_ms=10.0), rounds)
    yield _stopped(Job(1, 1, 5000, itl_ms=1.0), rounds)
    yield _many()


def _line(title: str, job: Job, rounds: int, both: bool = False) -> str:
    try:
        taken = [take(job, both=both) for _ in range(rounds)]
    except (ProgramError, OSError, ValueError) as error:
        return f"| {title} | not run: {str(error).splitlines()[-1][:150]} | | | |"
    return _cells(title, taken)


def _cells(title: str, taken: list[Taken]) -> str:
    errors = [judge(one.table, one.log.requests) for one in taken]
    cells = [
        " / ".join(f"{statistics.median(e[mark] for e in of):,.0f}" for mark in range(3))
        for of in ([e.stamp_us for e in errors], [e.ttft_us for e in errors])
    ]
    shared = statistics.median(e.multi_event_read_frac for e in errors)
    lag = statistics.median(one.lag_max_ms for one in taken)
    return f"| {title} | {cells[0]} | {cells[1]} | {shared:.2%} | {lag:.1f} |"


def _big_bodies(rounds: int) -> str:
    """Every prompt of 4 MB."""
    title = "16 streams x 50/s, every body 4 MB"
    job = Job(16, 64, 50, itl_ms=20.0)
    try:
        taken = []
        for _ in range(rounds):
            words = ["--isl", str(BIG_BYTES // 5)]
            taken.append(take(job, *words))
    except (ProgramError, OSError, ValueError) as error:
        return f"| {title} | not run: {str(error).splitlines()[-1][:150]} | | | |"
    sent = statistics.median(float(r.body_bytes) for r in taken[0].log.requests) / 1e6
    return _cells(f"{title} ({sent:.1f} MB sent)", taken)


def _stopped(job: Job, rounds: int) -> str:
    """The worker stands still for 200 ms each second: late stamps and their flags."""
    flagged = late = within = 0
    for _ in range(rounds):
        taken = take(job, poke=_Stopper())
        a, b, c = _late(taken)
        late, flagged, within = late + a, flagged + b, within + c
    return (
        f"\nWorker stopped (SIGSTOP) for {STOP_S * 1000:.0f} ms each second,"
        f" {job.streams} x {1000 / job.itl_ms:,.0f} tokens/s:"
        f" {late} stamps were more than 1 ms late; {flagged} of them are in records flagged"
        f" `late_stamps`, and {within} err by no more than that record's `seen_lag_max`.\n"
    )


class _Stopper:
    """Stops the worker for a while, again and again."""

    def __init__(self) -> None:
        self._worker = 0
        self._next = time.monotonic() + 2.0

    def __call__(self, pids: list[int]) -> None:
        if not self._worker:
            self._worker = next((pid for pid in pids if _is_worker(pid)), 0)
        if self._worker in pids and time.monotonic() >= self._next:
            os.kill(self._worker, signal.SIGSTOP)
            time.sleep(STOP_S)
            os.kill(self._worker, signal.SIGCONT)
            self._next = time.monotonic() + STOP_EVERY_S


def _is_worker(pid: int) -> bool:
    try:
        return b"loadgen.measure.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _late(taken: Taken) -> tuple[int, int, int]:
    """(stamps over 1 ms late, of those in flagged records, of those within the record's lag)."""
    table = taken.table
    logged = {key_of(request.request_id): request for request in taken.log.requests}
    late = flagged = within = 0
    for row in range(len(table)):
        request = logged[int(table.point[row]), int(table.share[row]), int(table.seq[row])]
        events = slice(int(table.event_start[row]), int(table.event_start[row + 1]))
        at_ns = table.event_at_ns[events][table.event_kind[events] != 0].tolist()
        for at, event in zip(at_ns, request.content, strict=False):
            if at - event.before_ns > 1_000_000:
                late += 1
                flagged += "late_stamps" in str(table.flags[row])
                within += at - event.before_ns <= int(table.seen_lag_max_ns[row])
    return late, flagged, within


def _many() -> str:
    """5,000 streams held at once by two workers, and the workers' memory a stream."""
    peaks: dict[int, int] = {}

    def note(pids: list[int]) -> None:
        for pid in pids:
            if _is_worker(pid):
                peaks[pid] = max(peaks.get(pid, 0), rss_of(pid))

    job = Job(5000, 5000, 16, ttft_ms=8000.0, itl_ms=400.0, workers=2)
    take(Job(2, 2, 16, ttft_ms=500, itl_ms=10, workers=2), poke=note, both=True)
    base = sum(peaks.values())
    peaks.clear()
    taken = take(job, poke=note, both=True)
    held = len(taken.log.requests)
    outcomes = sorted({str(o) for o in taken.table.outcome})
    error = judge(taken.table, taken.log.requests)
    per_stream_kb = (sum(peaks.values()) - base) / held / 1e3
    return (
        f"5,000 streams, two workers on both cores: {held} served, outcomes {', '.join(outcomes)};"
        f" workers' memory {per_stream_kb:.1f} KB a stream above {base / 1e6:.0f} MB for two;"
        f" stamp error p50 {error.stamp_us[0]:,.0f}, p99 {error.stamp_us[1]:,.0f} us.\n"
    )
