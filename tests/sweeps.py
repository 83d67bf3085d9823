"""Whole command lines against a server: `python -m loadgen ...` in a process of its own."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from loadgen.model.record import EventKind
from loadgen.model.table import RunTable
from loadgen.store.tables import read_table
from tests.real_servers import Server

OUTPUT_TOK = 120
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Weather of a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}


def ask(prompt: str, **more: object) -> dict[str, object]:
    """A row of a chat workload whose answer is always the same."""
    return {"messages": [{"role": "user", "content": prompt}], "temperature": 0, **more}


COUNTING = [ask("count please now", max_tokens=OUTPUT_TOK)]
"""Text of exactly OUTPUT_TOK tokens, one an event, cut by the limit."""

MIXED = [
    ask("hello please now", max_tokens=100),
    ask("think please now", max_tokens=100),
    ask("tool Paris please now", max_tokens=100, tools=[WEATHER], tool_choice="auto"),
    ask("count please now", max_tokens=40),
]
"""Rows 0 to 3: short text, reasoning then text, one tool call, text cut by the limit."""


def write_prompts(path: Path, rows: Sequence[object]) -> Path:
    """A JSONL workload at `path`."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def command(*words: object) -> list[str]:
    """`python -m loadgen ...` as argv."""
    return [sys.executable, "-m", "loadgen", *map(str, words)]


@contextmanager
def running(*words: object) -> Iterator["subprocess.Popen[str]"]:
    """The command line, running; its output is piped. Killed where the block leaves it behind."""
    process = subprocess.Popen(
        command(*words),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "NO_COLOR": "1"},
    )
    with process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


@dataclass(frozen=True)
class Finished:
    """An ended command and the only run folder under `out`."""

    code: int
    stdout: str
    stderr: str
    out: Path

    @property
    def folder(self) -> Path:
        (folder,) = (path for path in self.out.iterdir() if path.is_dir())
        return folder

    @property
    def checks(self) -> dict[str, set[str]]:
        """Verdicts of each cross-check with the server's own metrics, over all points."""
        document = json.loads((self.folder / "run.json").read_text("utf-8"))
        found: dict[str, set[str]] = {}
        for one in document["summary"]["cross_checks"]:
            found.setdefault(one["check"], set()).add(one["verdict"])
        return found

    @property
    def table(self) -> RunTable:
        return read_table(self.folder)


def finish(process: "subprocess.Popen[str]", out: Path, within_s: float = 90) -> Finished:
    """Waits for the end; kills a command that takes longer than `within_s`."""
    try:
        stdout, stderr = process.communicate(timeout=within_s)
    except subprocess.TimeoutExpired:
        process.kill()
        stdout, stderr = process.communicate()
        raise AssertionError(f"still running after {within_s} s\n{stdout}\n{stderr}") from None
    return Finished(process.returncode, stdout, stderr, out)


def sweep(server: Server, prompts: Path, out: Path, *words: object) -> Finished:
    """A sweep that sends nothing but its measured requests: server counters are its own."""
    fixed = ["sweep", server.url, "-m", "tiny", "--no-preflight", "--warmup", 0, "--quiet"]
    fixed += ["--metrics-url", f"{server.url}/metrics"]
    with running(*fixed, "--workload", f"chat:{prompts}", "--out", out, *words) as process:
        return finish(process, out)


@dataclass
class Watched:
    """The highest value seen of each watched metric."""

    peaks: dict[str, float]


@contextmanager
def watching(server: Server, *names: str, every_s: float = 0.02) -> Iterator[Watched]:
    """Reads the server's metrics all the while."""
    watched = Watched(dict.fromkeys(names, 0.0))
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(every_s):
            for name, value in server.metrics(*names).items():
                watched.peaks[name] = max(watched.peaks[name], value)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield watched
    finally:
        stop.set()
        thread.join()


def wait_for(
    server: Server,
    name: str,
    at_least: float,
    process: "subprocess.Popen[str]",
    within_s: float = 60,
) -> None:
    """Returns when the metric has reached the value; AssertionError when `process` ends first."""
    deadline = time.monotonic() + within_s
    while server.metric(name) < at_least:
        if process.poll() is not None:
            raise AssertionError(f"{name} never reached {at_least}: {process.communicate()}")
        assert time.monotonic() < deadline, f"{name} never reached {at_least}"
        time.sleep(0.02)


def kinds_of(table: RunTable, row: int) -> list[EventKind]:
    """Kinds of one request's text events, in order."""
    span = slice(int(table.event_start[row]), int(table.event_start[row + 1]))
    kinds = (EventKind(int(kind)) for kind in table.event_kind[span])
    return [kind for kind in kinds if kind is not EventKind.OTHER]


def rows_of(table: RunTable, prompt_id: str) -> list[int]:
    """Numbers of the requests that sent this prompt."""
    return [row for row in range(len(table)) if table.prompt_id[row] == prompt_id]
