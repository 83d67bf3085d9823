"""Every exit code that a run, a report or a wrong word can end with, the load faked."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from loadgen.cli import main, run_line
from loadgen.errors import EndpointError
from loadgen.model.summary import Counts, Finding
from loadgen.report import OUTPUTS
from tests.unit.cli.fakes import FakeRun
from tests.unit.report.examples import recording_of, replace_point, sweep_summary, table_of

Capture = pytest.CaptureFixture[str]
SWEEP = ["sweep", "http://host", "-c", "1,2"]


def test_broken_writer_loses_neither_screen_nor_other_reports(
    fake_run: FakeRun, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(summary: Any, recording: Any) -> Iterator[str]:
        measures: dict[str, str] = {}
        yield measures["no such metric"]

    monkeypatch.setitem(OUTPUTS, "csv", broken)
    assert run_line([*SWEEP, "-q", "--format", "csv"]) == 1
    assert fake_run.written
    assert "no such metric" in capsys.readouterr().err


@pytest.mark.parametrize(
    "line",
    [
        ["sweep"],
        ["sweep", "http://host", "--zzz"],
        ["sweep", "http://host", "-c", "0"],
        ["sweep", "http://host", "--requests", "many"],
        ["sweep", "http://one", "--url", "http://two"],
        ["sweep", "http://host", "--no-preflight"],
        ["run", "http://host", "-c", "2", "--load", "closed:2"],
        ["run", "http://host", "--load", "closet:2"],
        ["probe", "http://host", "--format", "csv"],
        ["report"],
        ["report", "folder", "--format", "pdf"],
        ["sweep", "mock:no-such-profile"],
        ["nonsense"],
    ],
)
def test_wrong_usage_exits_2_with_an_error_in_our_manner(
    fake_run: FakeRun, capsys: Capture, line: list[str]
) -> None:
    assert run_line(line) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")


def test_missing_folder_exits_3(capsys: Capture, tmp_path: Path) -> None:
    assert run_line(["report", str(tmp_path / "none")]) == 3
    assert "hint: " in capsys.readouterr().err


def test_unwritable_output_file_exits_3(fake_run: FakeRun, tmp_path: Path) -> None:
    assert run_line(["report", "folder", "--out", str(tmp_path / "no" / "file")]) == 3


def test_unreachable_endpoint_exits_4_and_says_what_to_do(
    fake_run: FakeRun, capsys: Capture
) -> None:
    fake_run.error = EndpointError("cannot reach `http://host`: refused", "start a server there")
    assert run_line(SWEEP) == 4
    expected = "error: cannot reach `http://host`: refused\n\nhint: start a server there\n"
    assert capsys.readouterr().err == expected


def failing(outcomes: dict[str, int]) -> FakeRun:
    points = [
        replace_point(point, counts=Counts(sum(outcomes.values()), outcomes))
        for point in sweep_summary().points
    ]
    return FakeRun(summary=msgspec.structs.replace(sweep_summary(), points=tuple(points)))


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        ({"http_error": 10}, 5),
        ({"ok": 80, "truncated": 20}, 5),
        ({"ok": 95, "truncated": 5}, 0),
        ({"ok": 95, "cancelled": 50}, 0),
    ],
)
def test_share_of_failures_decides_about_exit_5(
    monkeypatch: pytest.MonkeyPatch, outcomes: dict[str, int], code: int
) -> None:
    failing(outcomes).install(monkeypatch)
    assert run_line([*SWEEP, "-q"]) == code


def test_run_without_a_single_token_exits_5(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeRun()
    table = table_of(1, point=[0], outcome=["ok"], due_at_ns=[1], content_chars=[0])
    fake.recording = recording_of(fake.recording.plan, table)
    fake.install(monkeypatch)
    assert run_line([*SWEEP, "-q"]) == 5


def test_invalid_result_exits_7_under_strict_only(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    fatal = Finding("client", "fatal", "the client was late")
    summary = msgspec.structs.replace(sweep_summary(), verdict="invalid", findings=(fatal,))
    FakeRun(summary=summary).install(monkeypatch)
    assert run_line([*SWEEP, "-q"]) == 0
    assert run_line([*SWEEP, "-q", "--strict"]) == 7
    assert "the client was late" in capsys.readouterr().err


def test_interrupted_run_is_shown_and_exits_130(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    fake = FakeRun()
    fake.recording = recording_of(fake.recording.plan, fake.recording.table, state="interrupted")
    fake.install(monkeypatch)
    assert run_line(SWEEP) == 130
    assert "interrupted: what was measured until then is shown" in capsys.readouterr().out


def test_interrupt_before_the_load_exits_130(fake_run: FakeRun, capsys: Capture) -> None:
    fake_run.error = KeyboardInterrupt()
    assert run_line(SWEEP) == 130
    assert capsys.readouterr().out == ""


def test_interrupt_while_the_result_is_read_names_the_folder(
    fake_run: FakeRun, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(folder: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("loadgen.review.review", interrupted)
    assert run_line([*SWEEP, "-q", "--out", "here"]) == 130
    assert "`loadgen report here/run`" in capsys.readouterr().err


def test_internal_error_exits_1_and_keeps_its_traceback_in_a_file(
    fake_run: FakeRun,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "canary-7f3a")
    fake_run.error = ZeroDivisionError("by canary-7f3a")
    assert run_line(SWEEP) == 1
    shown = capsys.readouterr().err
    (kept,) = tmp_path.iterdir()
    assert str(kept) in shown
    assert "Traceback" not in shown
    assert "ZeroDivisionError" in kept.read_text("utf-8")
    assert "canary-7f3a" not in shown + kept.read_text("utf-8")


def test_debug_mode_shows_the_traceback(
    fake_run: FakeRun, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOADGEN_DEBUG", "1")
    fake_run.error = ZeroDivisionError("by nothing")
    assert run_line(SWEEP) == 1
    assert "Traceback" in capsys.readouterr().err


def test_reader_that_goes_away_ends_the_output_and_not_the_run(
    fake_run: FakeRun, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert run_line([*SWEEP, "-q", "--format", "json"]) == 0
    assert capsys.readouterr().err == ""


def test_exit_code_survives_a_closed_stderr(
    fake_run: FakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_run.error = EndpointError("nobody there", "start it")
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        assert run_line(SWEEP) == 4


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["sweep", "mock:", "-c", "1,1"], "1 is named twice"),
        (["sweep", "mock"], "did you mean `mock:`?"),
        (["run", "small"], "did you mean `mock:small`?"),
        (["probe", "mock"], "did you mean `mock:`?"),
        (["run", "mock:", "--isl", "-5", "--dry-run"], "`-5`: a whole number from 1 was expected"),
        (["run", "mock:", "-l", "poisson"], "write `poisson:rate=4/s`"),
        (["run", "mock:", "-c", "x"], "a whole number was expected"),
        (["run", "mock:", "--extra-body", "[1"], "this is no JSON object"),
    ],
)
def test_wrong_words_are_refused_in_words_of_ours(
    words: list[str], said: str, capsys: Capture
) -> None:
    assert run_line(words) == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert "Input should" not in shown


def test_report_that_cannot_be_written_says_what_to_do(
    fake_run: FakeRun, capsys: Capture, tmp_path: Path
) -> None:
    assert run_line(["report", "run", "-o", str(tmp_path / "no" / "file")]) == 3
    shown = capsys.readouterr().err
    assert "no such file or directory" in shown
    assert "hint: name a file in a folder that is there" in shown


def test_dry_run_says_turns_and_workers(capsys: Capture) -> None:
    words = ["run", "mock:", "--dry-run", "--turns", "3", "-n", "5", "--workers", "2"]
    assert run_line(words) == 0
    shown = capsys.readouterr().out
    assert "3 turns a session" in shown
    assert "workers   2" in shown


def test_main_exits_with_the_code(capsys: Capture) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == "loadgen 0.1.0\n"
