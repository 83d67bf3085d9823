"""Servers that drift, step or stand still while a whole command line measures them."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.accuracy.sickness import CROWDED, SICKNESSES
from tests.scenarios.command_lines import MODEL, Ended, loadgen, text_event, usage_event
from tests.scripted_server import LAST_CHUNK, STREAM_HEAD, ScriptedServer, Talk, chunk

pytestmark = [pytest.mark.xdist_group("accuracy"), pytest.mark.slow]

SLOTS, TOKENS, GAP_S, LASTS_S = 8, 10, 0.012, 4
Law = Callable[[float], float]


def answering(law: Law) -> Callable[[Talk], Awaitable[None]]:
    """Answers whose tokens are `law(seconds since the first request)` times GAP_S apart."""
    began: list[float] = []

    async def answer(talk: Talk) -> None:
        began.append(time.monotonic())
        await talk.write(STREAM_HEAD)
        due = time.monotonic()
        for number in range(TOKENS):
            due += GAP_S * law(time.monotonic() - began[0])
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            last = number == TOKENS - 1
            await talk.write(text_event(f" w{number}", finish="stop" if last else None))
        await talk.write(usage_event(TOKENS) + chunk(b"data: [DONE]\n\n") + LAST_CHUNK)

    return answer


async def measured(law: Law, out: Path) -> Ended:
    """A closed load on one server under the law."""
    async with ScriptedServer([answering(law)]) as server:
        words = ("run", server.url, "-m", MODEL, "--no-preflight", "--warmup", "0", "--isl", "16")
        load = ("--osl", TOKENS, "--load", f"closed:{SLOTS}", "--duration", f"{LASTS_S}s")
        return await loadgen(*words, *load, "--workers", 1, "--out", out, "--quiet", out=out)


def doubts(run: Ended) -> set[str]:
    return {f["code"] for f in run.summary["findings"] if f["severity"] != "note"}


async def test_a_server_that_slows_down_all_along_is_told_as_drifting(tmp_path: Path) -> None:
    run = await measured(lambda at_s: 1.0 + at_s / LASTS_S, tmp_path)
    assert "drifting" in doubts(run), run.findings
    assert "drifting_up" in run.findings["drifting"]


async def test_a_server_that_steps_is_told_and_figures_are_of_its_first_level(
    tmp_path: Path,
) -> None:
    run = await measured(lambda at_s: 1.0 if at_s < LASTS_S / 2 else 1.8, tmp_path)
    assert "anomaly" in doubts(run), run.findings
    tpot_s = run.summary["points"][0]["measures"]["tpot_s.p50"]["value"]
    assert tpot_s is None or tpot_s < 1.3 * GAP_S


async def test_a_level_server_is_told_as_neither(tmp_path: Path) -> None:
    run = await measured(lambda _: 1.0, tmp_path)
    allowed = CROWDED if "host_contended" in run.findings else set()
    assert not doubts(run) - allowed, run.findings


async def test_a_server_that_stands_still_for_a_second_is_no_fault_of_the_client(
    tmp_path: Path,
) -> None:
    still_s = 1.0 / GAP_S
    run = await measured(lambda at_s: still_s if 1.9 < at_s < 1.92 else 1.0, tmp_path)
    assert not SICKNESSES & run.findings.keys(), run.findings
    assert run.summary["points"][0]["measures"]["itl_s.max"]["value"] > 0.5
