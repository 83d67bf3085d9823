"""A mock server in a process of its own, for tests.

    with start_mock("--profile", "small", "--set", "max_batch=4") as mock:
        httpx.get(f"{mock.url}/v1/models")

`start_mock("metronome")` starts the other one. The port is free and picked by the server; leaving
the block ends the process. Starting takes about 0.4 s: share one between tests (a fixture of
module scope) and tell requests apart by `x-request-id`.
"""

import json
import subprocess
import sys
import urllib.request
from dataclasses import dataclass
from types import TracebackType
from typing import Any


@dataclass
class MockProcess:
    """A running mock: its base URL without /v1, and its process."""

    url: str
    process: "subprocess.Popen[str]"

    def stop(self) -> int:
        """Ends it with SIGTERM and returns its exit code."""
        if self.process.poll() is None:
            self.process.terminate()
        code = self.process.wait(timeout=10)
        if self.process.stdout is not None:
            self.process.stdout.close()
        return code

    def truth(self) -> list[dict[str, Any]]:
        """The simulator's truth log: one member a request, in the order of arrival."""
        with urllib.request.urlopen(f"{self.url}/truth", timeout=10) as response:
            log: dict[str, Any] = json.load(response)
        requests: list[dict[str, Any]] = log["requests"]
        return requests

    def truth_of(self, request_id: str) -> dict[str, Any]:
        """The log's entry of one request."""
        return next(r for r in self.truth() if r["request_id"] == request_id)

    def __enter__(self) -> "MockProcess":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def start_mock(*args: str) -> MockProcess:
    """Starts `python -m loadgen.mock` with these options and waits for its READY line."""
    command = [sys.executable, "-m", "loadgen.mock", *args]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line.startswith("READY "):
        process.kill()
        process.wait()
        process.stdout.close()
        raise RuntimeError(f"the mock did not start: {line!r}")
    return MockProcess(line.split()[1], process)
