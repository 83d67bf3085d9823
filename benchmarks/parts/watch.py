"""One program run and watched from outside: CPU and memory of its whole process tree, over time."""

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
import time
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from parts.machine import CLIENT_PRIORITY, WATCH_PRIORITY, settle

LOOK_PERIOD_S = 0.02
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class ProgramError(RuntimeError):
    """The program ended with an error or not at all; the text is the end of what it said."""


@dataclass
class Watched:
    """What a run showed. Instants are monotonic ns; `cpu_s` by instant sums over the tree."""

    started_ns: int = 0
    ended_ns: int = 0
    cpu_s: float = 0.0
    peak_rss_bytes: int = 0
    output: str = ""
    at_ns: list[int] = field(default_factory=list)
    cpu_at_s: list[float] = field(default_factory=list)
    cpu_by_pid_at_s: list[dict[int, float]] = field(default_factory=list)
    rss_at_bytes: list[int] = field(default_factory=list)

    def cpu_between_s(self, from_ns: int, until_ns: int) -> float:
        """CPU of the tree between two instants, interpolated between looks (20 ms)."""
        return self._cpu_until_s(until_ns) - self._cpu_until_s(from_ns)

    def busiest_between_s(self, from_ns: int, until_ns: int) -> float:
        """CPU of that process of the tree that used most between two looks near the instants."""
        first, last = (
            self.cpu_by_pid_at_s[min(bisect_left(self.at_ns, at_ns), len(self.at_ns) - 1)]
            for at_ns in (from_ns, until_ns)
        )
        return max(spent_s - first.get(pid, 0.0) for pid, spent_s in last.items())

    def _cpu_until_s(self, at_ns: int) -> float:
        after = bisect_left(self.at_ns, at_ns)
        if after == 0 or after == len(self.at_ns):
            return 0.0 if after == 0 else self.cpu_s
        t0, t1 = self.at_ns[after - 1], self.at_ns[after]
        c0, c1 = self.cpu_at_s[after - 1], self.cpu_at_s[after]
        return c0 + (c1 - c0) * (at_ns - t0) / (t1 - t0)


def run_watched(
    command: list[str],
    *,
    on_cores: set[int],
    folder: Path,
    is_first: bool = True,
    timeout_s: float = 150.0,
    environment: dict[str, str] | None = None,
    poke: Callable[[list[int]], None] | None = None,
) -> Watched:
    """Runs the command first in line on its cores; each look calls `poke` with its pids.

    Raises: ProgramError.
    """
    seen = Watched()
    with tempfile.TemporaryFile() as said:
        seen.started_ns = time.monotonic_ns()
        process = subprocess.Popen(
            command,
            stdout=said,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
            preexec_fn=lambda: settle(on_cores, CLIENT_PRIORITY if is_first else 0),
            start_new_session=True,
            cwd=folder,
        )
        ended = threading.Event()
        looking = threading.Thread(target=_look, args=(process.pid, seen, ended, poke))
        looking.start()
        killer = threading.Timer(timeout_s, _kill_group, [process.pid])
        killer.start()
        _, status, used = os.wait4(process.pid, 0)
        seen.ended_ns = time.monotonic_ns()
        killer.cancel()
        ended.set()
        looking.join()
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        seen.output = said.read().decode("utf-8", "replace")
    seen.cpu_s = used.ru_utime + used.ru_stime
    if process.returncode != 0:
        raise ProgramError(f"exit {process.returncode}: {seen.output.strip()[-400:]}")
    return seen


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def _look(
    root: int, seen: Watched, ended: threading.Event, poke: Callable[[list[int]], None] | None
) -> None:
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(WATCH_PRIORITY))
    cpu_by_pid: dict[int, float] = {}
    while not ended.wait(LOOK_PERIOD_S):
        pids = tree_of(root)
        rss_bytes = 0
        for pid in pids:
            with contextlib.suppress(OSError, ValueError):
                cpu_by_pid[pid] = _cpu_s(pid)
                rss_bytes += rss_of(pid)
        seen.at_ns.append(time.monotonic_ns())
        seen.cpu_by_pid_at_s.append(dict(cpu_by_pid))
        seen.cpu_at_s.append(sum(cpu_by_pid.values()))
        seen.rss_at_bytes.append(rss_bytes)
        seen.peak_rss_bytes = max(seen.peak_rss_bytes, rss_bytes)
        if poke is not None:
            poke(pids)


def tree_of(root: int) -> list[int]:
    """The process and all that came of it and are alive."""
    found, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        with contextlib.suppress(OSError):
            for children in Path(f"/proc/{pid}/task").glob("*/children"):
                waiting += map(int, children.read_text(encoding="ascii").split())
    return found


def _cpu_s(pid: int) -> float:
    """CPU of all threads of a process that are alive, with nanosecond resolution."""
    total_ns = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as file:
            total_ns += int(file.read().split()[0])
    return total_ns / 1e9


def rss_of(pid: int) -> int:
    """Resident bytes of a process; shared pages count in each that has them."""
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * PAGE_BYTES
