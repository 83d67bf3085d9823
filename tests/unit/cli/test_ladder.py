"""`loadgen report RUN RUN --ladder` on stored runs."""

import json
from pathlib import Path

import pytest

from loadgen.cli import run_line
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
        (["--ladder"], 0),
        (["--targets", "40"], 0),
        (["--targets", "fast"], 2),
        (["--ladder", "--format", "html"], 2),
    ],
)
def test_the_exit_code_tells_whether_it_could_be_made(
    folder: str, more: list[str], code: int
) -> None:
    assert run_line(["report", folder, *more]) == code


def test_targets_and_gpus_of_the_command_line_count(folder: str, capsys: Capture) -> None:
    line = ["report", folder, folder, "--format", "json", "--targets", "60,40"]
    assert run_line([*line, "--gpus", "8", "--gpu-price", "2"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["target_tps"] for row in told["ladders"][0]["rows"]] == [40, 60]
    assert [run["gpus"] for run in told["runs"]] == ["8 GPUs", "8 GPUs"]
    assert [run["tier"] for run in told["runs"]] == ["declared", "declared"]


def test_below_several_runs_stands_the_ladder_of_all(folder: str, capsys: Capture) -> None:
    assert run_line(["report", folder, folder]) == 0
    page = capsys.readouterr().out
    assert page.count("frontier and ladder of 2 runs") == 1
    assert "left out: B " in page
    assert run_line(["report", folder]) == 0
    assert "frontier and ladder" not in capsys.readouterr().out


def test_what_is_no_run_exits_3(tmp_path: Path) -> None:
    assert run_line(["report", str(tmp_path), "--ladder"]) == 3
