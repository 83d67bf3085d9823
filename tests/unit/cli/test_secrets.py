"""A key reaches the run and nothing that is printed."""

import sys

import msgspec
import pytest

from loadgen.cli import run_line
from loadgen.errors import EndpointError
from loadgen.model.summary import Finding
from loadgen.report import OUTPUTS
from tests.unit.cli.fakes import FakeRun

Capture = pytest.CaptureFixture[str]
SWEEP = ["sweep", "http://host", "-c", "1,2"]


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
