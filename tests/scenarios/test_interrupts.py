"""Ctrl-C, Ctrl-C twice and SIGTERM in the middle of a sweep (field case L13)."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.command_lines import BARE, Ended, all_gone, answer, loadgen, running
from tests.scripted_server import STREAM_HEAD, ScriptedServer, Step, eventually, wait_for_hang_up

QUICK = 8
SWEEP = ("-c", "1,2,4", "-n", QUICK)
NEVER: list[Step] = [STREAM_HEAD, wait_for_hang_up]


def server_whose_third_point(lasts: list[Step]) -> ScriptedServer:
    """16 quick answers for the first two points, then these."""
    return ScriptedServer(*[answer()] * (2 * QUICK), lasts)


def points_of(run: Ended) -> list[dict[str, Any]]:
    points: list[dict[str, Any]] = run.summary["points"]
    return points


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_stopped_sweep_keeps_two_whole_points_and_marks_the_third(
    tmp_path: Path, number: signal.Signals
) -> None:
    async with (
        server_whose_third_point(answer(20, ttft_s=0.05, itl_s=0.05)) as server,
        running("sweep", server.url, *BARE, *SWEEP, "--out", tmp_path, out=tmp_path) as command,
    ):
        await eventually(lambda: len(server.requests) == 2 * QUICK + 4)
        if number == signal.SIGINT:
            command.press_ctrl_c()
        else:
            os.kill(command.pid, number)
        run = await command.end(within_s=30)
        await all_gone(run.pid)
    assert run.code == 130, run.stderr
    assert "Traceback" not in run.stderr
    assert "interrupted" in run.stderr
    first, second, third = points_of(run)
    assert [point["stop_reason"] for point in (first, second, third)] == [
        "requests",
        "requests",
        "interrupted",
    ]
    assert first["counts"]["outcomes"] == second["counts"]["outcomes"] == {"ok": QUICK}
    assert third["counts"]["outcomes"] == {"ok": 4}, "what was in flight was followed to its end"
    assert run.summary["state"] == "interrupted"
    assert "interrupted" in run.stdout
    users = [line.split()[0] for line in run.stdout.splitlines() if line.strip()]
    assert {"1", "2", "4"} <= set(users), "the report was printed, the third point with it"


async def test_a_second_ctrl_c_ends_at_once_and_counts_what_it_cancelled(tmp_path: Path) -> None:
    async with (
        server_whose_third_point(NEVER) as server,
        running("sweep", server.url, *BARE, *SWEEP, "--out", tmp_path, out=tmp_path) as command,
    ):
        await eventually(lambda: len(server.requests) == 2 * QUICK + 4)
        command.press_ctrl_c()
        with pytest.raises(TimeoutError):
            await eventually(lambda: server.hang_ups > 0, within_s=0.5)
        command.press_ctrl_c()
        run = await command.end(within_s=15)
        await all_gone(run.pid)
    assert run.code == 130, run.stderr
    assert "Traceback" not in run.stderr
    third = points_of(run)[2]["counts"]
    assert third["outcomes"] == {"cancelled": 4}
    assert third["issued"] == 4
    assert "cancelled 4" in run.stdout


async def test_finished_requests_are_on_disk_within_a_second(tmp_path: Path) -> None:
    async with (
        server_whose_third_point(NEVER) as server,
        running("sweep", server.url, *BARE, *SWEEP, "--out", tmp_path, out=tmp_path) as command,
    ):
        await eventually(lambda: len(server.requests) == 2 * QUICK + 4)
        await asyncio.sleep(1.0)
        shown = await loadgen("report", command.folder, "--format", "jsonl", out=tmp_path)
        assert command.process.returncode is None, "the run goes on"
    assert shown.code == 0, shown.stderr
    assert len(shown.stdout.splitlines()) == 2 * QUICK
