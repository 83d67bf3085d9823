"""kill -9 of a part of a run, or of all of it, at a random moment: what was measured is kept."""

import asyncio
import json
import os
import random
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.command_lines import (
    BARE,
    Ended,
    Running,
    all_gone,
    answer,
    loadgen,
    members,
    processes,
    running,
)
from tests.scripted_server import ScriptedServer, Step, Talk, eventually

WORKER = "loadgen.measure.worker"
MOCK = "loadgen.mock"
SCRIBE = "loadgen.measure.scribe"
LOAD = ("-c", "8", "--duration", "60s", "--quiet")


def kill_parent(command: Running) -> None:
    os.kill(command.pid, signal.SIGKILL)


def kill_worker(command: Running) -> None:
    (worker,) = members(command.pid, WORKER)
    os.kill(worker, signal.SIGKILL)


def kill_scribe(command: Running) -> None:
    (scribe,) = members(command.pid, SCRIBE)
    os.kill(scribe, signal.SIGKILL)


def kill_group(command: Running) -> None:
    command.kill_all()


Kill = Callable[[Running], None]
KILLS: tuple[Kill, ...] = (kill_parent, kill_worker, kill_scribe, kill_group)


@dataclass
class Answered:
    """When each answer had been written to its end, seconds of the test's loop."""

    at_s: list[float] = field(default_factory=list)

    async def note(self, talk: Talk) -> None:
        self.at_s.append(asyncio.get_running_loop().time())

    def before(self, at_s: float) -> int:
        return sum(1 for done_s in self.at_s if done_s < at_s)


@dataclass(frozen=True)
class Killed:
    """A run of which something was killed."""

    run: Ended
    certain: int
    """Answers that had ended a second before the kill."""
    sent: int


async def killed_at_random(tmp_path: Path, kill: Kill, chance: random.Random) -> Killed:
    answered = Answered()
    steps: list[Step] = [*answer(5, itl_s=0.01), answered.note]
    async with (
        ScriptedServer(steps) as server,
        running("sweep", server.url, *BARE, *LOAD, "--out", tmp_path, out=tmp_path) as command,
    ):
        await eventually(lambda: len(answered.at_s) > 8)
        await asyncio.sleep(chance.uniform(0.0, 2.5))
        certain = answered.before(asyncio.get_running_loop().time() - 1.0)
        kill(command)
        run = await command.end(within_s=45)
        await all_gone(run.pid)
        return Killed(run, certain, len(server.requests))


async def assert_all_but_the_last_second_is_readable(killed: Killed) -> str:
    """The text report of what is left."""
    folder = killed.run.folder
    listed = await loadgen("report", folder, "--format", "jsonl", out=killed.run.out)
    assert listed.code == 0, listed.stderr
    assert listed.stderr == ""
    rows: list[dict[str, Any]] = [json.loads(line) for line in listed.stdout.splitlines()]
    good = [row for row in rows if row["outcome"] == "ok"]
    assert killed.certain <= len(good)
    assert len(rows) <= killed.sent + 8
    assert len({(row["point"], row["share"], row["seq"]) for row in rows}) == len(rows)
    shown = await loadgen("report", folder, out=killed.run.out)
    assert shown.code == 0, shown.stderr
    assert "Traceback" not in shown.stderr + killed.run.stderr
    return shown.stdout


@pytest.mark.parametrize("kill", KILLS)
async def test_after_a_kill_all_but_the_last_second_is_readable(tmp_path: Path, kill: Kill) -> None:
    killed = await killed_at_random(tmp_path, kill, random.Random(f"a kill: {kill.__name__}"))
    screen = await assert_all_but_the_last_second_is_readable(killed)
    if kill in (kill_parent, kill_group):
        assert killed.run.code == -signal.SIGKILL
        assert "still running or killed" in screen
    else:
        assert killed.run.code == 1, killed.run.stderr
        assert "a process of the run died" in screen
        assert "what was measured is kept" in killed.run.stderr or kill is kill_scribe
    if kill is kill_group:
        assert "requests in flight left no record" in screen
    if kill is kill_worker:
        assert "error: worker 0 ended on its own" in killed.run.stderr
    if kill is kill_scribe:
        assert "error: the process that writes the results has died" in killed.run.stderr


@pytest.mark.slow
@pytest.mark.parametrize("number", range(20))
async def test_twenty_kills_leave_all_but_the_last_second(tmp_path: Path, number: int) -> None:
    chance = random.Random(f"kill {number}")
    killed = await killed_at_random(tmp_path, KILLS[number % len(KILLS)], chance)
    await assert_all_but_the_last_second_is_readable(killed)


async def test_a_killed_run_leaves_no_built_in_server_behind(tmp_path: Path) -> None:
    async with running(
        "sweep", "mock:", "-c", "1", "--duration", "30s", "--out", tmp_path, out=tmp_path
    ) as command:
        await command.said("point 1/1")
        (mock,) = (p.pid for p in processes() if p.parent == command.pid and MOCK in p.words)
        kill_group(command)
        await command.end()
    await eventually(lambda: all(p.pid != mock for p in processes()))
