"""`--system FILE` on a whole command line: declared in every output, held against what was seen."""

import json
from pathlib import Path

from tests.sweeps import finish, running

FAST = "model: {name: llama-3.1-8b}\ngpu: {name: H200}\n"  # 16 GB over 4.8 TB/s: 3.3 ms a token
SLOW = "model: {name: llama-3.1-405b}\ngpu: {name: H200}\ngpus_per_replica: 4\n"  # 42 ms, no room
OURS = {
    "impossible_times", "values_missing", "ttft_below_rtt", "ttft_below_floor", "tpot_below_floor",
    "above_compute_bound", "system_too_small", "ttft_uniform",
}  # fmt: skip


def swept(folder: Path, text: str) -> tuple[str, dict[str, dict[str, str]], dict[str, object]]:
    """Screen, our findings by code, and run.json of a sweep of the small mock (3.7 ms a token)."""
    system, out = folder / "system.yaml", folder / "out"
    system.write_text(text, encoding="utf-8")
    words = ["sweep", "mock:", "--system", system, "-c", "1,2,8", "--duration", "1s"]
    with running(*words, "--isl", 256, "--osl", 48, "--quiet", "--out", out) as process:
        done = finish(process, out)
    assert done.code == 0, done.stderr
    run = json.loads((done.folder / "run.json").read_text(encoding="utf-8"))
    found = {f["code"]: f for f in run["summary"]["findings"] if f["code"] in OURS}
    return done.stdout, found, run


def test_a_system_that_can_do_it_is_declared_and_doubted_by_nothing(tmp_path: Path) -> None:
    screen, found, run = swept(tmp_path, FAST)

    assert "declared: llama-3.1-8b · 8.03e9 params x 2 B · 1 x H200" in screen
    assert found == {}
    assert run["plan"]["system"]["gpu"]["bandwidth_tbps"] == 4.8  # type: ignore[index]
    assert "llama-3.1-8b" not in json.dumps(run["observed"])


def test_a_system_that_can_not_do_it_is_doubted_in_figures(tmp_path: Path) -> None:
    _, found, run = swept(tmp_path, SLOW)

    assert "6 are needed" in found["system_too_small"]["text"]
    assert run["summary"]["verdict"] != "valid"  # type: ignore[index]
    if run["summary"]["client_grade"] != "refuse":  # type: ignore[index]
        assert "405.9e9 params x 2 B over 4 x 4.8 TB/s" in found["tpot_below_floor"]["text"]


def test_a_system_file_that_is_wrong_stops_before_anything_is_sent(tmp_path: Path) -> None:
    system = tmp_path / "system.yaml"
    system.write_text("model: {name: llama-3.1-8b}\ngpu: {name: H2000}\n", encoding="utf-8")

    with running("run", "mock:", "--system", system, "--out", tmp_path / "out") as process:
        _, errors = process.communicate(timeout=60)

    assert process.returncode == 3
    assert f"`{system}` at `$.gpu.memory_gb`" in errors
    assert "H200" in errors
    assert not (tmp_path / "out").exists()
