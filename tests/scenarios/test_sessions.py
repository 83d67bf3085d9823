"""Sessions of several turns, and two workers where one would do: the same requests."""

from pathlib import Path

import pytest

from loadgen.store.recording import read_recording
from tests.scenarios.command_lines import BARE, answer, bodies, loadgen
from tests.scripted_server import ScriptedServer


@pytest.mark.parametrize("history", ["live", "recorded"])
async def test_later_turns_quote_the_history_that_was_chosen(tmp_path: Path, history: str) -> None:
    async with ScriptedServer(answer(4, itl_s=0.005)) as server:
        words = ("run", server.url, *BARE, "-c", 1, "-n", 2, "--turns", 3, "--history", history)
        run = await loadgen(*words, "--out", tmp_path, out=tmp_path)
    assert run.code == 0, run.stderr
    asked = [body["messages"] for body in bodies(server)]
    assert [len(messages) for messages in asked] == [1, 3, 5] * 2
    for first, second, third in (asked[:3], asked[3:]):
        assert second[:1] == first
        assert third[:3] == second
        quoted = [third[place]["content"] for place in (1, 3)]
        assert [third[place]["role"] for place in (1, 3)] == ["assistant"] * 2
        live = [text == " w0 w1 w2 end" for text in quoted]
        assert live == [history == "live"] * 2
    table = run.table
    assert table.turn_no.tolist() == [0, 1, 2] * 2
    assert len(set(table.session_id)) == 2
    waits = (table.due_at_ns[1:] - table.done_at_ns[:-1]).tolist()
    assert all(waits[place] >= 0 for place in (0, 1, 3, 4)), "a turn follows its predecessor"


async def test_two_workers_send_what_one_would_and_start_at_one_instant(tmp_path: Path) -> None:
    sent = []
    for workers in (1, 2):
        out = tmp_path / str(workers)
        async with ScriptedServer(answer(itl_s=0.002)) as server:
            words = ("sweep", server.url, *BARE, "--seed", 7, "--salt", "s", "-c", "2,4", "-n", 12)
            run = await loadgen(*words, "--workers", workers, "--out", out, out=out)
        assert run.code == 0, run.stderr
        sent.append(sorted(request.body for request in server.requests))
    assert len(sent[0]) == 24
    assert sent[0] == sent[1]
    assert len(set(sent[0])) == 24, "no prompt is sent twice"
    healths = read_recording(run.folder).health
    assert [(h.point, h.share, h.issued) for h in healths] == [
        (0, 0, 6),
        (0, 1, 6),
        (1, 0, 6),
        (1, 1, 6),
    ]
    for point in (0, 1):
        assert len({h.started_at_ns for h in healths if h.point == point}) == 1
    assert set(run.table.share) == {0, 1}


async def test_the_same_seed_and_salt_send_the_same_bytes_and_another_salt_others(
    tmp_path: Path,
) -> None:
    sent = []
    for salt in ("a", "a", "b"):
        async with ScriptedServer(answer()) as server:
            words = ("run", server.url, *BARE, "--salt", salt, "-c", 1, "-n", 4)
            run = await loadgen(*words, "--out", tmp_path, out=tmp_path)
        assert run.code == 0, run.stderr
        sent.append([request.body for request in server.requests])
    assert sent[0] == sent[1]
    assert not set(sent[0]) & set(sent[2])
