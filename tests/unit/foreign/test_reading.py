"""What is taken from other tools' files, what is missing, and what is said of it."""

from pathlib import Path

import msgspec
import numpy as np
import pytest

from loadgen.foreign import read_foreign
from loadgen.model.record import EventKind
from loadgen.model.summary import Summary
from loadgen.model.table import ABSENT, Recording
from loadgen.report import OUTPUTS
from loadgen.review import render, review
from tests.unit.foreign_results import AIPERF, TOOLS, VLLM, VLLM_RATE, foreign_file

LOADS = {
    "vllm": ["closed:4"],
    "vllm-rate": ["poisson:rate=20/s"],
    "aiperf": ["closed:4"],
    "guidellm": ["closed:1", "closed:4"],
}
ISSUED = {"vllm": (16, 1), "vllm-rate": (16, 4), "aiperf": (16, 1), "guidellm": (20, 4)}
"""Requests measured, and how many of them failed."""


def seen(name: str, tmp_path: Path) -> tuple[Summary, Recording]:
    return review(foreign_file(name, tmp_path))


@pytest.mark.parametrize("name", TOOLS)
def test_a_file_becomes_a_run_with_its_loads_and_every_request(name: str, tmp_path: Path) -> None:
    summary, recording = seen(name, tmp_path)
    issued = sum(point.counts.issued for point in summary.points)
    ok = sum(point.counts.outcomes.get("ok", 0) for point in summary.points)

    assert [point.load for point in summary.points] == LOADS[name]
    assert (issued, issued - ok) == ISSUED[name]
    assert recording.plan.target.model == "mock-small"


@pytest.mark.parametrize("name", TOOLS)
def test_what_a_file_can_not_tell_is_absent_with_the_reason(name: str, tmp_path: Path) -> None:
    summary, recording = seen(name, tmp_path)
    assert recording.imported is not None

    for point in summary.points:
        for measure in [*point.measures.values(), *point.whole.values()]:
            if measure.name in recording.imported.lacks:
                assert measure.value is None
                assert "file doesn't tell" in measure.reason
    assert recording.imported.lacks


@pytest.mark.parametrize("name", TOOLS)
def test_the_verdict_says_that_nothing_vouches_for_the_client(name: str, tmp_path: Path) -> None:
    summary, _ = seen(name, tmp_path)
    finding = next(finding for finding in summary.findings if finding.code == "imported")

    assert summary.verdict == "suspect"
    assert "nothing vouches for its client" in finding.text
    assert "Missing: " in finding.text


@pytest.mark.parametrize("name", TOOLS)
@pytest.mark.parametrize("output", sorted(OUTPUTS))
def test_every_output_takes_an_imported_run(name: str, output: str, tmp_path: Path) -> None:
    summary, recording = seen(name, tmp_path)

    assert "mock-small" in "".join(render(summary, recording, output)) or output in {"csv", "jsonl"}


def test_lines_of_requests_hold_nothing_that_the_file_lacks(tmp_path: Path) -> None:
    summary, recording = seen("vllm", tmp_path)
    line = msgspec.json.decode("".join(render(summary, recording, "jsonl")).splitlines()[0])

    assert line["ttfa_s"] is None
    assert line["ttft_s"] is not None


def test_vllms_events_follow_ttft_and_gaps() -> None:
    told = msgspec.json.decode(VLLM.read_bytes())
    table = read_foreign(VLLM).table
    row = int(np.flatnonzero(table.session_id == "p0r3")[0])
    at = table.event_at_ns[table.event_start[row] : table.event_start[row + 1]]

    assert len(at) == 1 + len(told["itls"][3])
    assert (at[0] - table.sent_at_ns[row]) / 1e9 == pytest.approx(told["ttfts"][3])
    assert np.diff(at) / 1e9 == pytest.approx(told["itls"][3], abs=2e-9)
    assert (at[-1] - table.sent_at_ns[row]) / 1e9 == pytest.approx(told["latencies"][3])


def test_vllms_paced_requests_are_due_before_their_wait() -> None:
    told = msgspec.json.decode(VLLM_RATE.read_bytes())
    table = read_foreign(VLLM_RATE).table
    waits = (table.sent_at_ns - table.due_at_ns) / 1e9

    assert sorted(waits) == pytest.approx(sorted(told["queue_times"]), abs=2e-9)


def test_refusals_keep_their_status(tmp_path: Path) -> None:
    for name in TOOLS:
        table = seen(name, tmp_path)[1].table
        failed = table.outcome != "ok"
        assert set(table.http_status[failed].tolist()) == {503}
        assert set(table.outcome[failed]) == {"http_error"}


def test_aiperfs_warm_up_is_told_apart_and_due_is_the_credit() -> None:
    table = read_foreign(AIPERF).table

    assert int((table.phase == "warmup").sum()) == 2
    assert (table.due_at_ns < table.sent_at_ns).all()
    assert table.own_tok[table.outcome == "ok"].tolist() != (
        table.usage_output_tok[table.outcome == "ok"].tolist()
    )


def test_guidellms_events_lie_evenly_between_first_and_last(tmp_path: Path) -> None:
    table = seen("guidellm", tmp_path)[1].table
    at = table.event_at_ns[table.event_start[0] : table.event_start[1]]

    assert len(at) == 16
    assert np.ptp(np.diff(at)) <= 1
    assert (table.done_at_ns != ABSENT).all()


def test_the_summary_beside_aiperfs_file_leads_to_it() -> None:
    beside = read_foreign(AIPERF.with_name("profile_export_aiperf.json"))

    assert len(beside.table) == len(read_foreign(AIPERF).table)


def test_without_the_summary_the_load_is_what_was_seen_at_once(tmp_path: Path) -> None:
    path = tmp_path / "profile_export.jsonl"
    path.write_bytes(AIPERF.read_bytes())
    recording = read_foreign(path)

    assert recording.plan.points[0].load == "closed:4"
    assert recording.imported is not None
    assert recording.imported.printed == ({},)


def test_thinking_before_the_first_output_token_is_reasoning(tmp_path: Path) -> None:
    lines = AIPERF.read_text("utf-8").splitlines()
    line = msgspec.json.decode(lines[3])
    line["metrics"]["time_to_first_output_token"]["value"] += 10.0
    path = tmp_path / "profile_export.jsonl"
    path.write_bytes(msgspec.json.encode(line))
    table = read_foreign(path).table

    assert table.event_kind[0] == EventKind.REASONING
    assert table.event_kind[-1] == EventKind.CONTENT


def test_several_results_appended_to_one_file_are_several_points(tmp_path: Path) -> None:
    path = tmp_path / "appended.json"
    path.write_bytes(VLLM.read_bytes() + VLLM_RATE.read_bytes())
    summary, _ = review(path)

    assert [point.load for point in summary.points] == ["closed:4", "poisson:rate=20/s"]
