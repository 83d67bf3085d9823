"""The only room that reads time. Monotonic nanoseconds order everything; wall time only labels."""

import os
import socket
import time
from pathlib import Path

from loadgen.units import NS_PER_S

now_ns = time.monotonic_ns
"""Monotonic nanoseconds; comparable between processes of one kernel and time namespace."""

wall_ns = time.time_ns
"""Nanoseconds since 1970; may be stepped, so it never enters a difference."""


def realtime_offset_ns() -> int:
    """CLOCK_REALTIME minus CLOCK_MONOTONIC, ns: the tightest of five bracketed samples.

    Kernel receive stamps are CLOCK_REALTIME; subtract this to put them on our axis.
    """
    best_width = NS_PER_S
    best = 0
    for _ in range(5):
        before = time.monotonic_ns()
        wall = time.time_ns()
        after = time.monotonic_ns()
        if after - before < best_width:
            best_width = after - before
            best = wall - (before + after) // 2
    return best


def host_name() -> str:
    """The machine's own name, for anchors."""
    return socket.gethostname()


def boot_id() -> str:
    """The kernel's boot id, or an empty string where the platform has none."""
    path = Path("/proc/sys/kernel/random/boot_id")
    return path.read_text(encoding="ascii").strip() if path.exists() else ""


cpu_ns = time.process_time_ns
"""CPU time of this process, user and system, ns."""


class ThreadBusy:
    """Says for how long this thread has run or waited for a core so far.

    Belongs to the thread that makes it. Where the platform doesn't tell of waiting (second field
    of `schedstat`, kernel documentation, scheduler/sched-stats), it is running time alone.
    """

    def __init__(self, path: str = "/proc/thread-self/schedstat") -> None:
        try:
            self._file: int | None = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._file = None

    def __call__(self) -> int:
        """Nanoseconds since the thread began."""
        run_ns = time.thread_time_ns()
        if self._file is None:
            return run_ns
        return run_ns + int(os.pread(self._file, 80, 0).split()[1])

    def close(self) -> None:
        """Only running time from now on. A second close does nothing."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
