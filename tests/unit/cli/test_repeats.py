"""`--repeat`, `--vs` and `--like`: what is measured, and how it ends. The load is faked."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from loadgen.cli import run_line
from loadgen.model.plan import Plan
from loadgen.model.table import Recording
from loadgen.store.folder import RunFile, write_run_file
from tests.unit.cli.fakes import FakeRun

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def plans(fake_run: FakeRun, monkeypatch: pytest.MonkeyPatch) -> list[Plan]:
    """Every plan that is measured, in order."""
    seen: list[Plan] = []
    measure = fake_run.measure

    def watched(plan: Plan, *more: Any) -> Path:
        seen.append(plan)
        return measure(plan, *more)

    monkeypatch.setattr("loadgen.measure.measure", watched)
    return seen


def test_repeat_makes_the_same_run_so_often_each_with_a_salt_of_its_own(
    plans: list[Plan], tmp_path: Path, capsys: Capture
) -> None:
    line = ["sweep", "http://host", "-c", "1,2", "-q", "--repeat", "3", "--out", str(tmp_path)]
    assert run_line(line) == 0
    assert len(plans) == 3
    assert len({plan.run_id for plan in plans}) == len({plan.salt for plan in plans}) == 3
    assert len({(plan.seed, plan.points, plan.workload.sha256) for plan in plans}) == 1
    captured = capsys.readouterr()
    assert "run-to-run" in captured.out
    assert "loadgen compare --aa" in captured.out


def test_vs_takes_turns_between_both_targets_and_compares(
    plans: list[Plan], tmp_path: Path, capsys: Capture
) -> None:
    line = ["run", "http://old", "--vs", "http://new", "-c", "2", "--out", str(tmp_path)]
    assert run_line(line) == 0
    urls = [plan.target.base_url for plan in plans]
    old, new = "http://old", "http://new"
    assert urls == [old, new, new, old, old, new]
    captured = capsys.readouterr()
    assert "verdict" in captured.out
    assert "run 2 of 6 · new" in captured.err


def test_an_interrupted_run_is_the_last_one(
    fake_run: FakeRun, plans: list[Plan], tmp_path: Path, capsys: Capture
) -> None:
    fake_run.recording = _interrupted(fake_run.recording)
    line = ["run", "http://old", "-c", "2", "--repeat", "3", "--out", str(tmp_path)]
    assert run_line(line) == 130
    assert len(plans) == 1


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--repeat", "1"], "2 to 100"),
        (["--repeat", "101"], "2 to 100"),
        (["--repeat", "3", "--format", "csv"], "text, md, json"),
        (["--vs", "mock"], "did you mean `mock:`"),
    ],
)
def test_repetitions_that_can_not_be_are_refused_before_anything_is_sent(
    plans: list[Plan], capsys: Capture, more: list[str], words: str
) -> None:
    assert run_line(["run", "http://host", "-c", "2", *more]) == 2
    assert words in capsys.readouterr().err
    assert plans == []


@pytest.fixture
def earlier(fake_run: FakeRun, tmp_path: Path) -> Path:
    """A stored run of `run http://old -c 2 --requests 7 --seed 5`."""
    line = ["run", "http://old", "-m", "m", "-c", "2", "-n", "7", "--seed", "5", "-q"]
    assert run_line(line) == 0
    assert fake_run.plan is not None
    folder = tmp_path / "earlier"
    folder.mkdir()
    write_run_file(folder, RunFile(plan=fake_run.plan))
    return folder


def test_like_repeats_the_plan_with_a_name_and_salt_of_its_own(
    earlier: Path, plans: list[Plan], capsys: Capture
) -> None:
    capsys.readouterr()
    assert run_line(["run", "--like", str(earlier), "-q"]) == 0
    (plan,) = plans
    assert (plan.target.base_url, plan.target.model, plan.seed) == ("http://old", "m", 5)
    assert (plan.points[0].load, plan.points[0].requests) == ("closed:2", 7)
    assert plan.salt == plan.run_id
    assert "repeat" in capsys.readouterr().out


def test_like_may_go_to_another_target_but_not_to_one_of_the_environment(
    earlier: Path, plans: list[Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere")
    assert run_line(["run", "--like", str(earlier), "-q"]) == 0
    assert run_line(["run", "http://new", "--like", str(earlier), "-q"]) == 0
    assert [plan.target.base_url for plan in plans] == ["http://old", "http://new"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["-n", "8"], "points"),
        (["--seed", "6"], "seed"),
        (["-c", "3"], "leave the load away"),
        (["--isl", "99"], "workload"),
        (["--timeout", "3s"], "deadlines"),
        (["--no-stream"], "stream"),
        (["--config", "plan.yaml"], "--config"),
        (["--repeat", "3"], "--config"),
    ],
)
def test_what_would_change_the_plan_is_refused(
    earlier: Path, plans: list[Plan], capsys: Capture, more: list[str], words: str
) -> None:
    assert run_line(["run", "--like", str(earlier), *more]) == 2
    assert words in capsys.readouterr().err
    assert plans == []


def test_data_that_changed_since_is_an_input_that_can_not_be_used(
    earlier: Path, fake_run: FakeRun, plans: list[Plan], capsys: Capture
) -> None:
    assert fake_run.plan is not None
    workload = replace(fake_run.plan.workload, sha256="0123456789abcdef")
    write_run_file(earlier, RunFile(plan=replace(fake_run.plan, workload=workload)))
    assert run_line(["run", "--like", str(earlier)]) == 3
    assert "0123456789ab then" in capsys.readouterr().err
    assert plans == []


def test_what_is_no_run_exits_3(tmp_path: Path) -> None:
    assert run_line(["run", "--like", str(tmp_path)]) == 3


def test_a_mock_is_remembered_by_its_profile(earlier: Path, fake_run: FakeRun) -> None:
    from loadgen.cli.like import load_earlier

    assert fake_run.plan is not None
    assert load_earlier(str(earlier)).target == "http://old"
    plan = replace(fake_run.plan, target=replace(fake_run.plan.target, mock="small"))
    write_run_file(earlier, RunFile(plan=plan))
    assert load_earlier(str(earlier)).target == "mock:small"


def _interrupted(recording: Recording) -> Recording:
    import dataclasses

    return dataclasses.replace(recording, state="interrupted")
