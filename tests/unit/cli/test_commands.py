"""Whole command lines with the measuring wing faked: exit codes, streams, options, secrets."""

import io
import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from loadgen.cli import main, run_line
from loadgen.errors import EndpointError
from loadgen.model.observed import Observed
from loadgen.model.summary import Counts, Finding
from loadgen.report import OUTPUTS
from tests.unit.cli.fakes import FakeRun
from tests.unit.report.examples import recording_of, replace_point, sweep_summary, table_of

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
    assert run_line([*SWEEP, "--format", "html"]) == 2
    assert fake_run.plan is None
    assert "text, json, jsonl, csv, md" in capsys.readouterr().err


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
        ["report", "folder", "--format", "html"],
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


@pytest.mark.parametrize("option", ["--api-key", "--token", "--api-key=canary-1"])
def test_key_on_the_command_line_is_refused_with_a_hint(
    fake_run: FakeRun, capsys: Capture, option: str
) -> None:
    line = [*SWEEP, option] if "=" in option else [*SWEEP, option, "canary-1"]
    assert run_line(line) == 2
    shown = capsys.readouterr().err
    assert "canary-1" not in shown
    assert "OPENAI_API_KEY" in shown


def test_key_reaches_the_run_and_no_output(
    fake_run: FakeRun, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary-7f3a")
    echo = Finding("echo", "note", "the server said: bad key canary-7f3a", "not canary-7f3a")
    fake_run.summary = msgspec.structs.replace(fake_run.summary, findings=(echo,))
    for output in OUTPUTS:
        assert run_line([*SWEEP, "--format", output]) == 0
    captured = capsys.readouterr()
    assert fake_run.secrets == {"authorization": "Bearer canary-7f3a"}
    assert "canary-7f3a" not in captured.out + captured.err


def test_secret_header_is_sent_and_never_shown(
    fake_run: FakeRun, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = [*SWEEP, "--header", "Authorization: Bearer canary-9b"]
    monkeypatch.setattr(sys, "argv", ["loadgen", *line])
    fake_run.error = EndpointError("401: `Bearer canary-9b` is no key")
    assert run_line(line) == 4
    fake_run.error = None
    assert run_line([*line, "--format", "json"]) == 0
    captured = capsys.readouterr()
    assert fake_run.secrets == {"authorization": "Bearer canary-9b"}
    assert "canary-9b" not in captured.out + captured.err


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
    monkeypatch.setattr("loadgen.transport.probe.probe", _observe)
    assert run_line(["probe", "http://host"]) == 0
    lines = dict(
        re.split(r"  +", line, maxsplit=1) for line in capsys.readouterr().out.splitlines()
    )
    assert lines["engine"] == "vLLM 0.32.0"
    assert lines["round trip"] == "1.50 ms"
    assert lines["tokenize"] == "not seen"
    assert lines["notes"] == "no health route"


def test_probe_gives_strict_json(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadgen.transport.probe.probe", _observe)
    assert run_line(["probe", "http://host", "--format", "json"]) == 0
    seen = json.loads(capsys.readouterr().out)
    assert (seen["engine"], seen["max_model_len"]) == ("vLLM", None)


def test_reader_that_goes_away_ends_the_output_and_not_the_run(
    fake_run: FakeRun, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert run_line([*SWEEP, "-q", "--format", "json"]) == 0
    assert capsys.readouterr().err == ""


def test_main_exits_with_the_code(capsys: Capture) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == "loadgen 0.1.0\n"


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
