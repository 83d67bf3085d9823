"""Endpoints as they are met: missing routes, own certificates, proxies, cold engines, keys."""

import asyncio
import json
import ssl
from pathlib import Path

import pytest

from tests.real_servers import Certificates
from tests.scenarios.command_lines import (
    BARE,
    CHAT,
    MODEL,
    answer,
    bodies,
    by_route,
    event,
    loadgen,
    text_event,
    usage_event,
)
from tests.scripted_server import (
    LAST_CHUNK,
    STREAM_HEAD,
    ScriptedServer,
    Step,
    Talk,
    chunk,
    play,
    whole,
)

SMALL = ("--isl", "16", "--osl", "8", "--warmup", "0", "-c", "1", "-n", "4")
MODELS = [whole(json.dumps({"data": [{"id": "listed-model"}]}).encode())]
KNOWN = {"model", "messages", "stream", "stream_options", "max_tokens"}
DONE = chunk(b"data: [DONE]\n\n")


async def test_a_server_with_nothing_but_chat_is_measured_and_what_it_lacks_is_noted(
    tmp_path: Path,
) -> None:
    async with ScriptedServer(by_route(completions=answer(6, itl_s=0.002))) as server:
        run = await loadgen("run", server.url, "-m", MODEL, *SMALL, "--out", tmp_path, out=tmp_path)
    assert run.code == 0, run.stderr
    assert list(run.table.outcome) == ["ok"] * 4
    observed = json.loads((run.folder / "run.json").read_text(encoding="utf-8"))["observed"]
    assert observed["health_route"] is None
    assert observed["metrics_route"] is None
    assert any("/v1/models" in note for note in observed["notes"])
    assert {body["model"] for body in bodies(server)} == {MODEL}


def knowing(members: set[str]) -> ScriptedServer:
    """Chat alone, and 400 for a body with members that it doesn't know."""

    async def strict(talk: Talk) -> None:
        strange = sorted(set(json.loads(talk.request.body)) - members)
        refusal = whole(json.dumps({"error": {"message": f"unknown: {strange}"}}).encode(), 400)
        steps: list[Step] = [refusal] if strange else answer(6, itl_s=0.002)
        await play(talk, steps)

    return ScriptedServer(by_route(completions=[strict]))


@pytest.mark.parametrize("known", [KNOWN, KNOWN - {"stream_options"}])
async def test_the_run_asks_for_nothing_that_the_preflight_saw_refused(
    tmp_path: Path, known: set[str]
) -> None:
    async with knowing(known) as server:
        words = ("run", server.url, "-m", MODEL, *SMALL, "--no-ignore-eos")
        run = await loadgen(*words, "--out", tmp_path, out=tmp_path)
    assert run.code == 0, run.stderr
    assert list(run.table.outcome) == ["ok"] * 4
    posts = {r.path for r in server.requests if r.method == "POST"}
    assert posts - {CHAT} <= {"/tokenize", "/v1/tokenize", "/extras/tokenize/count"}


async def test_what_the_run_would_send_in_vain_is_refused_in_the_preflight(tmp_path: Path) -> None:
    async with knowing(KNOWN) as server:
        words = ("run", server.url, "-m", MODEL, *SMALL, "--ignore-eos")
        run = await loadgen(*words, "--out", tmp_path / "out", out=tmp_path)
    assert run.code == 4
    assert "unknown: ['ignore_eos', 'min_tokens']" in run.stderr
    assert '"ignore_eos":true' in run.stderr.partition("its members")[2]
    assert "--no-ignore-eos" in run.stderr
    assert not (tmp_path / "out").exists()


async def test_a_refused_preflight_shows_status_answer_and_the_body_sent(tmp_path: Path) -> None:
    refusal = whole(b'{"error":{"message":"no adapter of that name"}}', 422)
    async with ScriptedServer(by_route(completions=[refusal])) as server:
        run = await loadgen(
            "run", server.url, "-m", MODEL, *SMALL, "--out", tmp_path / "out", out=tmp_path
        )
    assert run.code == 4
    assert "status 422" in run.stderr
    assert "no adapter of that name" in run.stderr
    assert f'sent: {{"model":"{MODEL}"' in run.stderr
    assert not (tmp_path / "out").exists(), "nothing was measured, so nothing is left"


async def test_answers_shorter_than_asked_are_told_side_by_side(tmp_path: Path) -> None:
    async with ScriptedServer(answer(30, itl_s=0.001)) as server:
        words = ("run", server.url, *BARE, "--osl", 1024, "--no-ignore-eos", "-c", 1, "-n", 4)
        run = await loadgen(*words, "--out", tmp_path, out=tmp_path)
    assert run.code == 0, run.stderr
    told = run.findings["output_short"]
    assert "4 of 4 answers" in told
    assert "mean 30 of 1024 tokens" in told
    assert "--ignore-eos" in run.stdout
    assert "1,024" in run.stdout or "1024" in run.stdout


def tls_server(certificates: Certificates) -> ScriptedServer:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.cert, certificates.key)
    steps = by_route(completions=answer(6, itl_s=0.002), models=MODELS)
    return ScriptedServer(steps, context=context)


async def test_an_own_certificate_is_trusted_by_its_ca_file_on_every_call(
    tmp_path: Path, certificates: Certificates
) -> None:
    async with tls_server(certificates) as server:
        words = ("run", server.url, *SMALL, "--ca", certificates.ca)
        run = await loadgen(*words, "--out", tmp_path, out=tmp_path)
    assert run.code == 0, run.stderr
    assert list(run.table.outcome) == ["ok"] * 4
    assert "insecure" not in run.findings
    assert (run.table.conn_tls_done_at_ns > 0).any()


async def test_an_unverified_certificate_is_noted_in_the_result(
    tmp_path: Path, certificates: Certificates
) -> None:
    async with tls_server(certificates) as server:
        words = ("run", server.url, *SMALL, "--insecure")
        run = await loadgen(*words, "--out", tmp_path, out=tmp_path)
    assert run.code == 0, run.stderr
    assert "not verified" in run.findings["insecure"]


async def test_an_unknown_certificate_is_named_as_the_cause(
    tmp_path: Path, certificates: Certificates
) -> None:
    async with tls_server(certificates) as server:
        run = await loadgen("run", server.url, *SMALL, "--out", tmp_path, out=tmp_path)
    assert run.code == 4
    assert "certificate" in run.stderr
    assert "--ca" in run.stderr
    assert "--insecure" in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("way", ["proxied", "exempt", "ignored"])
async def test_proxies_of_the_environment_are_honoured_shown_and_can_be_ignored(
    tmp_path: Path, way: str
) -> None:
    async with (
        ScriptedServer(answer(6, itl_s=0.002)) as target,
        ScriptedServer(answer(6, itl_s=0.002)) as proxy,
    ):
        env = {"HTTP_PROXY": proxy.url, "NO_PROXY": "127.0.0.1" if way == "exempt" else "localhost"}
        more = ["--no-proxy"] if way == "ignored" else []
        words = ("run", target.url, *BARE, "-c", 1, "-n", 3, *more, "--out", tmp_path)
        run = await loadgen(*words, out=tmp_path, env=env)
    assert run.code == 0, run.stderr
    through = 3 if way == "proxied" else 0
    assert (len(proxy.requests), len(target.requests)) == (through, 3 - through)
    assert ("proxy_used" in run.findings) == (way == "proxied")
    assert (proxy.url in run.stdout) == (way == "proxied")


async def test_ready_means_that_one_real_answer_came_and_waiting_is_in_no_figure(
    tmp_path: Path,
) -> None:
    loop = asyncio.get_running_loop()
    ready_at = loop.time() + 4.0

    async def warm_up(talk: Talk) -> None:
        loading = [whole(b'{"error":"loading model"}', 503)]
        steps: list[Step] = [*loading] if loop.time() < ready_at else answer(6, itl_s=0.005)
        await play(talk, steps)

    async with ScriptedServer(by_route(completions=[warm_up], models=MODELS)) as server:
        run = await loadgen("run", server.url, *SMALL, "--out", tmp_path, out=tmp_path)
    assert run.code == 0, run.stderr
    assert list(run.table.outcome) == ["ok"] * 4
    assert {body["model"] for body in bodies(server)} == {"listed-model"}
    assert (run.table.done_at_ns - run.table.due_at_ns).max() < 2e9
    assert run.summary["points"][0]["counts"]["issued"] == 4


@pytest.mark.parametrize("way", ["usual", "named", "both", "header over both"])
async def test_a_key_reaches_every_call_by_its_precedence(tmp_path: Path, way: str) -> None:
    env = {"OPENAI_API_KEY": "key-of-the-usual-variable", "MY_KEY": "key-of-a-named-variable"}
    named = ["--api-key-env", "MY_KEY"]
    options = {
        "usual": [],
        "named": named,
        "both": named,
        "header over both": [*named, "-H", "Authorization: Bearer key-of-a-header"],
    }[way]
    if way == "named":
        del env["OPENAI_API_KEY"]
    wanted = {"usual": env.get("OPENAI_API_KEY"), "header over both": "key-of-a-header"}
    key = wanted.get(way, env["MY_KEY"])
    steps = by_route(completions=answer(6, itl_s=0.002), models=MODELS)
    async with ScriptedServer(steps) as server:
        words = ("run", server.url, *SMALL, *options, "--out", tmp_path)
        run = await loadgen(*words, out=tmp_path, env=env)
    assert run.code == 0, run.stderr
    assert "/v1/models" in {request.path for request in server.requests}
    assert {request.headers.get("authorization") for request in server.requests} == {
        f"Bearer {key}"
    }


async def test_a_named_variable_without_a_key_is_told_before_anything_is_sent(
    tmp_path: Path,
) -> None:
    async with ScriptedServer(answer()) as server:
        words = ("run", server.url, *BARE, "--api-key-env", "NO_SUCH_KEY", "--out", tmp_path)
        run = await loadgen(*words, out=tmp_path)
    assert run.code == 2
    assert "`NO_SUCH_KEY` is not set" in run.stderr
    assert server.requests == []


async def test_an_error_in_mid_stream_is_a_failure_though_the_status_was_200(
    tmp_path: Path,
) -> None:
    broken = [text_event("a"), event(error={"message": "engine died", "code": 500}), DONE]
    short = [text_event("a"), text_event("b", finish="stop"), usage_event(2), DONE]
    bad, good = (STREAM_HEAD + b"".join(parts) + LAST_CHUNK for parts in (broken, short))
    async with ScriptedServer([good], [bad], [good], [bad], [good]) as server:
        words = ("run", server.url, *BARE, "-c", 1, "-n", 4, "--error-limit", "60%")
        run = await loadgen(*words, "--out", tmp_path, out=tmp_path)
    assert run.code == 0, run.stderr
    counts = run.summary["points"][0]["counts"]
    assert counts["outcomes"] == {"ok": 2, "error_in_stream": 2}
    assert "engine died" in "".join(str(detail) for detail in run.table.detail)
