"""A run beside a server that tells of itself: checks agree; each fault has exactly its finding."""

import json
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from loadgen.analysis.findings import server
from tests.mock_process import MockProcess, start_mock
from tests.sweeps import finish, running

SERVER_CODES = {
    name for name, rule in vars(server).items() if callable(rule) and not name.startswith("_")
}
SHORT = ("--isl", 64, "--osl", 16, "--quiet", "--seed", 3)


def summary_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "run.json").read_text("utf-8"))["summary"]
    return found


def measured(url: str, out: Path, *words: object) -> tuple[dict[str, Any], Path, str]:
    """The summary of a run that must end well, its folder, and what it printed."""
    with running(*words, url, *SHORT, "--out", out) as process:
        done = finish(process, out)
    assert done.code == 0, done.stderr
    return summary_of(done.folder), done.folder, done.stdout


def codes(summary: dict[str, Any]) -> set[str]:
    """Codes of the doubts and notes about what the server tells, bounds left out."""
    found = {finding["code"] for finding in summary["findings"]} & SERVER_CODES
    return {code for code in found if not code.endswith("_bound")}


@contextmanager
def tenant(mock: MockProcess) -> Iterator[None]:
    """Somebody else who asks the server one thing after another."""
    ended = threading.Event()
    body = json.dumps(
        {"model": "mock-small", "max_tokens": 8, "messages": [{"role": "user", "content": "hi"}]}
    ).encode()

    def ask() -> None:
        while not ended.is_set():
            head = {"content-type": "application/json"}
            asked = urllib.request.Request(f"{mock.url}/v1/chat/completions", body, head)
            with urllib.request.urlopen(asked, timeout=10) as answer:
                answer.read()

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def test_a_sweep_that_the_servers_metrics_confirm_has_every_check_ok(tmp_path: Path) -> None:
    with start_mock() as mock:
        summary, folder, screen = measured(
            mock.url, tmp_path, "sweep", "-c", "1,4", "--duration", "6s"
        )

    checks = {(one["check"], one["point"]): one["verdict"] for one in summary["cross_checks"]}
    assert set(checks.values()) == {"ok"}, summary["cross_checks"]
    assert {name for name, _ in checks} == {
        "sole_tenant", "model", "output_tok", "input_tok", "ended", "in_flight", "ttft", "cached",
    }  # fmt: skip
    assert codes(summary) == set()
    assert "cross-checks: 14 ok" in screen
    kept = {path.name for path in (folder / "metrics").iterdir()}
    assert kept == {f"point-00{p}-{edge}-0.txt" for p in (0, 1) for edge in ("start", "end")}


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        ("counters_inflated:times=1.3", {"server_counts_differ"}),
        ("metrics_model:name=other", {"other_model_served"}),
        ("counters_reset:at_s=4", {"counter_reset"}),
        ("missing:path=/metrics,after_s=3", {"server_silent"}),
    ],
)
def test_each_fault_of_the_server_has_its_finding_and_no_other(
    fault: str, found: set[str], tmp_path: Path
) -> None:
    with start_mock("--fault", fault) as mock:
        summary, _, _ = measured(mock.url, tmp_path, "run", "-c", 2, "--duration", "6s")

    assert codes(summary) == found


def test_another_tenant_is_found_and_explains_all_the_rest(tmp_path: Path) -> None:
    with start_mock() as mock, tenant(mock):
        summary, _, _ = measured(mock.url, tmp_path, "run", "-c", 2, "--duration", "3s")

    assert codes(summary) == {"not_sole_tenant"}


def test_who_wants_no_metrics_read_gets_none(tmp_path: Path) -> None:
    with start_mock() as mock:
        words = ("run", "-c", 1, "-n", 3, "--metrics-url", "none")
        summary, folder, screen = measured(mock.url, tmp_path, *words)

    assert summary["server"] == []
    assert "by its own metrics" not in screen
    assert not (folder / "telemetry.parquet").exists()


def test_power_beside_the_load_gives_joules_of_the_same_window(tmp_path: Path) -> None:
    with start_mock() as mock:
        power = f"{mock.url}/dcgm/metrics"
        words = ("run", "-c", 2, "--duration", "7s", "--gpu-metrics-url", power, "--gpus", 1)
        summary, _, screen = measured(mock.url, tmp_path, *words)

    [energy] = summary["energy"]
    assert energy["source"] == "counter"
    assert 90 < energy["mean_w"] < 350, "between the profile's idle and busy power"
    rate = summary["points"][0]["measures"]["out_tps"]["value"]
    joules = summary["points"][0]["measures"]["j_per_out_tok"]["value"]
    assert joules == pytest.approx(energy["mean_w"] / rate)
    assert "J/out tok" in screen
    assert codes(summary) == set()
    assert "energy_withheld" not in {finding["code"] for finding in summary["findings"]}


@pytest.mark.parametrize(
    "fault", ["power_gap:at_s=4,lasts_s=4.5", "missing:path=/dcgm/metrics,after_s=5"]
)
def test_power_with_a_gap_or_a_dead_exporter_costs_the_energy_alone(
    fault: str, tmp_path: Path
) -> None:
    with start_mock("--fault", fault) as mock:
        power = f"{mock.url}/dcgm/metrics"
        words = ("run", "-c", 2, "--duration", "9s", "--gpu-metrics-url", power)
        summary, _, screen = measured(mock.url, tmp_path, *words)

    [energy] = summary["energy"]
    assert energy["joules"] is None
    found = {finding["code"]: finding["text"] for finding in summary["findings"]}
    assert "readings have a gap" in found["energy_withheld"]
    assert codes(summary) == set()
    assert "not measured" in screen
