"""`loadgen replay` and sweeps over recorded sessions: rules, what is changed, what is refused."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from loadgen.cli import run_line
from loadgen.cli.progress import format_status
from loadgen.cli.rules import RULES, rules_of
from loadgen.errors import UsageError
from loadgen.model.plan import Plan
from loadgen.workload.files import bundled_path
from tests.unit.cli.fakes import FakeRun, status_at

Capture = pytest.CaptureFixture[str]
TRACE = str(bundled_path("agentx") / "trace_0277.json")
REPLAY = ["replay", "http://host", "--traces", TRACE]


def planned(fake_run: FakeRun, *words: str) -> Plan:
    assert run_line(list(words)) == 0
    assert fake_run.plan is not None
    return fake_run.plan


def test_rule_sets_are_those_of_the_published_runs() -> None:
    published, mvp, smoke = RULES["agentx"], RULES["mvp"], RULES["smoke"]
    assert (published.duration_s, published.warmup_turns, published.seed) == (3600, 10, 42)
    assert (published.start_from_frac, published.start_until_frac) == (0.25, 0.75)
    assert (published.system_idle_s, published.tree_idle_s) == (10, 300)
    assert (published.error_limit_frac, published.coverage_frac) == (0.1, 0.95)
    assert (mvp.duration_s, mvp.warmup_turns, mvp.tree_idle_s) == (1800, 0, None)
    assert (mvp.start_from_frac, mvp.start_until_frac) == (0, 1)
    assert (smoke.duration_s, smoke.time_scale, smoke.warmup_turns) == (60, 0.01, 1)
    assert all(rules.name == name and not rules.deviations for name, rules in RULES.items())


def test_what_differs_from_the_named_rules_is_listed_and_nothing_else() -> None:
    rules = rules_of("agentx", {"duration_s": 900.0, "tree_idle_s": None, "seed": 42})
    assert rules.deviations == ("duration_s: 3600 -> 900", "tree_idle_s: 300 -> none")


def test_changes_add_up_over_an_earlier_plans_rules() -> None:
    before = rules_of("smoke", {"time_scale": 0.5})
    rules = rules_of(None, {"warmup_turns": 3}, before)
    assert (rules.name, rules.time_scale, rules.warmup_turns) == ("smoke", 0.5, 3)
    assert rules.deviations == ("time_scale: 0.01 -> 0.5", "warmup_turns: 1 -> 3")
    assert rules_of(None, {"time_scale": 0.01}, before).deviations == ()


@pytest.mark.parametrize(
    ("name", "changed", "said"),
    [
        ("fast", {}, "agentx, mvp, smoke"),
        (None, {"duration_s": 0.0}, "longer than nothing"),
        (None, {"start_from_frac": 0.8}, "0.8..0.75"),
        (None, {"start_until_frac": 1.5}, "0.25..1.5"),
        (None, {"time_scale": 0.0}, "above 0"),
        (None, {"time_scale": float("nan")}, "above 0"),
        (None, {"warmup_turns": -1}, "at least 0"),
        (None, {"max_context_tok": 0}, "at least 1"),
    ],
)
def test_rules_that_make_no_replay_are_refused(
    name: str | None, changed: dict[str, float], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        rules_of(name, changed)


def test_a_replay_has_lanes_rules_and_the_sessions_header(fake_run: FakeRun) -> None:
    plan = planned(fake_run, *REPLAY, "-c", "8", "--rules", "smoke", "--start", "0.1..0.2")
    assert plan.command == "replay"
    assert plan.workload.format == "agentx"
    assert [point.slots for point in plan.points] == [8]
    assert plan.points[0].duration_ns == 60_000_000_000
    assert plan.target.affinity == ("X-Correlation-ID",)
    assert plan.replay is not None
    assert plan.replay.deviations == ("start_from_frac: 0 -> 0.1", "start_until_frac: 0 -> 0.2")


def test_every_rule_can_be_changed_by_its_option(fake_run: FakeRun) -> None:
    words = "--duration 20m --system-idle none --tree-idle 1m --seed 7 --max-context 200000"
    words += " --time-scale 2 --warmup-turns 0"
    rules = planned(fake_run, *REPLAY, *words.split()).replay
    assert rules is not None
    assert set(rules.deviations) == {
        "duration_s: 3600 -> 1200",
        "system_idle_s: 10 -> none",
        "tree_idle_s: 300 -> 60",
        "seed: 42 -> 7",
        "max_context_tok: none -> 200000",
        "time_scale: 1 -> 2",
        "warmup_turns: 10 -> 0",
    }


def test_a_replay_of_nothing_named_takes_the_bundled_traces(fake_run: FakeRun) -> None:
    plan = planned(fake_run, "replay", "http://host")
    assert plan.workload.path == str(bundled_path("agentx"))
    assert [point.slots for point in plan.points] == [1]


def test_a_configured_replay_is_the_same_again(fake_run: FakeRun, tmp_path: Path) -> None:
    first = planned(fake_run, *REPLAY, "-c", "3", "--rules", "smoke", "--time-scale", "0.5")
    file = tmp_path / "run.json"
    file.write_bytes(msgspec.json.encode({"plan": first}))
    again = planned(fake_run, "replay", "--config", str(file))
    assert again.replay == first.replay
    assert again.points == first.points
    assert again.workload == first.workload
    changed = planned(fake_run, "replay", "--config", str(file), "-c", "1", "--duration", "30s")
    assert changed.replay is not None
    assert len(changed.replay.deviations) == 2
    assert changed.points[0].slots == 1


def test_a_sweep_over_recorded_sessions_has_a_point_a_concurrency(fake_run: FakeRun) -> None:
    words = ("sweep", "http://host", "--workload", f"agentx:path='{TRACE}'", "-c", "1,4")
    plan = planned(fake_run, *words, "--rules", "mvp", "--duration", "30s", "--between-points", ":")
    assert [point.slots for point in plan.points] == [1, 4]
    assert plan.between_points == ":"
    assert plan.replay is not None
    assert (plan.replay.name, plan.replay.deviations) == ("mvp", ("duration_s: 1800 -> 30",))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([*REPLAY, "--workload", "chat-1k-256"], "use --traces"),
        ([*REPLAY, "--requests", "5"], "use --duration"),
        ([*REPLAY, "-c", "0"], "at least 1"),
        ([*REPLAY, "--start", "early"], "0.25..0.75"),
        ([*REPLAY, "--rules", "quick"], "agentx, mvp, smoke"),
        (["replay", "http://host", "--traces", "nowhere.jsonl"], "nowhere.jsonl"),
        (["run", "http://host", "--workload", f"agentx:path='{TRACE}'"], "loadgen replay"),
        (["sweep", "http://host", "--rules", "smoke"], "--workload agentx"),
    ],
)
def test_what_makes_no_replay_is_refused_in_words(
    fake_run: FakeRun, capsys: Capture, words: list[str], said: str
) -> None:
    assert run_line(words) in {2, 3, 4}
    assert fake_run.plan is None
    assert said in capsys.readouterr().err


def test_the_built_in_server_has_room_for_recorded_sessions(
    fake_run: FakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def started(profile: str) -> Iterator[str]:
        yield f"http://127.0.0.1:1/{profile}"

    monkeypatch.setattr("loadgen.measure.mockserver.running_mock", started)
    assert planned(fake_run, "replay", "mock:").target.base_url.endswith("/gb200-node")
    assert planned(fake_run, "replay", "mock:small").target.base_url.endswith("/small")
    assert planned(fake_run, "sweep", "mock:", "-c", "1").target.base_url.endswith("/small")


def test_a_warm_up_shows_lanes_primers_flight_tokens_and_eta() -> None:
    status = status_at(
        phase="warm-up",
        sessions="8 lanes, 5 primers and 80 warm-up requests left",
        eta_s=4000.0,
    )
    assert format_status(status) == (
        "point 3/6 c=4 · warm-up 22/60 s · 4 in flight · 8 lanes, 5 primers and 80 warm-up requests"
        " left · 527 tok/s · TTFT p50 69 ms · 0 errors · client ok · ETA 66:40"
    )


def test_a_dry_run_of_a_replay_names_rules_and_traces(fake_run: FakeRun, capsys: Capture) -> None:
    assert run_line([*REPLAY, "--rules", "smoke", "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "smoke" in told
    assert "isl" not in told
    assert fake_run.plan is None


def test_traces_that_take_long_to_read_are_announced(
    fake_run: FakeRun, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned(fake_run, *REPLAY)
    assert "reading" not in capsys.readouterr().err
    monkeypatch.setattr("loadgen.cli.rules.LONG_READ_BYTES", 1)
    planned(fake_run, *REPLAY)
    assert "reading 0.0 GB of traces" in capsys.readouterr().err
    planned(fake_run, *REPLAY, "--quiet")
    assert "reading" not in capsys.readouterr().err
