"""The built-in servers in a process of their own, for `mock:` targets, the demo and selftest."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from loadgen.errors import LoadgenError

LEAVE_LIMIT_S = 5.0


@contextmanager
def running_mock(profile: str = "small", *more: str, kind: str = "simulator") -> Iterator[str]:
    """Yields the base URL of a mock server that runs until the block or this process ends.

    `more` are further options of `loadgen mock`. Raises `LoadgenError` when it does not start.
    """
    options = ["--profile", profile] if kind == "simulator" else []
    fixed = ["--port", "0", "--until-stdin-ends"]
    process = subprocess.Popen(
        [sys.executable, "-m", "loadgen.mock", kind, *options, *fixed, *more],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield _address(process)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.communicate(timeout=LEAVE_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def _address(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line.startswith("READY "):
        _, errors = process.communicate()
        last = errors.strip().splitlines()[-1:] or ["it said nothing"]
        raise LoadgenError(f"the built-in server did not start: {last[0]}")
    return line.split()[1]
