"""`loadgen check` on a stored run: what it takes and how it ends."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from loadgen import review
from loadgen.cli import run_line
from loadgen.model.summary import Summary
from loadgen.model.table import Recording
from tests.stored_records import record, start_run, write_segment

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    made = start_run(tmp_path_factory.mktemp("runs"))
    write_segment(made, [[record(seq) for seq in range(40)]])
    return str(made)


@pytest.mark.parametrize(
    ("more", "code"),
    [
        (["--slo", "e2e.p50<1s"], 0),
        (["--slo", "e2e.p50<1ns"], 2),
        (["--slo", "e2e.p50<0"], 6),
        (["--slo", "e2e.p99<1s"], 6),
        (["--slo", "e2e.p99<1s", "--allow-unknown"], 0),
        (["--slo", "e2e.p50<1s", "--slo", "e2e.p50<0"], 6),
        (["--slo", "e2e.max<1s", "--sure"], 6),
        (["--slo", "e2e.p50<1s @c=2"], 6),
        (["--slo", "goodput_rps(e2e<1s)>=1"], 0),
        ([], 2),
        (["--max-regress", "3%"], 2),
        (["--slo", "e2e.p50<1s", "--format", "csv"], 2),
    ],
)
def test_the_exit_code_is_the_answer(folder: str, more: list[str], code: int) -> None:
    assert run_line(["check", folder, *more]) == code


def test_a_run_against_itself_has_too_few_requests_to_tell(folder: str, capsys: Capture) -> None:
    assert run_line(["check", folder, "--base", folder]) == 6
    captured = capsys.readouterr()
    assert "unknown" in captured.out
    assert "--allow-unknown" in captured.err
    assert run_line(["check", folder, "--base", folder, "--allow-unknown"]) == 0


def test_junit_and_annotations_are_written_also_where_gates_are_missed(
    folder: str, tmp_path: Path, capsys: Capture
) -> None:
    line = ["check", folder, "--slo", "e2e.p50<0", "--junit", str(tmp_path / "j.xml"), "--github"]
    assert run_line(line) == 6
    assert ElementTree.parse(tmp_path / "j.xml").getroot().attrib["failures"] == "1"
    captured = capsys.readouterr()
    assert "::error title=loadgen check::e2e.p50<0" in captured.out
    assert "1 of 1 gates missed" in captured.err


def test_what_is_no_run_exits_3(tmp_path: Path) -> None:
    assert run_line(["check", str(tmp_path), "--slo", "e2e.p50<1s"]) == 3


def test_an_invalid_run_exits_7_under_strict(
    folder: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    true = review.review

    def invalid(path: Path) -> tuple[Summary, Recording]:
        summary, recording = true(path)
        reasons = ("the clock jumped",)
        return replace(summary, verdict="invalid", verdict_reasons=reasons), recording

    monkeypatch.setattr(review, "review", invalid)
    line = ["check", folder, "--slo", "e2e.p50<1s"]
    assert run_line(line) == 0
    assert run_line([*line, "--strict"]) == 7
    assert "the clock jumped" in capsys.readouterr().err
