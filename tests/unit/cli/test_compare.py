"""`loadgen compare`: what it takes, what it refuses, how it ends. The runs are made up."""

import json
from pathlib import Path

import pytest

from loadgen import review
from loadgen.cli import run_line
from loadgen.model.comparison import ReviewedRun
from tests.reviewed import run

Capture = pytest.CaptureFixture[str]
TPS = {"slow": 80.0, "fast": 120.0, "same": 100.0, "level": 100.2}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folders that look like runs; each run's figure goes by its folder's name."""

    def reviewed(folder: Path) -> ReviewedRun:
        value = TPS[folder.name.partition("-")[0]]
        load = "closed:9" if folder.name.endswith("-nine") else "closed:1"
        return run({load: {"out_tps": (value, value * 0.995, value * 1.005)}}, str(folder))

    for name in ("slow", "fast", "same", "level", "slow-nine", "many/same", "many/level"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "run.json").write_text("{}", encoding="utf-8")
    (tmp_path / "empty").mkdir()
    monkeypatch.setattr(review, "reviewed", reviewed)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_faster_and_slower_are_told_and_end_well(place: Path, capsys: Capture) -> None:
    assert run_line(["compare", "same", "fast"]) == 0
    assert "faster in 1 (out_tps)" in capsys.readouterr().out
    assert run_line(["compare", "same", "slow"]) == 0


@pytest.mark.parametrize(
    ("new", "fail_on", "code"),
    [
        ("slow", "slower", 6),
        ("level", "slower", 0),
        ("fast", "slower", 0),
        ("level", "inconclusive", 0),
        ("slow", "inconclusive", 6),
    ],
)
def test_fail_on_decides_the_exit_code(place: Path, new: str, fail_on: str, code: int) -> None:
    assert run_line(["compare", "same", new, "--fail-on", fail_on]) == code


def test_a_side_may_be_a_list_or_a_folder_of_runs(place: Path, capsys: Capture) -> None:
    assert run_line(["compare", "same,level", "many", "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["base"] == ["same", "level"]
    assert sorted(told["new"]) == ["many/level", "many/same"]


def test_margin_and_metric_are_heard(place: Path, capsys: Capture) -> None:
    line = ["compare", "same", "fast", "--format", "json", "--metric", "out_tps"]
    assert run_line([*line, "--margin", "50%"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["figures"]
    assert (row["margin_frac"], row["verdict"]) == (0.5, "equivalent")
    assert run_line([*line, "--margin", "50%", "--margin", "out_tps=1%"]) == 0
    assert json.loads(capsys.readouterr().out)["figures"][0]["verdict"] == "faster"
    assert run_line([*line[:-1], "rps"]) == 3


def test_aa_shows_how_much_runs_of_one_thing_differ(place: Path, capsys: Capture) -> None:
    assert run_line(["compare", "--aa", "many", "same"]) == 0
    assert "run-to-run" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        (["same"], 2, "BASE and NEW"),
        (["same", "slow", "fast"], 2, "3 were named"),
        (["same", "slow-nine"], 3, "closed:9"),
        (["same", "empty"], 3, "empty"),
        (["same", "slow", "--metric", "ttft.p50"], 2, "did you mean `ttft_s.p50`"),
        (["same", "slow", "--margin", "0%"], 2, "above 0"),
        (["same", "slow", "--margin", "nonsense=3%"], 2, "nonsense"),
        (["same", "slow", "--fail-on", "faster"], 2, "slower or inconclusive"),
        (["same", "slow", "--format", "csv"], 2, "known: text, md, json"),
        (["--aa", "same"], 2, "--repeat"),
    ],
)
def test_what_can_not_be_is_refused_with_what_can(
    place: Path, capsys: Capture, line: list[str], code: int, words: str
) -> None:
    assert run_line(["compare", *line]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert words in captured.err


def test_a_folder_that_is_not_there_exits_3(tmp_path: Path, capsys: Capture) -> None:
    assert run_line(["compare", str(tmp_path / "a"), str(tmp_path / "b")]) == 3
    assert "no such folder" in capsys.readouterr().err
