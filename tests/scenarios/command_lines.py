"""Whole command lines beside a scripted server: `python -m loadgen ...` in sessions of their own.

async with ScriptedServer(answer(8)) as server:
    run = await loadgen("run", server.url, *BARE, "-n", 5, "--out", tmp_path)
    assert run.code == 0, run.stderr
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadgen.model.table import RunTable
from loadgen.store.tables import read_table
from tests.scripted_server import (
    LAST_CHUNK,
    STREAM_HEAD,
    ScriptedServer,
    Step,
    Talk,
    chunk,
    eventually,
    whole,
)
from tests.scripted_server import play as play_steps

MODEL = "scripted"
BARE = ("-m", MODEL, "--no-preflight", "--warmup", "0", "--isl", "16", "--osl", "8")
"""Nothing is sent but the load itself, and that is small."""

CHAT = "/v1/chat/completions"


def event(**members: object) -> bytes:
    """One server-sent event as one chunk."""
    return chunk(b"data: " + json.dumps(members).encode() + b"\n\n")


def text_event(text: str, finish: str | None = None) -> bytes:
    """A chat event with content."""
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return event(id="c", object="chat.completion.chunk", model=MODEL, choices=[choice])


def usage_event(output_tok: int, input_tok: int = 16) -> bytes:
    """The closing usage event."""
    total = output_tok + input_tok
    usage = {"prompt_tokens": input_tok, "completion_tokens": output_tok, "total_tokens": total}
    return event(id="c", model=MODEL, choices=[], usage=usage)


def answer(n_tok: int = 4, *, ttft_s: float = 0.0, itl_s: float = 0.0) -> list[Step]:
    """A good streamed answer of `n_tok` events of one token each, with usage and marker."""
    texts = [text_event(f" w{number}") for number in range(n_tok - 1)]
    texts.append(text_event(" end", finish="stop"))
    end = usage_event(n_tok) + chunk(b"data: [DONE]\n\n") + LAST_CHUNK
    if not ttft_s and not itl_s:
        return [STREAM_HEAD + b"".join(texts) + end]
    paced: list[Step] = [(itl_s, text) for text in texts[1:]]
    return [STREAM_HEAD, (ttft_s, texts[0]), *paced, end]


def by_route(**routes: Sequence[Step]) -> list[Step]:
    """Answers by the last word of the path (`completions`, `models`); 404 for all others."""

    async def choose(talk: Talk) -> None:
        name = talk.request.path.partition("?")[0].rsplit("/", 1)[-1]
        await play_steps(talk, routes.get(name, [whole(b'{"error":"no such route"}', 404)]))

    return [choose]


def bodies(server: ScriptedServer) -> list[dict[str, Any]]:
    """The JSON bodies of all chat requests, in the order in which they came."""
    return [json.loads(r.body) for r in server.requests if r.path.endswith("/completions")]


@dataclass(frozen=True)
class Ended:
    """An ended command; `out` is where its run folders are."""

    code: int
    stdout: str
    stderr: str
    out: Path
    pid: int

    @property
    def folder(self) -> Path:
        """The only run folder."""
        (folder,) = self.folders
        return folder

    @property
    def folders(self) -> list[Path]:
        """All run folders, by name."""
        return sorted(path for path in self.out.iterdir() if path.is_dir())

    @property
    def table(self) -> RunTable:
        return read_table(self.folder)

    @property
    def summary(self) -> dict[str, Any]:
        """The summary that run.json keeps."""
        document = json.loads((self.folder / "run.json").read_text(encoding="utf-8"))
        summary: dict[str, Any] = document["summary"]
        return summary

    @property
    def findings(self) -> dict[str, str]:
        """Texts by code; of several with one code the last."""
        return {finding["code"]: finding["text"] for finding in self.summary["findings"]}


class Running:
    """A command that was started; it leads a session of its own."""

    def __init__(self, process: asyncio.subprocess.Process, out: Path) -> None:
        self.process = process
        self.out = out
        self.stderr = ""
        self._news = asyncio.Condition()
        assert process.stdout is not None
        self._stdout = asyncio.create_task(process.stdout.read())
        self._listening = asyncio.create_task(self._listen())

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def folder(self) -> Path:
        """The only run folder so far."""
        (folder,) = (path for path in self.out.iterdir() if path.is_dir())
        return folder

    async def _listen(self) -> None:
        assert self.process.stderr is not None
        while line := await self.process.stderr.readline():
            async with self._news:
                self.stderr += line.decode("utf-8", "replace")
                self._news.notify_all()
        async with self._news:
            self._news.notify_all()

    async def said(self, words: str, within_s: float = 60) -> None:
        """Returns when stderr holds these words. Raises: AssertionError when it ends without."""
        async with asyncio.timeout(within_s), self._news:
            while words not in self.stderr:
                assert not self._listening.done(), f"never said {words!r}: {self.stderr}"
                await self._news.wait()

    def press_ctrl_c(self) -> None:
        """SIGINT to the whole group, as a terminal does it."""
        os.killpg(self.pid, signal.SIGINT)

    async def end(self, within_s: float = 60) -> Ended:
        """Waits for the end. Raises: TimeoutError, after killing everything."""
        try:
            async with asyncio.timeout(within_s):
                code = await self.process.wait()
                stdout = await self._stdout
                await self._listening
        finally:
            self.kill_all()
        return Ended(code, stdout.decode("utf-8", "replace"), self.stderr, self.out, self.pid)

    def kill_all(self) -> None:
        """SIGKILL to the whole group, if anything of it is left."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)


@asynccontextmanager
async def running(
    *words: object,
    out: Path,
    env: Mapping[str, str] | None = None,
    prefix: Sequence[str] = (),
    cwd: Path | None = None,
) -> AsyncIterator[Running]:
    """The command line, running; whatever is left of it at the block's end is killed."""
    process = await asyncio.create_subprocess_exec(
        *prefix,
        sys.executable,
        "-m",
        "loadgen",
        *map(str, words),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **(env or {})},
        cwd=cwd,
        start_new_session=True,
    )
    command = Running(process, out)
    try:
        yield command
    finally:
        command.kill_all()
        await process.wait()


async def loadgen(
    *words: object,
    out: Path,
    env: Mapping[str, str] | None = None,
    prefix: Sequence[str] = (),
    cwd: Path | None = None,
    within_s: float = 60,
) -> Ended:
    """The command line, run to its end; run folders go below `out` (which is not passed on)."""
    async with running(*words, out=out, env=env, prefix=prefix, cwd=cwd) as command:
        return await command.end(within_s)


@dataclass(frozen=True)
class Process:
    """One line of the process table."""

    pid: int
    parent: int
    session: int
    words: str


def processes() -> list[Process]:
    """All processes that are no zombies."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError):
            _, _, rest = (folder / "stat").read_text(encoding="utf-8").rpartition(")")
            state, parent, _, session = rest.split()[:4]
            words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            if state != "Z":
                found.append(Process(int(folder.name), int(parent), int(session), words))
    return found


def members(session: int, module: str = "") -> list[int]:
    """Process ids of a session whose command line holds `module`."""
    return [p.pid for p in processes() if p.session == session and module in p.words]


async def all_gone(session: int, within_s: float = 20) -> None:
    """Returns when no process of the session is left. Raises: TimeoutError."""
    await eventually(lambda: not members(session), within_s)
