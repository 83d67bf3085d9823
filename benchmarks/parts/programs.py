"""The programs under comparison: how each is started for one job, and what it reports."""

import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from parts.machine import BUILD, HERE

ROOT = HERE.parent
TOKENIZER = ROOT / "tests" / "fixtures" / "tiny-model"


@dataclass(frozen=True)
class Job:
    """`requests` streams of `tokens` events, `streams` at once, on that timetable."""

    streams: int
    requests: int
    tokens: int
    ttft_ms: float = 50.0
    itl_ms: float = 0.0
    workers: int = 1

    def words(self, port: int, stamps: Path) -> list[str]:
        """The command line that the reference client and `clients/` share."""
        return (
            f"--port {port} --streams {self.streams} --requests {self.requests}"
            f" --tokens {self.tokens} --ttft-ms {self.ttft_ms} --itl-ms {self.itl_ms}"
            f" --stamps {stamps}"
        ).split()

    @property
    def timetable(self) -> str:
        """The body's members for the server."""
        return json.dumps({"ttft_ms": self.ttft_ms, "itl_ms": self.itl_ms})


@dataclass(frozen=True)
class Program:
    """A client: its command for a job, server's port and a scratch folder."""

    name: str
    command: Callable[[Job, int, Path], list[str]]
    missing: str = ""
    """Why it can't be run here; empty where it can."""
    is_first: bool = True
    """Real-time priority; tools whose parent spins would starve their own workers by it."""


def scratch() -> Path:
    """An empty folder of its own."""
    return Path(tempfile.mkdtemp(prefix="speed-"))


def loadgen_command(job: Job, port: int, folder: Path) -> list[str]:
    """The whole tool: records, review and report included."""
    words = (
        f"-m loadgen run http://127.0.0.1:{port} -m truth --load closed:{job.streams}"
        f" --requests {job.requests} --warmup 0 --isl 8 --osl {job.tokens} --no-preflight"
        f" --workers {job.workers} --quiet --out {folder}"
    )
    return [loadgen_python(), *words.split(), "--extra-body", job.timetable]


def loadgen_python() -> str:
    """The interpreter of an installation as users have it, where there is one, else this one."""
    base = _python_of("loadgen")
    return str(base) if base.exists() else sys.executable


def _limit(job: Job, port: int, folder: Path) -> list[str]:
    return [str(BUILD / "limit_client"), *job.words(port, folder / "stamps")]


def _python_of(environment: str) -> Path:
    return HERE / f".venv-{environment}" / "bin" / "python"


def _client(file: str, python: Path) -> Program:
    def command(job: Job, port: int, folder: Path) -> list[str]:
        return [str(python), str(HERE / "clients" / file), *job.words(port, folder / "stamps")]

    missing = "" if python.exists() else "not installed"
    return Program(file.removesuffix(".py").replace("_", "-"), command, missing)


def _aiperf(job: Job, port: int, folder: Path) -> list[str]:
    words = (
        f"profile -m truth --url http://127.0.0.1:{port} --endpoint-type chat --streaming"
        f" --concurrency {job.streams} --request-count {job.requests} --isl 8"
        f" --osl {job.tokens} --tokenizer {TOKENIZER} --ui none --artifact-dir {folder}"
    )
    extra = ["--extra-inputs", job.timetable]
    return [str(_python_of("aiperf").with_name("aiperf")), *words.split(), *extra]


def _guidellm(job: Job, port: int, folder: Path) -> list[str]:
    return [
        str(_python_of("guidellm").with_name("guidellm")),
        *("run", "--disable-console"),
        *("--backend", f"kind=openai_http,target=http://127.0.0.1:{port},model=truth"),
        *("--profile", f"kind=concurrent,streams={job.streams}"),
        *("--constraint", f"kind=max_requests,count={job.requests}"),
        *("--tokenizer", f"kind=huggingface_auto,model={TOKENIZER}"),
        *("--data", f"kind=synthetic_text,prompt_tokens=8,output_tokens={job.tokens}"),
        *("--output", f"kind=json,path={folder}/result.json"),
    ]


def _genai_bench(job: Job, port: int, folder: Path) -> list[str]:
    words = (
        f"benchmark --api-backend openai --api-base http://127.0.0.1:{port} --api-key none"
        f" --api-model-name truth --model-tokenizer {TOKENIZER} --task text-to-text"
        f" --traffic-scenario D(8,{job.tokens}) --num-concurrency {job.streams}"
        f" --max-requests-per-run {job.requests} --max-time-per-run 5"
        f" --experiment-base-dir {folder}"
    )
    extra = ["--additional-request-params", job.timetable]
    return [str(_python_of("genai-bench").with_name("genai-bench")), *words.split(), *extra]


def _tool(name: str, command: Callable[[Job, int, Path], list[str]]) -> Program:
    missing = "" if _python_of(name).exists() else "not installed"
    return Program(name, command, missing, is_first=False)


LIMIT = Program("limit (C)", _limit)
LOADGEN = Program("loadgen", loadgen_command)
AIOHTTP = _client("aiohttp_orjson.py", _python_of("clients"))
HTTPX_AIOHTTP = _client("httpx_over_aiohttp.py", _python_of("clients"))
HTTPX = _client("httpx_lines.py", _python_of("clients"))
VLLM = _client("vllm_function.py", ROOT / ".venv-vllm" / "bin" / "python")
SGLANG = _client("sglang_rust.py", _python_of("sglang"))
TOOLS = (
    _tool("aiperf", _aiperf),
    _tool("guidellm", _guidellm),
    _tool("genai-bench", _genai_bench),
)
NOT_HERE = (
    ("inference-perf", "every release on the package index asks for Python 3.12"),
    ("MLPerf Endpoints client", "not on the package index"),
)
"""Programs that the issue names and that the index does not give for this Python."""

ENVIRONMENT = {
    "PYTHONPATH": str(ROOT),
    "SGLANG_WHEEL_ROOT": str(HERE / ".venv-sglang" / "wheel"),
    "BENCH_TOKENIZER": str(TOKENIZER),
    "OPENAI_API_KEY": "none",
}


def forget(folder: Path) -> None:
    """Removes a scratch folder."""
    shutil.rmtree(folder, ignore_errors=True)


def reported_ttfts_ns(folder: Path) -> list[int]:
    """TTFTs that a client of `clients/` or the limit client wrote to its stamps file, sorted."""
    lines = (folder / "stamps").read_text(encoding="ascii").splitlines()
    words = (line.split() for line in lines)
    return sorted(int(first) - int(sent) for _, sent, first, *_ in words)
