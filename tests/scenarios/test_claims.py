"""A run of the mock, the sentence that it supports, its own claim audited, and its ladder."""

import json
from pathlib import Path

import pytest

from loadgen.cli import run_line
from tests.sweeps import finish, running


def test_a_sweep_supports_a_sentence_a_claim_file_and_a_ladder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = ["sweep", "mock:", "-c", "1,8", "--duration", "2s", "--quiet"]
    with running(*words, "--isl", 64, "--osl", 16, "--gpus", 2, "--out", out) as process:
        done = finish(process, out)
    assert done.code == 0, done.stderr
    folder = str(done.folder)
    summary = json.loads((done.folder / "run.json").read_text("utf-8"))["summary"]

    code = run_line(["claim", folder])
    if summary["verdict"] == "invalid":  # a starved client: nothing may be said from it
        assert code == 7
        return
    assert code == 0
    sentence = " ".join(capsys.readouterr().out.split())
    assert "tok/s of output, all users together" in sentence
    assert "at 8 requests at once (closed:8)" in sentence
    assert "a simulation: it tells of no real system" in sentence

    assert run_line(["claim", folder, "--quantity", "per_gpu_total", "--format", "yaml"]) == 0
    claim = tmp_path / "mine.yaml"
    claim.write_text(capsys.readouterr().out)
    assert run_line(["audit", str(claim), "--against", folder, "--format", "json"]) == 0
    (both,) = json.loads(capsys.readouterr().out)
    assert both["audit"]["consistency"] != "contradiction"
    assert {held["verdict"] for held in both["against"]["figures"]} == {"does not bear"}

    line = ["report", folder, folder, "--targets", "1,200,9999", "--gpu-price", "3"]
    assert run_line([*line, "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)["ladders"][0]
    measured = [point["measures"] for point in summary["points"]]
    points = sorted((m["intvty_tps.p50"]["value"], m["total_tps"]["value"] / 2) for m in measured)
    edge = [p for p in points if not any(q[0] >= p[0] and q[1] >= p[1] and q != p for q in points)]
    found = {(p["user_tps"], p["total_tps"]) for p in told["points"] if not p["beaten_by"]}
    assert found == set(edge)
    (x0, y0), (x1, y1) = edge[0], edge[-1]
    for row in told["rows"]:
        if x0 <= row["target_tps"] <= x1 and len(edge) == 2:
            made = y0 + (y1 - y0) * (row["target_tps"] - x0) / (x1 - x0)
            assert row["total_tps"] == pytest.approx(made, rel=1e-9)
            assert row["usd_per_1m"] == pytest.approx(3e6 / (made * 3600), rel=1e-9)
        elif not x0 <= row["target_tps"] <= x1:
            assert row["total_tps"] is None
            assert "was measured that slow" in row["reason"] or "is that fast" in row["reason"]
