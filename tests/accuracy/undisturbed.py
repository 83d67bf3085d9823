"""Keeps a shared machine's other work out of a timing: real-time scheduling where allowed."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


def run_loadgen(*words: str, cores: set[int]) -> "subprocess.CompletedProcess[str]":
    """`loadgen WORDS` with its children, undisturbed, on these cores."""
    with undisturbed(cores):
        return subprocess.run(
            [sys.executable, "-m", "loadgen", *words],
            capture_output=True,
            text=True,
            timeout=100,
            check=True,
        )


@contextmanager
def undisturbed(cores: set[int]) -> Iterator[None]:
    """Processes started inside are first in line on these cores; they stay so for good."""
    before = os.sched_getaffinity(0)
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    os.sched_setaffinity(0, cores)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(20))
    except PermissionError:
        print("real-time scheduling is not allowed here: other work may disturb the figures")
    try:
        yield
    finally:
        os.sched_setscheduler(0, policy, parameters)
        os.sched_setaffinity(0, before)


def two_halves() -> tuple[set[int], set[int]]:
    """One core for the server, the others for the client."""
    cores = sorted(os.sched_getaffinity(0))
    return {cores[0]}, set(cores[1:] or cores)
