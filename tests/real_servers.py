"""Servers that are not ours, started on free ports of this machine and stopped cleanly.

Each is a context manager. What can't run here skips the test and says why.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

ROOT = Path(__file__).parent.parent
TINY = ROOT / "tests" / "fixtures" / "tiny-model"
VLLM_PYTHON = ROOT / ".venv-vllm" / "bin" / "python"
VLLM_STAMP = ROOT / ".venv-vllm" / ".installed"
MODEL = "tiny"
HOST = "127.0.0.1"


@dataclass
class Server:
    """A running server process; `url` is its root, without `/v1`."""

    url: str
    process: "subprocess.Popen[bytes]"
    log: Path
    ca: Path | None = None

    @property
    def port(self) -> int:
        return int(self.url.rsplit(":", 1)[1])

    def get(self, path: str) -> str:
        """The body of a GET, as text; raises on any status but 200."""
        with _direct().open(self.url + path, timeout=10) as answer:
            return str(answer.read(), "utf-8")

    def metric(self, name: str) -> float:
        """Sum over the series of one Prometheus counter or gauge; raises where it is missing."""
        return self.metrics(name)[name]

    def metrics(self, *names: str) -> dict[str, float]:
        """Several of them out of one answer, so that they belong to one moment."""
        text = self.get("/metrics").splitlines()
        found = {}
        for name in names:
            lines = [line for line in text if _named(line, name)]
            if not lines:
                raise LookupError(f"{self.url}/metrics has no {name}")
            found[name] = sum(float(line.rsplit(" ", 1)[1]) for line in lines)
        return found

    def log_text(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def children(self) -> list[int]:
        """Process ids of all descendants, parents first."""
        found = [self.process.pid]
        for pid in found:
            for task in Path(f"/proc/{pid}/task").glob("*/children"):
                found += [int(word) for word in task.read_text().split()]
        return found[1:]

    def stop(self) -> None:
        """SIGTERM to the server, SIGKILL to whatever of its process group is left."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(15)


def _named(line: str, name: str) -> bool:
    return line.startswith(name) and line[len(name) : len(name) + 1] in ("{", " ")


def _direct() -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(urllib.request.ProxyHandler({}))


def free_port() -> int:
    """A TCP port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _answers(url: str) -> bool:
    try:
        with _direct().open(url, timeout=2):
            return True
    except urllib.error.HTTPError as error:
        return error.code < 500  # llama.cpp says 503 while it loads
    except OSError:
        return False


@contextmanager
def running(
    argv: Sequence[object],
    url: str,
    *,
    ready: str = "/health",
    within_s: float = 30,
    env: Mapping[str, str] | None = None,
) -> Iterator[Server]:
    """Starts `argv` in a process group of its own, waits until GET `ready` gets an answer."""
    with tempfile.TemporaryDirectory(prefix="loadgen-server-") as folder:
        log = Path(folder) / "log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [str(word) for word in argv],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env={**os.environ, **(env or {})},
                start_new_session=True,
            )
        server = Server(url, process, log)
        try:
            deadline = time.monotonic() + within_s
            while ready and not _answers(url + ready):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"{argv[0]} is not ready:\n{server.log_text()[-3000:]}")
                time.sleep(0.05)
            yield server
        finally:
            server.stop()


@contextmanager
def llama_server(slots: int = 4, ctx: int = 2048, key: str | None = None) -> Iterator[Server]:
    """llama.cpp with the tiny model, ready in about half a second; `ctx` tokens a slot."""
    port = free_port()
    argv: list[str | Path] = [sys.executable, ROOT / "tests" / "llama_runner.py"]
    argv += [TINY / "tiny.gguf", str(port), str(slots), str(ctx), *([key] if key else [])]
    with running(argv, f"http://{HOST}:{port}") as server:
        yield server


VLLM_ENV = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1",
    # without this the first request with logprobs compiles for a minute and all others wait
    "TORCH_COMPILE_DISABLE": "1",
}


@contextmanager
def vllm_server(*flags: str) -> Iterator[Server]:
    """vLLM 0.32 on the CPU with the tiny model, ready in about a minute."""
    if not VLLM_STAMP.exists():
        pytest.skip(".venv-vllm is missing: `make test-vllm` installs it")
    port = free_port()
    argv: list[str | Path] = [VLLM_PYTHON, "-m", "vllm.entrypoints.openai.api_server"]
    argv += ["--model", TINY, "--served-model-name", MODEL, "--host", HOST, "--port", str(port)]
    argv += ["--enforce-eager", "--max-model-len", "2048", *flags]
    with running(argv, f"http://{HOST}:{port}", within_s=200, env=VLLM_ENV) as server:
        yield server


@contextmanager
def llmock_server(*flags: str) -> Iterator[Server]:
    """llmock, an independent mock with faults to order (`POST /_llmock/scenario`)."""
    port = free_port()
    argv: list[str | Path] = [Path(sys.executable).with_name("llmock"), "serve"]
    argv += ["--host", HOST, "--port", str(port), "--log-level", "warning", *flags]
    with running(argv, f"http://{HOST}:{port}") as server:
        yield server


@dataclass(frozen=True)
class Certificates:
    """PEM files of a server on 127.0.0.1 and localhost, and of the authority that signed it."""

    ca: Path
    cert: Path
    key: Path


def tls_certificates(folder: Path) -> Certificates:
    """A fresh authority and a server certificate of a day, made by the openssl command."""
    if shutil.which("openssl") is None:
        pytest.skip("the openssl command is missing")
    ca, ca_key = folder / "ca.pem", folder / "ca.key"
    cert, key, request = folder / "server.pem", folder / "server.key", folder / "server.csr"
    names = folder / "names"
    names.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n", encoding="ascii")
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    _openssl(
        *["req", "-x509", *curve, "-days", "1", "-subj", "/CN=loadgen test authority"],
        *["-keyout", ca_key, "-out", ca],
    )
    _openssl("req", *curve, "-subj", "/CN=localhost", "-keyout", key, "-out", request)
    _openssl(
        *["x509", "-req", "-days", "1", "-in", request, "-CA", ca, "-CAkey", ca_key],
        *["-CAcreateserial", "-extfile", names, "-out", cert],
    )
    return Certificates(ca, cert, key)


def _openssl(*words: object) -> None:
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, timeout=30)


def _nginx() -> str:
    found = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
    if found is None:
        pytest.skip("nginx is not installed (Debian: apt-get install nginx-light)")
    return found


NGINX_CONF = """
daemon off; master_process off; pid {folder}/pid; error_log stderr warn;
events {{ worker_connections 512; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  proxy_set_header Connection ""; proxy_read_timeout 30s;
  server {{ listen {front}; {tls} location / {{ {passing} }} }}
  {behind}
}}
"""
PASSES_ON = "proxy_pass {upstream}; proxy_http_version 1.1; proxy_buffering off;"
# nginx holds a stream back only where its upstream sends no chunks, as to a client of HTTP/1.0 (its
# own default towards upstreams); most servers send chunks all the same, another nginx does not
HOLDS_BACK = (
    "proxy_pass http://127.0.0.1:{inner}; proxy_http_version 1.0; proxy_buffering on;"
    " proxy_ignore_headers X-Accel-Buffering;"
)
BEHIND = "server {{ listen 127.0.0.1:{inner}; location / {{ " + PASSES_ON + " }} }}"


def _nginx_conf(
    folder: Path, port: int, upstream: str, holds_back: bool, tls: Certificates | None
) -> str:
    inner = free_port()
    front = PASSES_ON if not holds_back else HOLDS_BACK
    return NGINX_CONF.format(
        folder=folder,
        front=f"{HOST}:{port}{' ssl' if tls else ''}",
        tls=f"ssl_certificate {tls.cert}; ssl_certificate_key {tls.key};" if tls else "",
        passing=front.format(upstream=upstream, inner=inner),
        behind=BEHIND.format(upstream=upstream, inner=inner) if holds_back else "",
    )


@contextmanager
def nginx_proxy(
    upstream: str, *, buffering: Literal["on", "off"] = "off", tls: Certificates | None = None
) -> Iterator[Server]:
    """nginx in front of `upstream`, an ordinary process; with `tls` it speaks https only.

    With buffering on it ignores the server's `X-Accel-Buffering: no`, which llama.cpp sends, and
    holds a stream back in blocks of 4 KB.
    """
    nginx = _nginx()
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="loadgen-nginx-") as name:
        folder = Path(name)
        text = _nginx_conf(folder, port, upstream, buffering == "on", tls)
        (folder / "nginx.conf").write_text(text, encoding="ascii")
        argv = [nginx, "-p", folder, "-c", folder / "nginx.conf", "-e", "stderr"]
        scheme = "https" if tls else "http"
        with running(argv, f"http://{HOST}:{port}", ready="/") as server:
            server.url = f"{scheme}://{HOST}:{port}"
            server.ca = tls.ca if tls else None
            yield server
