"""Whole command lines with the measuring wing faked: outputs, options, built-in server."""

import io
import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from loadgen.cli import run_line
from loadgen.model.observed import Observed
from loadgen.model.summary import Finding
from loadgen.report import OUTPUTS
from tests.unit.cli.fakes import FakeRun

Capture = pytest.CaptureFixture[str]
SWEEP = ["sweep", "http://host", "-c", "1,2"]


def test_sweep_prints_the_screen_and_keeps_the_reports(fake_run: FakeRun, capsys: Capture) -> None:
    assert run_line([*SWEEP, "--out", "here"]) == 0
    captured = capsys.readouterr()
    assert "single stream   142 tok/s" in captured.out
    assert "  loadgen report " in captured.out.splitlines()[-1]
    assert "point 3/6" in captured.err
    assert fake_run.out == Path("here")
    assert fake_run.written == ["here/run"]


def test_piped_output_holds_no_escape_byte_and_no_carriage_return(
    fake_run: FakeRun, capsys: Capture
) -> None:
    run_line(SWEEP)
    captured = capsys.readouterr()
    assert not re.search(r"[\x1b\r]", captured.out + captured.err)


def test_quiet_leaves_stderr_empty(fake_run: FakeRun, capsys: Capture) -> None:
    run_line([*SWEEP, "-q"])
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("output", OUTPUTS)
def test_every_format_can_be_asked_for(fake_run: FakeRun, capsys: Capture, output: str) -> None:
    assert run_line([*SWEEP, "-q", "--format", output]) == 0
    assert capsys.readouterr().out


def test_format_added_to_the_table_is_known_everywhere(
    fake_run: FakeRun, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(OUTPUTS, "verdict", lambda summary, recording: [summary.verdict])
    assert run_line([*SWEEP, "-q", "--format", "verdict"]) == 0
    assert run_line(["report", "folder", "--format", "verdict"]) == 0
    assert capsys.readouterr().out == "validvalid"


def test_unknown_format_is_refused_before_the_run(fake_run: FakeRun, capsys: Capture) -> None:
    assert run_line([*SWEEP, "--format", "pdf"]) == 2
    assert fake_run.plan is None
    assert "text, json, jsonl, csv, md" in capsys.readouterr().err


def test_plan_has_what_was_typed(fake_run: FakeRun) -> None:
    line = [*SWEEP, "--isl", "64", "--requests", "9", "-m", "mine", "-H", "X-A: b", "-H", "X-C: d"]
    assert run_line(line) == 0
    plan = fake_run.plan
    assert plan is not None
    assert [point.load for point in plan.points] == ["closed:1", "closed:2"]
    assert (plan.workload.isl, plan.points[0].requests, plan.target.model) == ("64", 9, "mine")
    assert plan.target.headers == {"X-A": "b", "X-C": "d"}
    assert plan.command == "sweep"


def test_sweep_without_list_measures_six_points(fake_run: FakeRun) -> None:
    run_line(["sweep", "http://host"])
    assert fake_run.plan is not None
    loads = [point.load for point in fake_run.plan.points]
    assert loads == [f"closed:{2**power}" for power in range(6)]


@pytest.mark.parametrize(
    ("typed", "load"),
    [
        ([], "closed:1"),
        (["-c", "16"], "closed:16"),
        (["--load", "poisson:rate=4/s"], "poisson:rate=4/s"),
    ],
)
def test_run_has_one_point_of_any_shape(fake_run: FakeRun, typed: list[str], load: str) -> None:
    assert run_line(["run", "http://host", *typed]) == 0
    assert fake_run.plan is not None
    assert [point.load for point in fake_run.plan.points] == [load]


def test_other_tools_names_mean_the_same(fake_run: FakeRun) -> None:
    line = ["sweep", "--base-url", "http://host", "--max-concurrency=4", "--num-prompts", "5"]
    assert run_line([*line, "--random-input-len", "10", "--warmup-requests", "0"]) == 0
    plan = fake_run.plan
    assert plan is not None
    assert plan.target.base_url == "http://host"
    assert [(p.load, p.requests, p.warmup_requests) for p in plan.points] == [("closed:4", 5, 0)]
    assert plan.workload.isl == "10"


def test_options_are_read_from_the_environment(
    fake_run: FakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://from-environment/v1")
    monkeypatch.setenv("LOADGEN_CONCURRENCY", "3")
    monkeypatch.setenv("LOADGEN_IGNORE_EOS", "0")
    monkeypatch.setenv("LOADGEN_ERROR_LIMIT", "50%")
    assert run_line(["sweep"]) == 0
    plan = fake_run.plan
    assert plan is not None
    assert plan.target.base_url == "http://from-environment/v1"
    assert [point.load for point in plan.points] == ["closed:3"]
    assert plan.workload.ignore_eos is False
    assert plan.error_limit_frac == 0.5


def test_typed_options_come_before_the_environment(
    fake_run: FakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://from-environment")
    monkeypatch.setenv("LOADGEN_SEED", "3")
    run_line([*SWEEP, "--seed", "4"])
    assert fake_run.plan is not None
    assert (fake_run.plan.seed, fake_run.plan.target.base_url) == (4, "http://host")


def test_dry_run_sends_nothing_and_says_what_it_would(fake_run: FakeRun, capsys: Capture) -> None:
    line = [*SWEEP, "--requests", "10", "--gpu-price", "2", "--gpus", "4", "--dry-run"]
    assert run_line(line) == 0
    assert fake_run.plan is None
    shown = capsys.readouterr().out
    assert "requests  23" in shown
    assert "23,552 in + 5,888 out at most" in shown
    assert "4 × $2 an hour" in shown


def test_dry_run_of_timed_points_tells_minutes_and_dollars(
    fake_run: FakeRun, capsys: Capture
) -> None:
    assert run_line([*SWEEP, "--duration", "15m", "--gpu-price", "2", "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert "minutes   30.0" in shown
    assert "$1.00 at 1 × $2 an hour" in shown


def test_report_writes_a_file(fake_run: FakeRun, tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "report.json"
    assert run_line(["report", "folder", "--format", "json", "--out", str(file)]) == 0
    assert json.loads(file.read_text("utf-8"))["summary"]["verdict"] == "valid"
    assert capsys.readouterr().out == ""


def test_report_prints_several_runs(fake_run: FakeRun, capsys: Capture) -> None:
    assert run_line(["report", "one", "two"]) == 0
    assert capsys.readouterr().out.count("loadgen 0.1.0 ·") == 2


@contextmanager
def _fake_mock(profile: str) -> Iterator[str]:
    yield f"http://127.0.0.1:1/{profile}"


def test_demo_sweeps_the_built_in_server_within_seconds(
    fake_run: FakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loadgen.measure.mockserver.running_mock", _fake_mock)
    assert run_line(["demo"]) == 0
    plan = fake_run.plan
    assert plan is not None
    assert plan.target.base_url == "http://127.0.0.1:1/small"
    assert plan.command == "demo"
    planned_ns = sum(point.duration_ns or 0 for point in plan.points)
    assert planned_ns <= 25_000_000_000


def test_mock_hands_its_arguments_on(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[str] = []

    def serve(argv: list[str]) -> int:
        given.extend(argv)
        return 2

    monkeypatch.setattr("loadgen.mock.main", serve)
    line = ["simulator", "--port", "8000", "--api-key", "its own", "--base-url", "x", "--help"]
    assert run_line(["mock", *line]) == 2
    assert given == line


def test_selftest_prints_what_it_measured(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def examine(streams: int, rate_eps: float, duration_ns: int, output: str) -> Iterator[str]:
        yield f"{streams} {rate_eps} {duration_ns} {output}\n"

    monkeypatch.setattr("loadgen.measure.selftest.selftest", examine)
    assert run_line(["selftest", "--streams", "8", "--duration", "2s"]) == 0
    assert capsys.readouterr().out == "8 100.0 2000000000 text\n"


@pytest.mark.parametrize(
    "words", ["--streams 0", "--rate 0", "--rate nan", "--duration 0", "--format xml"]
)
def test_selftest_of_nothing_is_refused(words: str) -> None:
    assert run_line(["selftest", *words.split()]) == 2


def test_mock_targets_start_the_named_profile(
    fake_run: FakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loadgen.measure.mockserver.running_mock", _fake_mock)
    assert run_line(["sweep", "mock:gb200-node", "-c", "1"]) == 0
    assert fake_run.plan is not None
    assert fake_run.plan.target.base_url == "http://127.0.0.1:1/gb200-node"


async def _observe(target: Any, secrets: Any) -> Observed:
    return Observed(
        engine="vLLM",
        engine_version="0.32.0",
        models=("m",),
        usage_streamed=True,
        buffered=False,
        rtt_ns=1_500_000,
        notes=("no health route",),
    )


def test_probe_lists_what_the_endpoint_is(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadgen.transport.probing.probe.probe", _observe)
    assert run_line(["probe", "http://host"]) == 0
    lines = dict(
        re.split(r"  +", line, maxsplit=1) for line in capsys.readouterr().out.splitlines()
    )
    assert lines["engine"] == "vLLM 0.32.0"
    assert lines["round trip"] == "1.50 ms"
    assert lines["tokenize"] == "not seen"
    assert lines["notes"] == "no health route"


def test_probe_gives_strict_json(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadgen.transport.probing.probe.probe", _observe)
    assert run_line(["probe", "http://host", "--format", "json"]) == 0
    seen = json.loads(capsys.readouterr().out)
    assert (seen["engine"], seen["max_model_len"]) == ("vLLM", None)


def test_stream_that_lacks_signs_gets_plainer_ones(
    fake_run: FakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    points = fake_run.summary.points
    echo = Finding("echo", "note", "a model named 中 🙂")
    fake_run.summary = msgspec.structs.replace(fake_run.summary, points=points, findings=(echo,))
    assert run_line([*SWEEP, "-q"]) == 0
    stream.flush()
    shown = raw.getvalue().decode("ascii")
    assert "3,156 tok/s +-32" in shown
    assert "a model named ? ?" in shown
