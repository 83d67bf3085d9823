"""The machine: one core for the server, one for the client, real-time priority where allowed."""

import os
import platform
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).parents[1]
BUILD = HERE / "reference" / "build"
SERVER_PRIORITY, CLIENT_PRIORITY, WATCH_PRIORITY = 30, 20, 40


def cores() -> tuple[int, int]:
    """(server's core, client's core); the same one twice where there is but one."""
    all_cores = sorted(os.sched_getaffinity(0))
    return all_cores[0], all_cores[-1]


def may_have_priority() -> bool:
    """Whether SCHED_FIFO is granted, so that other work of the machine stays out of the figures."""
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(WATCH_PRIORITY))
    except PermissionError:
        return False
    os.sched_setscheduler(0, policy, parameters)
    return True


def settle(on_cores: set[int], priority: int) -> None:
    """Puts the calling process on its cores, first in line where that is allowed.

    Priority 0 is a nice value of -19 instead of real time.
    """
    os.sched_setaffinity(0, on_cores)
    try:
        if not priority:
            os.setpriority(os.PRIO_PROCESS, 0, -19)
            return
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except PermissionError:
        return


def build_reference() -> str:
    """Compiles server and limit client; why that can't be, or nothing."""
    if shutil.which("make") is None or shutil.which(os.environ.get("CC", "cc")) is None:
        return "no C compiler here"
    done = subprocess.run(
        ["make", "-s", "-C", BUILD.parent], capture_output=True, text=True, check=False
    )
    return "" if done.returncode == 0 else done.stderr.strip()


def describe() -> str:
    """One line: processor, cores, kernel, Python."""
    lines = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    cpu = names[0] if names else platform.machine()
    return (
        f"{cpu}, {len(os.sched_getaffinity(0))} cores, Linux {platform.release()},"
        f" Python {platform.python_version()}"
    )
