"""Open loads as whole command lines: due times are kept, and what was not reached is told."""

import asyncio
import json
import random
from itertools import islice, pairwise
from pathlib import Path

from loadgen.schedule.arrivals import Constant, Poisson
from loadgen.store.recording import read_recording
from loadgen.units import NS_PER_S
from tests.scenarios.command_lines import BARE, Ended, answer, loadgen
from tests.scripted_server import ScriptedServer, Step, Talk

N = 600


def started_at_ns(run: Ended) -> int:
    return min(health.started_at_ns for health in read_recording(run.folder).health)


async def test_a_poisson_load_keeps_the_instants_that_were_drawn(tmp_path: Path) -> None:
    async with ScriptedServer(answer(1)) as server:
        words = ("run", server.url, *BARE, "--load", "poisson:rate=200/s", "-n", N, "--seed", 5)
        run = await loadgen(*words, "--out", tmp_path, out=tmp_path)
    assert run.code == 0, run.stderr
    drawn = list(islice(Poisson(200.0).arrivals(random.Random("5/arrivals/0")), N))
    table = run.table
    assert (table.due_at_ns - started_at_ns(run)).tolist() == drawn
    sent = sorted(table.sent_at_ns.tolist())
    rate = (N - 1) * NS_PER_S / (sent[-1] - sent[0])
    assert abs(rate * (drawn[-1] - drawn[0]) / ((N - 1) * NS_PER_S) - 1) < 0.01
    gaps = [b - a for a, b in pairwise(drawn)]
    mean = sum(gaps) / len(gaps)
    variance = sum((gap - mean) ** 2 for gap in gaps) / len(gaps)
    assert abs(variance**0.5 / mean - 1) < 0.13, "exponential gaps: their deviation is their mean"
    lags_ns = sorted((table.sent_at_ns - table.due_at_ns).tolist())
    assert lags_ns[N // 2] < 5e6
    assert lags_ns[0] >= 0, "nothing leaves before it is due"


async def test_answers_that_end_together_cause_no_burst_of_sends(tmp_path: Path) -> None:
    released = asyncio.Event()

    async def hold(talk: Talk) -> None:
        if talk.server.most_at_once >= 64:
            released.set()
        await released.wait()

    steps: list[Step] = [hold, *answer(2)]
    async with ScriptedServer(steps) as server:
        words = ("run", server.url, *BARE, "--load", "constant:rate=50/s", "-n", 100)
        run = await loadgen(*words, "--out", tmp_path, out=tmp_path)
    assert run.code == 0, run.stderr
    due = run.table.due_at_ns - started_at_ns(run)
    assert due.tolist() == list(islice(Constant(50.0).arrivals(random.Random()), 100))
    sent = sorted(run.table.sent_at_ns.tolist())
    assert min(later - sent[place] for place, later in enumerate(sent[10:])) > 0.1e9


async def test_a_held_back_load_tells_both_latencies_and_what_it_delivered(tmp_path: Path) -> None:
    async with ScriptedServer(answer(6, ttft_s=0.05, itl_s=0.01)) as server:
        words = ("run", server.url, *BARE, "--load", "constant:rate=40/s", "-n", 80)
        run = await loadgen(*words, "--max-rate", "20/s", "--out", tmp_path, out=tmp_path)
    assert run.code == 0, run.stderr
    measures = run.summary["points"][0]["whole"]
    assert measures["ttft_s.max"]["value"] > measures["ttft_send_s.max"]["value"] + 0.5
    assert measures["send_lag_s.max"]["value"] > 0.5
    assert "--max-rate held" in run.findings["rate_ceiling_bit"]
    assert "requests/s sent at `constant:rate=40/s`" in run.findings["rate_not_reached"]
    lags_ns = (run.table.sent_at_ns - run.table.due_at_ns).tolist()
    assert sum(lag > 1e6 for lag in lags_ns) > 40
    drawn = list(islice(Constant(40.0).arrivals(random.Random()), 80))
    assert (run.table.due_at_ns - started_at_ns(run)).tolist() == drawn, "due times stay"


async def test_a_ceiling_that_is_never_met_is_not_told(tmp_path: Path) -> None:
    async with ScriptedServer(answer(3, itl_s=0.05)) as server:
        words = ("run", server.url, *BARE, "-c", 1, "-n", 5, "--max-rate", "1000/s")
        run = await loadgen(*words, "--out", tmp_path, out=tmp_path)
    assert run.code == 0, run.stderr
    assert "rate_ceiling_bit" not in run.findings


async def test_an_open_point_ends_when_its_last_request_was_sent_and_answered(
    tmp_path: Path,
) -> None:
    async with ScriptedServer(answer(2, ttft_s=1.0)) as server:
        words = ("run", server.url, *BARE, "--load", "constant:rate=150/s", "--duration", "2s")
        run = await loadgen(*words, "--out", tmp_path, out=tmp_path)
    assert run.code == 0, run.stderr
    assert set(run.table.outcome) == {"ok"}
    assert len(run.table) == len(server.requests)
    assert 298 <= len(run.table) <= 301
    (health,) = read_recording(run.folder).health
    assert health.ended_at_ns >= run.table.done_at_ns.max()
    assert server.most_at_once >= 140, "the server's second was waited for"


async def test_a_recorded_trace_keeps_its_own_times(tmp_path: Path) -> None:
    arrivals_ms = [400, 0, 100, 160]
    rows = [
        {"timestamp": 9000 + at, "input_length": 20, "output_length": 2, "hash_ids": [at]}
        for at in arrivals_ms
    ]
    trace = tmp_path / "trace.jsonl"
    trace.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    words = ("--load", "trace:speed=2", "--workload", f"mooncake:{trace}", "--workers", 2)
    async with ScriptedServer(answer(2)) as server:
        run = await loadgen("run", server.url, *BARE, *words, "--out", tmp_path, out=tmp_path)
    assert run.code == 0, run.stderr
    due = sorted((run.table.due_at_ns - started_at_ns(run)).tolist())
    assert due == [at * 500_000 for at in sorted(arrivals_ms)]
    assert "no_more_sessions" in {
        health.stop_reason for health in read_recording(run.folder).health
    }
