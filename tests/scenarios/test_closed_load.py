"""Closed loads as whole command lines: what was asked for is held, and nothing else is sent."""

import urllib.request
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from loadgen.mock.metronome.truthdump import Truth, read_truth
from loadgen.model.observed import ClientHealth
from loadgen.store.recording import read_recording
from tests.mock_process import MockProcess, start_mock
from tests.scenarios.command_lines import BARE, CHAT, Ended, answer, loadgen
from tests.scripted_server import STREAM_HEAD, ScriptedServer, Step, wait_for_hang_up

NEVER: list[Step] = [STREAM_HEAD, wait_for_hang_up]


def health_of(run: Ended, point: int = 0) -> ClientHealth:
    """How the only worker fared at a point."""
    (health,) = (h for h in read_recording(run.folder).health if h.point == point)
    return health


async def test_without_warmup_and_preflight_the_server_sees_exactly_the_asked_requests(
    tmp_path: Path,
) -> None:
    async with ScriptedServer(answer()) as server:
        run = await loadgen(
            "sweep", server.url, *BARE, "-c", "1,3", "-n", 7, "--out", tmp_path, out=tmp_path
        )
    assert run.code == 0, run.stderr
    assert [(r.method, r.path) for r in server.requests] == [("POST", CHAT)] * 14
    assert server.connections == 3
    assert len(run.table) == 14


async def test_256_at_once_are_open_at_once(tmp_path: Path) -> None:
    async with ScriptedServer(answer(2, ttft_s=1.5)) as server:
        run = await loadgen(
            "run", server.url, *BARE, "-c", 256, "-n", 256, "--out", tmp_path, out=tmp_path
        )
    assert run.code == 0, run.stderr
    assert server.most_at_once == 256
    assert health_of(run).in_flight_max == 256
    assert run.summary["points"][0]["concurrency"] == 256
    assert "concurrency_not_reached" not in run.findings


async def test_a_hard_limit_of_open_files_is_told_before_anything_is_sent(tmp_path: Path) -> None:
    limited = ("bash", "-c", 'ulimit -n 256; exec "$@"', "bash")
    async with ScriptedServer(answer()) as server:
        words = ("run", server.url, *BARE, "-c", 512, "-n", 512, "--out", tmp_path / "out")
        run = await loadgen(*words, out=tmp_path, prefix=limited)
    assert run.code == 2
    assert "512 connections need 576 open files, the limit is `256`" in run.stderr
    assert server.connections == 0
    assert not (tmp_path / "out").exists()


async def test_a_soft_limit_of_open_files_is_raised(tmp_path: Path) -> None:
    limited = ("bash", "-c", 'ulimit -Sn 128; exec "$@"', "bash")
    async with ScriptedServer(answer(2, ttft_s=1.0)) as server:
        words = ("run", server.url, *BARE, "-c", 200, "-n", 200, "--out", tmp_path)
        run = await loadgen(*words, out=tmp_path, prefix=limited)
    assert run.code == 0, run.stderr
    assert server.most_at_once == 200


@pytest.fixture
def metronome() -> MockProcess:
    return start_mock("metronome")


def truth_of(mock: MockProcess) -> Truth:
    with urllib.request.urlopen(f"{mock.url}/truth", timeout=10) as reply:
        return read_truth(reply.read())


async def test_a_closed_loop_of_2000_streams_holds_2000_in_flight(
    tmp_path: Path, metronome: MockProcess
) -> None:
    slow = '{"ttft_ms": 6000, "itl_ms": 100}'
    with metronome:
        words = ("run", metronome.url, *BARE, "--osl", 4, "-c", 2000, "-n", 2000)
        run = await loadgen(*words, "--extra-body", slow, "--out", tmp_path, out=tmp_path)
        truth = truth_of(metronome)
    assert run.code == 0, run.stderr
    assert health_of(run).in_flight_max == 2000
    assert set(run.table.outcome) == {"ok"}
    assert len(truth.requests) == 2000
    last_came_ns = max(request.received_ns for request in truth.requests)
    first_ended_ns = min(request.events[-1].after_ns for request in truth.requests)
    assert last_came_ns < first_ended_ns, "all 2,000 were at the server at one time"


PLAN = """
run_id: ignored
target: {{base_url: {url}, model: scripted}}
workload: {{isl: "16", osl: "8"}}
preflight: false
points:
  - {{index: 0, load: "closed:2", duration_ns: 1000000000, grace_ns: 500000000}}
  - {{index: 1, load: "closed:2", requests: 6}}
"""


async def test_a_request_that_never_ends_is_cut_after_the_grace_and_the_next_point_starts(
    tmp_path: Path,
) -> None:
    plan = tmp_path / "plan.yaml"
    out = tmp_path / "out"
    async with ScriptedServer(answer(), NEVER, answer(itl_s=0.02)) as server:
        plan.write_text(PLAN.format(url=server.url), encoding="utf-8")
        run = await loadgen("sweep", "--config", plan, "--out", out, out=out, within_s=30)
    assert run.code == 0, run.stderr
    first, second = run.summary["points"]
    assert first["counts"]["outcomes"]["unfinished"] == 1
    assert first["counts"]["issued"] == sum(first["counts"]["outcomes"].values())
    assert "grace" in first["stop_reason"] or "duration" in first["stop_reason"]
    assert second["counts"]["outcomes"] == {"ok": 6}
    assert server.hang_ups == 1
    assert 1.4e9 < health_of(run).ended_at_ns - health_of(run).started_at_ns < 4e9


async def test_every_point_lasts_its_duration_however_slow_the_first_was(tmp_path: Path) -> None:
    async with ScriptedServer(answer(2, ttft_s=0.4)) as server:
        words = ("sweep", server.url, *BARE, "-c", "1,8", "--duration", "1500ms")
        run = await loadgen(*words, "--out", tmp_path, out=tmp_path)
    assert run.code == 0, run.stderr
    for point in (0, 1):
        health = health_of(run, point)
        assert health.ended_at_ns - health.started_at_ns >= 1.5e9
        assert health.stop_reason == "duration"
    assert int((run.table.point == 1).sum()) >= 24


async def test_a_time_limit_costs_single_requests_and_is_told(tmp_path: Path) -> None:
    slow: list[Step] = answer(2, ttft_s=30.0)
    async with ScriptedServer(*[answer(itl_s=0.01)] * 9, slow) as server:
        words = ("run", server.url, *BARE, "-c", 1, "-n", 10, "--timeout", "1s")
        run = await loadgen(*words, "--out", tmp_path, out=tmp_path)
    assert run.code == 0, run.stderr
    assert run.summary["points"][0]["counts"]["outcomes"] == {"ok": 9, "timeout_total": 1}
    assert "1 request met a time limit" in run.findings["censored"]


async def test_without_a_limit_slow_answers_all_appear(tmp_path: Path) -> None:
    async with ScriptedServer(answer(3, ttft_s=1.0, itl_s=1.0)) as server:
        words = ("run", server.url, *BARE, "-c", 4, "-n", 4, "--out", tmp_path)
        run = await loadgen(*words, out=tmp_path)
    assert list(run.table.outcome) == ["ok"] * 4
    assert (run.table.done_at_ns - run.table.due_at_ns).min() >= 3e9


async def test_bodies_of_400_kb_are_built_before_the_clock_starts(tmp_path: Path) -> None:
    async with ScriptedServer(answer(8, ttft_s=1.0, itl_s=0.02)) as server:
        words = ("run", server.url, *BARE, "--isl", "100k", "-c", 16, "-n", 32)
        run = await loadgen(*words, "--out", tmp_path, out=tmp_path)
    assert run.code == 0, run.stderr
    table = run.table
    assert table.sent_bytes.min() > 400_000
    lag_ns = sorted((table.sent_at_ns - table.due_at_ns).tolist())
    assert lag_ns[len(lag_ns) // 2] < 50e6
    assert 1.0 <= run.summary["points"][0]["whole"]["ttft_s.p50"]["value"] < 1.1


async def test_texts_are_not_kept_unless_asked_and_every_request_has_its_row(
    tmp_path: Path,
) -> None:
    out, kept_out = tmp_path / "out", tmp_path / "kept"
    async with ScriptedServer(answer(3)) as server:
        words = ("run", server.url, *BARE, "-c", 16, "--out")
        run = await loadgen(*words, out, "-n", 1500, out=out)
        kept = await loadgen(*words, kept_out, "-n", 20, "--keep-text", out=kept_out)
    assert run.code == kept.code == 0, run.stderr + kept.stderr
    assert len(run.table) == 1500
    assert run.table.output_text.size == 0
    stored = pq.read_table(run.folder / "requests.parquet", columns=["output_text"])
    assert stored["output_text"].null_count == 1500
    assert all("w0" in str(text) for text in kept.table.output_text)
