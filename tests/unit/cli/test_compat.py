"""`loadgen report --compat`: the rules and outputs that there are, over a stored run."""

import json
from pathlib import Path

import pytest

from loadgen.cli import run_line
from tests.stored_records import record, start_run, write_segment

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def run(tmp_path: Path) -> str:
    folder = start_run(tmp_path)
    write_segment(folder, [[record(seq) for seq in range(3)]])
    return str(folder)


def test_a_stored_run_is_read_by_the_rules_asked_for(run: str, capsys: Capture) -> None:
    assert run_line(["report", run, "--compat", "vllm"]) == 0
    words = capsys.readouterr().out.split()
    assert words[words.index("completed") : words.index("failed")] == ["completed", "3", "requests"]


def test_gpus_given_to_the_report_count(run: str, capsys: Capture) -> None:
    line = ["report", run, "--compat", "inferencex", "--gpus", "4", "--format", "json"]

    assert run_line(line) == 0
    (table,) = json.loads(capsys.readouterr().out)
    per_gpu = next(f for f in table["points"][0]["figures"] if f["name"] == "output_tput_per_gpu")
    assert per_gpu["value"] is not None


@pytest.mark.parametrize("more", [["--compat", "genai-perf"], ["--compat", "vllm", "-f", "jsonl"]])
def test_what_there_is_not_is_refused_with_what_there_is(
    run: str, capsys: Capture, more: list[str]
) -> None:
    assert run_line(["report", run, *more]) == 2
    assert "hint: known: " in capsys.readouterr().err
