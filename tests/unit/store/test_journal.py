"""Health, anchors and notes are lines that outlast a kill; a half-written one is left out."""

from pathlib import Path

from loadgen.model.observed import ClientHealth
from loadgen.model.plan import Anchor
from loadgen.store.folder import JOURNAL_FOLDER
from loadgen.store.journal import (
    Journal,
    append_anchor,
    append_health,
    append_note,
    read_journal,
)

HEALTH = ClientHealth(share=1, point=2, started_at_ns=3, ended_at_ns=4, loop_lag_p99_ns=None)
ANCHOR = Anchor("node", "boot", 10, 20)


def test_entries_of_all_shares_come_back(tmp_path: Path) -> None:
    append_anchor(tmp_path, 0, ANCHOR)
    append_health(tmp_path, 1, HEALTH)
    append_note(tmp_path, 1, "中🙂 \ud83d stopped")
    journal = read_journal(tmp_path)
    assert journal.health == (HEALTH,)
    assert journal.anchors == (ANCHOR,)
    assert [note.text for note in journal.notes] == ["中🙂 \ufffd stopped"]
    assert journal.notes[0].at_ns > 0


def test_a_cut_line_and_garbage_cost_no_other_line(tmp_path: Path) -> None:
    append_health(tmp_path, 0, HEALTH)
    append_anchor(tmp_path, 0, ANCHOR)
    append_health(tmp_path, 1, HEALTH)
    path = tmp_path / JOURNAL_FOLDER / "share-000.jsonl"
    whole = path.read_bytes()
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut] + b"\xff\x00" * (cut % 3))
        journal = read_journal(tmp_path)
        assert len(journal.health) in (1, 2)
        assert HEALTH in journal.health


def test_no_journal_is_an_empty_one(tmp_path: Path) -> None:
    assert read_journal(tmp_path) == Journal()
