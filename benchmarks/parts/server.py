"""The truth server as a child, and what its log says."""

import contextlib
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from loadgen.mock.metronome.truthdump import SentRequest, read_truth
from parts.machine import BUILD, SERVER_PRIORITY, cores, settle


@dataclass(frozen=True)
class Server:
    """A running truth server."""

    port: int

    @property
    def url(self) -> str:
        """Its base URL."""
        return f"http://127.0.0.1:{self.port}"

    def log(self) -> "Log":
        """What it did so far."""
        return Log(read_truth(self._get("/truth")).requests)

    def _get(self, path: str) -> bytes:
        with urllib.request.urlopen(self.url + path, timeout=60) as response:
            body: bytes = response.read()
            return body


@dataclass(frozen=True)
class Log:
    """Requests that were served whole; instants are monotonic ns."""

    requests: list[SentRequest]

    @property
    def chunks(self) -> int:
        """Tokens written, one an event of the stream."""
        written: int = sum(e.n_tok for request in self.requests for e in request.content)
        return written

    @property
    def first_received_ns(self) -> int:
        """When the first request had come in whole."""
        first_ns: int = min(request.received_ns for request in self.requests)
        return first_ns

    def written_ns(self) -> list[int]:
        """When each content event was written, sorted."""
        return sorted(e.before_ns for request in self.requests for e in request.content)

    def true_ttfts_ns(self) -> list[int]:
        """First content write less request received, one a request, sorted."""
        return sorted(r.content[0].before_ns - r.received_ns for r in self.requests if r.content)


@contextmanager
def running_server(*words: str) -> Iterator[Server]:
    """A fresh truth server on its own core for the time of the block."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    server_core, _ = cores()
    process = subprocess.Popen(
        [BUILD / "truth_server", "--port", str(port), *words],
        preexec_fn=lambda: settle({server_core}, SERVER_PRIORITY),
    )
    try:
        _wait_for(port)
        yield Server(port)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=10)


def _wait_for(port: int) -> None:
    for _ in range(100):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.02)
    raise RuntimeError("the truth server did not start")
