"""A canary key against a server that echoes every header back: it is never seen again."""

import json
import sys
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pyarrow.parquet as pq
import pytest

from loadgen.cli.errors import guarded
from loadgen.report import OUTPUTS
from loadgen.review import render, review
from tests.scenarios.command_lines import Ended, by_route, event, loadgen, usage_event
from tests.scripted_server import (
    LAST_CHUNK,
    STREAM_HEAD,
    ScriptedServer,
    Talk,
    chunk,
    whole,
)

CANARY = 'sk-canary/9f3a+"quiet"-bird-77'
ENCODED = b64encode(f"bird:{CANARY}".encode()).decode()
SMALL = ("--isl", "16", "--osl", "8", "--warmup", "1", "-n", "8", "--error-limit", "1")


@dataclass(frozen=True)
class Way:
    """One way to hand over a secret: options, environment, and the target made of the URL."""

    options: tuple[str, ...] = ()
    environment: Mapping[str, str] | None = None
    login: str = ""
    by_proxy: bool = False

    def target(self, url: str) -> str:
        return url.replace("://", f"://{self.login}") if self.login else url

    def env(self, url: str) -> dict[str, str]:
        proxy = {"HTTP_PROXY": url.replace("://", f"://{PERCENT_LOGIN}")} if self.by_proxy else {}
        return {"NO_COLOR": "1", **(self.environment or {}), **proxy}


PERCENT_LOGIN = f"bird:{quote(CANARY, safe='')}@"

WAYS = {
    "in the usual variable": Way(environment={"OPENAI_API_KEY": CANARY}),
    "in a named variable": Way(("--api-key-env", "BIRD"), {"BIRD": CANARY}),
    "as a header": Way(("--header", f"Authorization: Bearer {CANARY}")),
    "as another header": Way(("-H", f"x-api-key: {CANARY}")),
    "in the URL": Way(login=PERCENT_LOGIN),
    "in the proxy's URL": Way(by_proxy=True),
}


PROBED = ("in the usual variable", "in the proxy's URL")
"""A run's preflight is a probe already, so that two of them by themselves are enough."""


def said(request_headers: Mapping[str, str]) -> str:
    """All headers of a request in one line."""
    return "; ".join(f"{name}: {value}" for name, value in request_headers.items())


async def echo_error(talk: Talk) -> None:
    body = json.dumps({"error": {"message": f"bad key {said(talk.request.headers)}"}})
    await talk.write(whole(body.encode(), 400, *echoed(talk)))


async def echo_error_in_stream(talk: Talk) -> None:
    message = f"engine says {said(talk.request.headers)}"
    await talk.write(STREAM_HEAD + event(error={"message": message, "code": 500}) + LAST_CHUNK)


async def echo_text(talk: Talk) -> None:
    """The headers as text: in one event, letter by letter, as reasoning, as a tool's arguments."""
    text = said(talk.request.headers)
    pieces: list[dict[str, object]] = [{"content": piece} for piece in (text, *text)]
    pieces += [{"reasoning_content": text[:40]}, {"reasoning_content": text[40:]}]
    call = {"index": 0, "id": "c", "function": {"name": "f", "arguments": text}}
    pieces.append({"tool_calls": [call]})
    events = [event(choices=[{"index": 0, "delta": piece}]) for piece in pieces]
    end = event(choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}]) + usage_event(9)
    head = STREAM_HEAD[:-2] + b"\r\n".join([*echoed(talk), b"", b""])
    await talk.write(head + b"".join(events) + end + chunk(b"data: [DONE]\n\n") + LAST_CHUNK)


async def echo_garbage(talk: Talk) -> None:
    """An event that is no JSON, then the end."""
    line = f"data: {{nonsense {said(talk.request.headers)}\n\n".encode()
    await talk.write(STREAM_HEAD + chunk(line) + LAST_CHUNK)


def echoed(talk: Talk) -> list[bytes]:
    """Response headers that hold every request header's value."""
    values = talk.request.headers.items()
    pairs = [f"x-echo-{name}: {value}".encode() for name, value in values]
    return [*pairs, b"server: " + said(talk.request.headers).encode()]


async def echo_models(talk: Talk) -> None:
    """A model list whose model is named after the headers, and answers to all other routes."""
    name = talk.request.path.rsplit("/", 1)[-1]
    if name == "models":
        body = json.dumps({"data": [{"id": "m", "owned_by": said(talk.request.headers)}]})
        await talk.write(whole(body.encode(), 200, *echoed(talk)))
    else:
        await echo_error(talk)


ECHOES: tuple[Callable[[Talk], Awaitable[None]], ...] = (
    echo_text,
    echo_error,
    echo_error_in_stream,
    echo_garbage,
)


def parrot() -> ScriptedServer:
    """The preflight gets good answers, the load one echo after another; all hold the headers."""
    turn = 0

    async def chat(talk: Talk) -> None:
        nonlocal turn
        is_load = b'"max_tokens":8' in talk.request.body
        turn += is_load
        await (ECHOES[turn % len(ECHOES)] if is_load else echo_text)(talk)

    routes = {"completions": [chat], "models": [echo_models]}
    quiet = ("metrics", "health", "version", "tokenize", "props", "v1")
    return ScriptedServer(by_route(**routes, **{name: [echo_models] for name in quiet}))


def texts_in(folder: Path) -> Iterator[tuple[str, str]]:
    """(where, what) of everything in a folder: raw bytes of files, cells of Parquet files."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield str(path), path.read_bytes().decode("latin-1")
        if path.suffix == ".parquet":
            table = pq.read_table(path)
            for name in table.column_names:
                yield f"{path}: {name}", str(table.column(name).to_pylist())
            yield f"{path}: metadata", str(table.schema.metadata)


def assert_unseen(texts: Iterator[tuple[str, str]]) -> None:
    """Neither the canary nor a recognisable part of it, as it is or as JSON escapes it."""
    forms = (CANARY, CANARY.replace('"', '\\"'), PERCENT_LOGIN[5:-1], ENCODED, "sk-canary/9f3a")
    for where, text in texts:
        for form in forms:
            assert form not in text, f"the canary sits in {where}: {text[:2000]}"


def shown(run: Ended) -> Iterator[tuple[str, str]]:
    yield "stdout", run.stdout
    yield "stderr", run.stderr


@pytest.mark.parametrize("name", WAYS)
async def test_an_echoed_key_is_in_no_file_and_on_no_screen(tmp_path: Path, name: str) -> None:
    way = WAYS[name]
    out = tmp_path / "out"
    async with parrot() as server:
        host = "http://api.example" if way.by_proxy else way.target(server.url)
        env = way.env(server.url)
        words = ("run", host, *SMALL, *way.options, "--keep-text", "--out", out)
        run = await loadgen(*words, out=out, env=env)
        ended = [run]
        if name in PROBED:
            ended.append(await loadgen("probe", host, *way.options, out=out, env=env))
        ended.append(await loadgen(*words, "--dry-run", out=out, env=env))
        sent = [said(request.headers) for request in server.requests]
    assert run.code == 0, run.stderr
    assert any(CANARY in line or ENCODED in line for line in sent), "the key was never sent"
    assert {str(word) for word in run.table.outcome} >= {"ok", "http_error", "error_in_stream"}
    assert any("[redacted]" in str(text) for text in run.table.output_text)
    for command in ended:
        assert command.code == 0, command.stderr
        assert_unseen(shown(command))
    assert_unseen(texts_in(out))
    summary, recording = review(run.folder)
    assert_unseen((name, "".join(render(summary, recording, name))) for name in OUTPUTS)


@pytest.mark.parametrize("option", ["--api-key", "--api-key=", "--token", "--openai-api-key="])
async def test_a_key_on_the_command_line_is_refused_and_not_repeated(
    tmp_path: Path, option: str
) -> None:
    words = [option + CANARY] if option.endswith("=") else [option, CANARY]
    run = await loadgen("run", "http://127.0.0.1:9", *words, out=tmp_path)
    assert run.code == 2
    assert "OPENAI_API_KEY" in run.stderr
    assert_unseen(shown(run))


@pytest.mark.parametrize("debug", ["0", "1"])
def test_an_internal_errors_traceback_holds_no_key(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    debug: str,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    monkeypatch.setenv("LOADGEN_DEBUG", debug)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["loadgen", "run", "-H", f"x-api-key: {CANARY}"])

    def burst() -> int:
        raise RuntimeError(f"cannot use {CANARY!r} or Bearer {CANARY}")

    assert guarded(burst) == 1
    printed = capsys.readouterr()
    assert_unseen(iter([("stdout", printed.out), ("stderr", printed.err)]))
    assert ("Traceback" in printed.err) == (debug == "1")
    assert_unseen(texts_in(tmp_path))
