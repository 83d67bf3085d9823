"""A real vLLM on the CPU: probed, swept, stopped and killed in mid-stream (make test-vllm)."""

import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from loadgen.model.observed import Observed
from loadgen.model.plan import TargetPlan
from loadgen.model.record import EventKind
from loadgen.transport.probing.probe import probe
from tests.real_servers import Server, nginx_proxy, vllm_server
from tests.sweeps import (
    COUNTING,
    MIXED,
    OUTPUT_TOK,
    Finished,
    ask,
    finish,
    kinds_of,
    rows_of,
    running,
    sweep,
    wait_for,
    watching,
    write_prompts,
)

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(300), pytest.mark.xdist_group("shared")]

FLAGS = (
    "--enable-auto-tool-choice",
    "--tool-call-parser=hermes",
    "--reasoning-parser=qwen3",
    "--enable-prompt-tokens-details",
    "--max-num-seqs=4",
)
RUNNING = "vllm:num_requests_running"
WAITING = "vllm:num_requests_waiting"
COUNTERS = ("vllm:generation_tokens_total", "vllm:prompt_tokens_total")
IDS = ("--extra-body", '{"return_token_ids":true}')


@pytest.fixture(scope="module")
def vllm() -> Iterator[Server]:
    """vLLM with tool and reasoning parsers that runs four requests at once."""
    with vllm_server(*FLAGS) as server:
        yield server


@dataclass(frozen=True)
class Swept:
    run: Finished
    deltas: dict[str, float]


@pytest.fixture(scope="module")
def swept(vllm: Server, tmp_path_factory: pytest.TempPathFactory) -> Swept:
    """16 requests each at 1, 2, 4 and 8 users, against 4 at once; llama.cpp's very prompts."""
    folder = tmp_path_factory.mktemp("vllm")
    prompts = write_prompts(folder / "count.jsonl", COUNTING)
    before = {name: vllm.metric(name) for name in COUNTERS}
    run = sweep(vllm, prompts, folder / "out", "-c", "1,2,4,8", "-n", 16, *IDS)
    deltas = {name: vllm.metric(name) - before[name] for name in COUNTERS}
    return Swept(run, deltas)


async def _probe_until_told(url: str, tries: int = 4) -> Observed:
    """The first probe that could tell about buffering, whatever it says of it."""
    target = TargetPlan(base_url=url, model="")
    seen = await probe(target, {})
    for _ in range(tries - 1):
        if seen.buffered is None:
            seen = await probe(target, {})
    return seen


async def test_probe_describes_vllm_rightly(vllm: Server) -> None:
    seen = await _probe_until_told(vllm.url)
    assert (seen.engine, seen.engine_version) == ("vLLM", "0.32.0")
    assert (seen.models, seen.max_model_len) == (("tiny",), 2048)
    assert seen.reasoning_field == "reasoning"
    assert (seen.usage_streamed, seen.usage_running) == (True, True)
    assert (seen.cached_tokens_reported, seen.token_ids) == (True, True)
    assert (seen.tokenize_route, seen.metrics_route) == ("/tokenize", "/metrics")
    assert (seen.buffered, seen.keep_alive, seen.done_marker) == (False, True, True)


async def test_probe_finds_nginx_that_buffers_before_vllm(vllm: Server) -> None:
    with nginx_proxy(vllm.url, buffering="on") as proxy:
        seen = await _probe_until_told(proxy.url, tries=8)
    if seen.buffered is None:
        pytest.skip(f"this machine is too busy to tell: {seen.notes}")
    assert (seen.engine, seen.buffered) == ("vLLM", True)


def test_streamed_tokens_equal_usage_and_the_servers_counters(swept: Swept) -> None:
    assert swept.run.code == 0, swept.run.stderr
    table = swept.run.table
    assert list(table.outcome) == ["ok"] * 64
    assert set(table.usage_output_tok) == {OUTPUT_TOK}
    assert set(table.own_tok) == {OUTPUT_TOK}
    assert set(table.own_tok_source) == {"token_ids"}
    assert swept.deltas["vllm:generation_tokens_total"] == 64 * OUTPUT_TOK
    assert swept.deltas["vllm:prompt_tokens_total"] == int(table.usage_input_tok.sum())


def test_the_servers_own_metrics_confirm_the_sweep(swept: Swept) -> None:
    checks = swept.run.checks
    exact = ("sole_tenant", "model", "output_tok", "input_tok", "ended", "cached")
    assert {name: checks.get(name) for name in exact} == {name: {"ok"} for name in exact}
    assert "fail" not in checks["ttft"]


def test_the_server_ran_what_the_sweep_held_in_flight(vllm: Server, tmp_path: Path) -> None:
    prompts = write_prompts(tmp_path / "count.jsonl", COUNTING)
    with watching(vllm, RUNNING, WAITING, every_s=0.02) as watched:
        run = sweep(vllm, prompts, tmp_path / "out", "-c", 8, "-n", 160)
    assert run.code == 0, run.stderr
    assert watched.peaks[RUNNING] == 4
    assert 1 <= watched.peaks[WAITING] <= 4


def test_connections_are_kept(swept: Swept) -> None:
    table = swept.run.table
    assert int((table.reused & (table.stale_reconnects == 0)).sum()) >= 64 - 8 - 4


def test_tool_and_reasoning_streams_are_timed_in_their_channels(
    vllm: Server, tmp_path: Path
) -> None:
    prompts = write_prompts(tmp_path / "mixed.jsonl", MIXED)
    run = sweep(vllm, prompts, tmp_path / "out", "-c", "4", "-n", 16)
    assert run.code == 0, run.stderr
    table = run.table
    # without a tag this parser takes all text for reasoning
    expected = {
        "row0": [EventKind.REASONING],
        "row1": [EventKind.REASONING, EventKind.CONTENT],
        "row2": [EventKind.TOOL],
        "row3": [EventKind.REASONING],
    }
    for prompt_id, channels in expected.items():
        rows = rows_of(table, prompt_id)
        assert len(rows) == 4
        for row in rows:
            assert list(dict.fromkeys(kinds_of(table, row))) == channels
    assert {int(table.tool_calls[row]) for row in rows_of(table, "row2")} == {1}
    tokens = {p: {int(table.usage_output_tok[r]) for r in rows_of(table, p)} for p in expected}
    assert tokens == {"row0": {29}, "row1": {43}, "row2": {29}, "row3": {40}}


def _terminate(server: Server) -> None:
    server.process.send_signal(signal.SIGTERM)


def _kill_engine(server: Server) -> None:
    """The processes below the API server, deepest first."""
    for pid in reversed(server.children()):
        if b"EngineCore" in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGKILL)
            return
    raise AssertionError("no engine process found")


@pytest.mark.xdist_group("ended")
@pytest.mark.parametrize("end", [_terminate, _kill_engine])
def test_a_server_that_ends_in_mid_stream_is_never_a_success(
    end: Callable[[Server], None], tmp_path: Path
) -> None:
    endless = ask("count please now", max_tokens=1900, min_tokens=1900, ignore_eos=True)
    prompts = write_prompts(tmp_path / "endless.jsonl", [endless])
    # an engine on a starved machine may die without a word to its streams: no wait without end
    fixed = ["-m", "tiny", "--no-preflight", "--warmup", 0, "--quiet", "--timeout-stall", "30s"]
    load = ["-c", 4, "-n", 100, "--workload", f"chat:{prompts}", "--out", tmp_path / "out"]
    with (
        vllm_server(*FLAGS) as server,
        running("sweep", server.url, *fixed, *load, *IDS) as process,
    ):
        wait_for(server, RUNNING, 4, process)
        end(server)
        run = finish(process, tmp_path / "out")
    table = run.table
    ok = table.outcome == "ok"
    assert set(table.own_tok[ok]) <= {1900}, "cut short and counted as a success"
    cut = [row for row in range(len(table)) if not ok[row] and table.http_status[row] == 200]
    assert cut  # those in flight, and any that a server that is ending still took
    seen = {str(table.outcome[row]) for row in cut}
    assert seen <= {"truncated", "error_in_stream", "timeout_stall"}
    assert run.code == 5, run.stdout
