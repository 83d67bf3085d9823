"""Replays seen from the server: the same bytes from any number of workers; how a replay ends."""

import asyncio
import re
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections import defaultdict
from pathlib import Path

from loadgen.model.table import Recording
from loadgen.store.recording import read_recording
from tests.scripted_server import (
    LAST_CHUNK,
    STREAM_HEAD,
    ScriptedServer,
    Step,
    chunk,
    eventually,
    wait_for_hang_up,
    whole,
)

TRACE = Path(__file__).parents[2] / "workloads" / "agentx" / "trace_0277.json"
TOKEN = b'{"choices":[{"index":0,"delta":{"content":"x"}}]}'
END = b'{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}'
MARK = re.compile(rb"\[rid:[0-9a-f]{12}\]")


def answered(pause_s: float) -> list[Step]:
    """A token at once, the end after the pause."""
    rest = chunk(b"data: %b\n\ndata: [DONE]\n\n" % END) + LAST_CHUNK
    return [STREAM_HEAD, chunk(b"data: %b\n\n" % TOKEN), (pause_s, rest)]


async def started(server: ScriptedServer, out: Path, *words: str) -> Process:
    command = [sys.executable, "-m", "loadgen", "replay", server.url, "-m", "m", "--no-preflight"]
    command += ["--traces", str(TRACE), "--rules", "smoke", "--warmup-turns", "0"]
    command += ["--time-scale", "0.0001", "--quiet", "--out", str(out), *words]
    return await asyncio.create_subprocess_exec(*command, stdout=DEVNULL, stderr=PIPE)


async def ended(run: Process) -> bool:
    """Whether it ends within a second."""
    try:
        await asyncio.wait_for(asyncio.shield(run.wait()), 1)
    except TimeoutError:
        return False
    return True


def recorded(out: Path) -> Recording:
    (folder,) = out.iterdir()
    return read_recording(folder)


async def bodies(out: Path, *words: str) -> dict[str, list[bytes]]:
    """What each stream of each session sent, in its order; sessions by point, lane and play."""
    async with ScriptedServer(answered(0.05)) as server:
        lanes = ("-c", "4", "--duration", "1s", "--start", "0.25..0.75")
        run = await started(server, out, *lanes, *words)
        _, told = await run.communicate()
        assert run.returncode == 0, told.decode()
        sent = defaultdict(list)
        for request in server.requests:
            _, _, stream = request.headers["x-correlation-id"].partition("-")
            sent[stream].append(request.body)
        return sent


def marks(sent: dict[str, list[bytes]]) -> set[bytes]:
    return {mark for all_of in sent.values() for body in all_of for mark in MARK.findall(body)}


async def test_four_workers_send_the_bytes_of_one_but_for_the_runs_mark(tmp_path: Path) -> None:
    one = await bodies(tmp_path / "1", "--workers", "1")
    four = await bodies(tmp_path / "4", "--workers", "4")
    for sent in (one, four):
        plays = {name.rpartition("-")[0] for name in sent}
        assert {f"0-{lane}-0" for lane in range(4)} <= plays
        assert len(marks(sent)) == len(plays)
    assert not marks(one) & marks(four)
    pairs = [
        pair
        for stream in one.keys() & four.keys()
        for pair in zip(one[stream], four[stream], strict=False)
    ]
    assert len(pairs) >= 20
    assert all(MARK.sub(b"", first) == MARK.sub(b"", second) for first, second in pairs)


async def test_too_many_failures_end_a_replay_early(tmp_path: Path) -> None:
    async with ScriptedServer([whole(b'{"error":"out of order"}', 500)]) as server:
        run = await started(server, tmp_path, "-c", "2", "--duration", "90s")
        _, told = await asyncio.wait_for(run.communicate(), 60)
        assert run.returncode == 5, told.decode()
    recording = recorded(tmp_path)
    assert recording.health[0].stop_reason == "error_limit"
    assert 20 <= len(recording.table) < 40


async def test_failures_of_one_worker_end_the_replay_of_all(tmp_path: Path) -> None:
    """The first lane's answer is good and slow, so its worker has nothing to judge by itself."""
    refused = [whole(b'{"error":"out of order"}', 500)]
    async with ScriptedServer(answered(5.0), refused) as server:
        run = await started(server, tmp_path, "-c", "2", "--workers", "2", "--duration", "90s")
        _, told = await asyncio.wait_for(run.communicate(), 60)
        assert run.returncode == 5, told.decode()
    recording = recorded(tmp_path)
    assert [health.stop_reason for health in recording.health] == ["error_limit"] * 2
    shares = list(recording.table.share)
    assert min(shares.count(0), shares.count(1)) < 20
    assert all(health.replay is not None for health in recording.health)


async def test_ctrl_c_follows_what_is_in_flight_to_its_end(tmp_path: Path) -> None:
    async with ScriptedServer(answered(2.0)) as server:
        run = await started(server, tmp_path, "-c", "2")
        await eventually(lambda: len(server.requests) == 2)
        run.send_signal(signal.SIGINT)
        await asyncio.wait_for(run.communicate(), 30)
        assert run.returncode == 130
        assert len(server.requests) == 2
    recording = recorded(tmp_path)
    assert recording.state == "interrupted"
    assert list(recording.table.outcome) == ["ok", "ok"]


async def test_a_second_ctrl_c_stops_at_once(tmp_path: Path) -> None:
    hanging: list[Step] = [STREAM_HEAD, chunk(b"data: %b\n\n" % TOKEN), wait_for_hang_up]
    async with ScriptedServer(hanging) as server:
        run = await started(server, tmp_path, "-c", "2")
        await eventually(lambda: len(server.requests) == 2)
        run.send_signal(signal.SIGINT)
        assert not await ended(run)
        run.send_signal(signal.SIGINT)
        await asyncio.wait_for(run.communicate(), 30)
        assert run.returncode == 130
    assert list(recorded(tmp_path).table.outcome) == ["cancelled", "cancelled"]
