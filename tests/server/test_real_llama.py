"""Sweeps of a real llama.cpp server: counts, channels and connections as they were."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from loadgen.model.record import EventKind
from tests.real_servers import Server, llama_server
from tests.sweeps import (
    COUNTING,
    MIXED,
    OUTPUT_TOK,
    Finished,
    kinds_of,
    rows_of,
    sweep,
    watching,
    write_prompts,
)

COUNTERS = (
    "llamacpp:tokens_predicted_total",
    "llamacpp:prompt_tokens_total",
    "llamacpp:prompt_tokens_cached_total",
)
GAUGES = ("llamacpp:requests_processing", "llamacpp:requests_deferred")


@dataclass(frozen=True)
class Swept:
    run: Finished
    deltas: dict[str, float]


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Swept:
    """16 requests each at 1, 2, 4 and 8 users, against 4 slots."""
    folder = tmp_path_factory.mktemp("llama")
    prompts = write_prompts(folder / "count.jsonl", COUNTING)
    with llama_server(slots=4) as server:
        before = {name: server.metric(name) for name in COUNTERS}
        run = sweep(server, prompts, folder / "out", "-c", "1,2,4,8", "-n", 16)
        deltas = {name: server.metric(name) - before[name] for name in COUNTERS}
    return Swept(run, deltas)


def test_64_of_64_are_good_though_each_connection_is_closed(swept: Swept) -> None:
    assert swept.run.code == 0, swept.run.stderr
    table = swept.run.table
    assert list(table.outcome) == ["ok"] * 64
    assert [int((table.point == point).sum()) for point in range(4)] == [16] * 4
    kept = table.reused & (table.stale_reconnects == 0)
    assert not kept.any()


def test_streamed_tokens_equal_usage_and_the_servers_counters(swept: Swept) -> None:
    table = swept.run.table
    assert set(table.usage_output_tok) == {OUTPUT_TOK}
    assert set(table.finish_reason) == {"length"}
    text = table.event_kind != EventKind.OTHER
    assert int(text.sum()) == 64 * OUTPUT_TOK
    assert swept.deltas["llamacpp:tokens_predicted_total"] == 64 * OUTPUT_TOK
    read = sum(swept.deltas[name] for name in COUNTERS[1:])
    assert read == int(table.usage_input_tok.sum())


def test_the_servers_own_metrics_confirm_the_sweep(swept: Swept) -> None:
    checks = swept.run.checks
    exact = ("sole_tenant", "output_tok", "input_tok", "cached")
    assert {name: checks.get(name) for name in exact} == {name: {"ok"} for name in exact}
    assert "ended" not in checks, "llama.cpp doesn't count answers"


def test_the_server_ran_what_the_sweep_held_in_flight(tmp_path: Path) -> None:
    prompts = write_prompts(tmp_path / "count.jsonl", COUNTING)
    with (
        llama_server(slots=4) as server,
        watching(server, *GAUGES, every_s=0.005) as watched,
    ):
        run = sweep(server, prompts, tmp_path / "out", "-c", 8, "-n", 240)
    assert run.code == 0, run.stderr
    assert watched.peaks["llamacpp:requests_processing"] == 4
    assert 1 <= watched.peaks["llamacpp:requests_deferred"] <= 4


def test_the_report_says_what_was_measured(swept: Swept) -> None:
    assert "Traceback" not in swept.run.stderr
    for users in ("1", "2", "4", "8"):
        assert any(line.split()[:1] == [users] for line in swept.run.stdout.splitlines())


def test_tool_and_reasoning_streams_are_timed_in_their_channels(
    llama: Server, tmp_path: Path
) -> None:
    prompts = write_prompts(tmp_path / "mixed.jsonl", MIXED)
    run = sweep(llama, prompts, tmp_path / "out", "-c", "4", "-n", 16)
    assert run.code == 0, run.stderr
    table = run.table
    expected = {
        "row0": [EventKind.CONTENT],
        "row1": [EventKind.REASONING, EventKind.CONTENT],
        "row2": [EventKind.TOOL],
        "row3": [EventKind.CONTENT],
    }
    for prompt_id, channels in expected.items():
        rows = rows_of(table, prompt_id)
        assert len(rows) == 4
        for row in rows:
            assert list(dict.fromkeys(kinds_of(table, row))) == channels
    assert {int(table.tool_calls[row]) for row in rows_of(table, "row2")} == {1}
    assert {str(table.finish_reason[row]) for row in rows_of(table, "row2")} == {"tool_calls"}
    tokens = {p: {int(table.usage_output_tok[r]) for r in rows_of(table, p)} for p in expected}
    assert tokens == {"row0": {29}, "row1": {43}, "row2": {29}, "row3": {40}}
