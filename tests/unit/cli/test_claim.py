"""`loadgen claim` and `audit --against` on a stored run: sentences, refusals, exit codes."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from loadgen import review
from loadgen.cli import run_line
from loadgen.model.measured import MeasuredRun
from tests.stored_records import record, start_run, write_segment
from tests.unit.audit.runs import run_of

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    made = start_run(tmp_path_factory.mktemp("runs"))
    write_segment(made, [[record(seq) for seq in range(40)]])
    return str(made)


def test_a_run_that_tells_too_little_is_refused_with_every_reason(
    folder: str, capsys: Capture
) -> None:
    assert run_line(["claim", folder]) == 6
    shown = capsys.readouterr()
    assert shown.out == ""
    for reason in ("gpu: not told", "engine version: not told", "--system: gpu", "--gpus N"):
        assert reason in shown.err


def test_json_tells_the_refusals_too(folder: str, capsys: Capture) -> None:
    assert run_line(["claim", folder, "--format", "json"]) == 6
    told = json.loads(capsys.readouterr().out)
    assert told["sentence"] == ""
    assert "gpu: not told" in [refusal["text"] for refusal in told["refused"]]


def test_a_system_file_tells_what_the_run_did_not(
    folder: str, tmp_path: Path, capsys: Capture
) -> None:
    system = tmp_path / "system.yaml"
    system.write_text(
        "model: {name: deepseek-v3}\ngpu: {name: H200}\ngpus_per_replica: 8\n"
        "precision: {weights: fp8}\nengine: {name: vllm, version: 0.32.0}\n"
    )
    assert run_line(["claim", folder, "--system", str(system)]) == 6
    shown = capsys.readouterr().err
    for field in ("gpu", "GPUs counted", "weight precision", "engine version", "model"):
        assert f"{field}: not told" not in shown
    assert run_line(["claim", folder, "--system", str(system), "--gpus", "4"]) == 2


@pytest.mark.parametrize(
    ("changes", "line", "code"),
    [
        ({}, [], 0),
        ({"summary": {"verdict": "invalid"}}, [], 7),
        ({"gpus": None}, ["--quantity", "per_gpu_total"], 6),
        ({}, ["--quantity", "speed"], 2),
        ({}, ["--format", "md"], 2),
    ],
)
def test_the_exit_code_is_the_answer(
    changes: dict[str, Any],
    line: list[str],
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    absent = ("GPUs counted",) if "gpus" in changes else ()

    def made(path: Path, *_: object) -> MeasuredRun:
        return structs.replace(run_of(absent, **changes), name=str(path))

    monkeypatch.setattr(review, "measured", made)
    assert run_line(["claim", "RUN", *line]) == code
    out = capsys.readouterr().out
    assert ("3,156 tok/s" in out) is (code == 0)
    assert max(map(len, out.splitlines()), default=0) <= 100


HEADLINE = """
id: mine
text: "3,000 tokens a second"
sources: [{id: s, locator: here}]
value: {num: 3000, quantity: aggregate_output}
facts: {model: {v: DeepSeek V4.1 Flash, status: stated}, hw: {v: {gpu: GB300}, status: stated}}
statements: [{rule: A10, rows: [{per_user_tps: 60, tps_per_gpu: 10}]}]
"""


def test_a_claim_stands_beside_the_run_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    asked: list[object] = []

    def made(path: Path, _: object, targets: object) -> MeasuredRun:
        asked.append(targets)
        return structs.replace(run_of(), name=str(path))

    monkeypatch.setattr(review, "measured", made)
    claim = tmp_path / "claim.yaml"
    claim.write_text(HEADLINE)
    assert run_line(["audit", str(claim), "--against", "RUN"]) == 0
    page = capsys.readouterr().out
    assert "headline                SUPPORTS" in page
    assert "claimed 3,000 tok/s; ours 3,156 tok/s (3,124 to 3,188) at c=32" in page
    assert max(map(len, page.splitlines())) <= 100
    assert asked == [[60.0]]
    assert run_line(["audit", str(claim), "--against", "RUN", "--format", "json"]) == 0
    (both,) = json.loads(capsys.readouterr().out)
    assert both["audit"]["claim_id"] == both["against"]["claim_id"] == "mine"
    assert both["against"]["figures"][0]["verdict"] == "supports"


def test_a_system_without_a_run_and_a_folder_that_is_none_are_refused(tmp_path: Path) -> None:
    claim = tmp_path / "claim.yaml"
    claim.write_text(HEADLINE)
    assert run_line(["audit", str(claim), "--gpus", "4"]) == 2
    assert run_line(["audit", str(claim), "--against", str(tmp_path)]) == 3


def test_the_claim_file_of_a_run_can_be_audited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(review, "measured", lambda *_: run_of())
    assert run_line(["claim", "RUN", "--format", "yaml"]) == 0
    file = tmp_path / "mine.yaml"
    file.write_text(capsys.readouterr().out)
    assert run_line(["audit", str(file), "--against", "RUN"]) == 0
    assert "headline                SUPPORTS" in capsys.readouterr().out
