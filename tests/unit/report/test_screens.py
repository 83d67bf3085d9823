"""Screens and files byte for byte, and what must hold for any of them."""

import csv as csv_reader
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest

from loadgen.analysis import METRICS
from loadgen.analysis.disclosure.head import disclosure_of
from loadgen.model.observed import Observed
from loadgen.model.provenance import Provenance
from loadgen.model.summary import Counts, Finding, Headline, PointSummary, Summary
from loadgen.model.table import Recording
from loadgen.report import OUTPUTS
from loadgen.report.heading import engine_name
from tests.unit.report.examples import (
    FOLDER,
    SWEEP,
    figures,
    measure,
    plan_of,
    point_of,
    recording_of,
    replace_point,
    requests_table,
    sweep_summary,
    table_of,
)

GOLDEN = Path(__file__).parents[2] / "golden"
LOADS = [f"closed:{c}" for c, *_ in SWEEP]


def sweep() -> tuple[Summary, Recording]:
    summary, recording = sweep_summary(), recording_of(plan_of(LOADS))
    return replace_summary(summary, disclosure=disclosure_of(summary, recording)), recording


def priced_sweep() -> tuple[Summary, Recording]:
    summary = sweep_summary()
    points = tuple(priced(point, 2.31) for point in summary.points)
    prices = {"gpu_usd_per_h": 2.31, "gpus": 1.0}
    return summary_of([*points], headline=summary.headline, findings=summary.findings), (
        recording_of(plan_of(LOADS, prices=prices))
    )


def priced(point: PointSummary, usd_per_h: float) -> PointSummary:
    out_tps = point.measures["out_tps"].value or 1.0
    usd = usd_per_h / 3600 / out_tps * 1e6
    more = {
        "usd_per_1m_out": measure("usd_per_1m_out", "value", usd, 40),
        "usd_per_1m_total": measure("usd_per_1m_total", "value", usd / 5, 40),
    }
    return replace_point(point, measures=point.measures | more)


def one_point() -> tuple[Summary, Recording]:
    values = figures(16, 121.0, 1860.0, 120.0, 436) | {"stall_s.max": 0.21, "error_frac": 0.0}
    summary = summary_of([point_of(0, 16, values, 436)], headline=Headline(None, 0, None))
    return summary, recording_of(plan_of(["closed:16"]))


def summary_of(points: list[PointSummary], **changes: object) -> Summary:
    fields: dict[str, object] = {
        "run_id": "r1",
        "verdict": "valid",
        "client_grade": "B",
        "findings": (),
        "headline": Headline(),
        "state": "complete",
    }
    return Summary(points=tuple(points), **(fields | changes))  # type: ignore[arg-type]


def replace_summary(summary: Summary, **changes: object) -> Summary:
    return msgspec.structs.replace(summary, **changes)


def all_failed() -> tuple[Summary, Recording]:
    counts = Counts(200, {"http_error": 200}, errors_by_class={"http_error 500": 200})
    nothing: dict[str, float | None] = dict.fromkeys(figures(4, 1, 1, 1, 0))
    points = [point_of(i, c, nothing, 0, counts=counts) for i, c in enumerate((1, 4))]
    fatal = Finding("all_failed", "fatal", "no request ended well", "look at the server's log")
    table = table_of(1, point=[0], due_at_ns=[5], outcome=["http_error"], detail=["500 out\x1b[2J"])
    return (
        summary_of(points, verdict="invalid", findings=(fatal,)),
        recording_of(plan_of(["closed:1", "closed:4"]), table),
    )


def one_request() -> tuple[Summary, Recording]:
    values: dict[str, float | None] = dict.fromkeys(figures(1, 1, 1, 1, 1))
    return summary_of([point_of(0, 1, values, 1)]), recording_of(plan_of(["closed:1"]))


def nothing_at_all() -> tuple[Summary, Recording]:
    recording = recording_of(
        plan_of(LOADS),
        table_of(0),
        state="running_or_killed",
        in_flight_at_end=7,
        observed=Observed(),
        provenance=Provenance(),
        health=(),
        started_wall_ns=0,
    )
    return summary_of([], client_grade="", verdict="invalid"), recording


def interrupted() -> tuple[Summary, Recording]:
    summary = sweep_summary()
    points = [replace_point(point, measures={}, whole={}, window=None) for point in summary.points]
    return summary_of(points[:2]), recording_of(plan_of(LOADS), state="interrupted")


EXAMPLES: dict[str, Callable[[], tuple[Summary, Recording]]] = {
    "sweep": sweep,
    "priced_sweep": priced_sweep,
    "one_point": one_point,
    "all_failed": all_failed,
    "one_request": one_request,
    "nothing_at_all": nothing_at_all,
    "interrupted": interrupted,
}


def rendered(example: str, output: str) -> str:
    summary, recording = EXAMPLES[example]()
    return "".join(OUTPUTS[output](summary, recording))


@pytest.mark.parametrize("output", ["text", "md"])
@pytest.mark.parametrize("example", EXAMPLES)
def test_report_is_byte_exact(example: str, output: str) -> None:
    assert rendered(example, output) == (GOLDEN / f"{example}.{output}").read_text("utf-8")


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("example", EXAMPLES)
def test_no_control_character_leaves_any_output(example: str, output: str) -> None:
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", rendered(example, output))


@pytest.mark.parametrize("example", EXAMPLES)
def test_screen_fits_a_hundred_columns(example: str) -> None:
    lines = rendered(example, "text").splitlines()
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize("example", EXAMPLES)
def test_screen_ends_with_the_folder_and_the_command_that_prints_it(example: str) -> None:
    last = rendered(example, "text").splitlines()[-1]
    assert last.endswith(f"  loadgen report {FOLDER} --format json")


def test_table_too_wide_for_the_screen_continues_below() -> None:
    points = [
        priced(point_of(i, c, figures(c, 3.25, 123456.0, 88000.0, 740), 74000), 9.0)
        for i, c in enumerate((1024, 2048))
    ]
    prices = {"gpu_usd_per_h": 2.31, "gpus": 72.0}
    recording = recording_of(plan_of(["closed:1024", "closed:2048"], prices=prices))
    lines = list(OUTPUTS["text"](summary_of(points), recording))
    assert max(map(len, lines)) <= 101
    assert sum(line.lstrip().startswith("c ") for line in lines) == 2


def test_failures_come_before_the_verdict_when_nothing_ended_well() -> None:
    screen = rendered("all_failed", "text")
    assert screen.index("400 of 400 requests failed") < screen.index("INVALID")
    assert "http_error 500 (400)" in screen
    assert "500 out [2J" in screen


@pytest.mark.parametrize("output", ["text", "md"])
def test_issued_is_the_sum_of_the_endings_in_every_report(output: str) -> None:
    counts = Counts(100, {"ok": 80, "http_error": 10, "truncated": 10, "cancelled": 0})
    summary = summary_of([point_of(0, 1, {}, 100, counts=counts)])
    shown = "".join(OUTPUTS[output](summary, recording_of(plan_of(["closed:1"]))))
    assert "issued 100 = ok 80 + failed 20 + cancelled 0" in shown
    assert "20 of 100 requests failed" in shown


def test_percentiles_that_n_cannot_carry_say_what_they_need() -> None:
    screen = rendered("sweep", "text")
    row = next(line for line in screen.splitlines() if line.startswith("   1 "))
    assert row.count("n/a") == 5
    needed = "a p95 needs 27 more requests (c=1, about 51 s), a p99 267 (c=1, about 8 min)"
    assert needed in " ".join(screen.split())
    assert "--requests 299" in screen


def test_finding_that_the_footnote_tells_is_not_told_again() -> None:
    few = Finding("too_few", "note", "withheld: p95 at c=1")
    summary, recording = sweep()
    few_too = replace_summary(summary, findings=(*summary.findings, few))
    assert "withheld" not in "".join(OUTPUTS["text"](few_too, recording))
    assert "withheld" in "".join(OUTPUTS["json"](few_too, recording))
    enough = summary_of([point_of(0, 1, {}, 900)], findings=(few,))
    assert "withheld" in "".join(OUTPUTS["text"](enough, recording))


def test_reasons_of_absent_figures_are_told_once() -> None:
    points = []
    for i in range(3):
        absent = measure("tpot_s", "p50", None, 400, reason="answers were not streamed")
        points.append(replace_point(point_of(i, 2**i, {}, 400), measures={"tpot_s.p50": absent}))
    shown = "".join(OUTPUTS["text"](summary_of(points), recording_of(plan_of(LOADS[:3]))))
    assert shown.count("n/a: answers were not streamed") == 1


def test_verdict_gives_each_reason_two_lines_and_findings_give_the_whole() -> None:
    long = "word " * 40
    findings = (Finding("a", "doubt", long, point=0), Finding("a", "doubt", "else", point=1))
    points = [point_of(0, 1, {}, 5), point_of(1, 2, {}, 5)]
    reasons = (long, "else", "said by no finding")
    summary = summary_of(points, findings=findings, verdict="suspect", verdict_reasons=reasons)
    lines = "".join(OUTPUTS["text"](summary, recording_of(plan_of(LOADS[:2])))).splitlines()
    start = next(i for i, line in enumerate(lines) if "SUSPECT" in line)
    assert lines[start + 1].endswith("word")
    assert lines[start + 2].endswith("…")
    assert lines[start + 3].strip() == "said by no finding"
    assert "else" not in "".join(lines[start : start + 5])


def test_reason_of_two_lines_is_not_cut() -> None:
    summary = summary_of(
        [point_of(0, 1, {}, 5)], verdict="suspect", verdict_reasons=("word " * 25 + "end",)
    )
    shown = "".join(OUTPUTS["text"](summary, recording_of(plan_of(LOADS[:1]))))
    assert "…" not in shown
    assert "word end\n" in shown


def test_client_that_is_refused_has_a_grade_by_that_name() -> None:
    summary = summary_of([point_of(0, 1, {}, 5)], client_grade="refuse", verdict="invalid")
    shown = "".join(OUTPUTS["text"](summary, recording_of(plan_of(LOADS[:1]))))
    assert "INVALID       client grade: refuse\n" in shown


def test_label_stands_at_the_end_of_the_second_line() -> None:
    recording = recording_of(plan_of(LOADS[:1], label="night run"))
    second = "".join(OUTPUTS["text"](summary_of([point_of(0, 1, {}, 5)]), recording)).splitlines()[
        1
    ]
    assert second.endswith("seed 1 · label night run")


def test_version_that_the_mock_gives_is_that_of_the_engine_it_copies() -> None:
    seen = Observed(engine="loadgen mock", engine_version="0.32.0")
    assert engine_name(seen) == "loadgen mock (speaks as vLLM 0.32.0)"
    assert engine_name(Observed(engine="vLLM", engine_version="0.11.0")) == "vLLM 0.11.0"
    assert engine_name(Observed()) == ""


def test_one_point_shows_no_row_without_a_figure_and_says_why() -> None:
    absent = {"tls_s.p50": measure("tls_s", "p50", None, 0, reason="no TLS was spoken")}
    absent |= {"connect_s.p50": measure("connect_s", "p50", None, 0, reason="no TLS was spoken")}
    point = replace_point(point_of(0, 4, {"e2e_s.p50": 0.5}, 9), measures={})
    here = {"e2e_s.p50": measure("e2e_s", "p50", 0.5, 9)}
    summary = summary_of([replace_point(point, measures=here | absent)])
    shown = "".join(OUTPUTS["text"](summary, recording_of(plan_of(LOADS[:1]))))
    assert "n/a: tls_s, connect_s: no TLS was spoken" in shown
    assert shown.count("tls_s") == 1
    assert re.search(r"^  e2e ms +500 +9$", shown, re.MULTILINE)


@pytest.mark.parametrize("output", ["text", "md"])
def test_sweep_that_ended_after_its_first_point_still_shows_the_table(output: str) -> None:
    summary = summary_of([point_of(0, 1, figures(1, 142.0, 138.0, 61.0, 32), 32)])
    shown = "".join(OUTPUTS[output](summary, recording_of(plan_of(LOADS), state="interrupted")))
    assert "slow p90" in shown
    assert "1 of 6 points" in shown


def test_long_intervals_keep_their_first_words_on_the_screen() -> None:
    words = "95 %, 15 batch means, " + "within this run, " * 8
    out = measure("out_tps", "value", 100.0, 40, low=90.0, high=110.0, interval=words)
    point = replace_point(point_of(0, 4, {}, 9), measures={"out_tps": out})
    lines = list(OUTPUTS["text"](summary_of([point]), recording_of(plan_of(LOADS[:1]))))
    assert "  out_tps  100 tok/s  90.0 .. 110.0 (95 %, 15 batch means)\n" in lines


def test_findings_are_ordered_by_gravity_and_drawn_together_by_code() -> None:
    findings = (
        Finding("slow", "note", "slow at first", point=0),
        Finding("bad", "fatal", "it broke"),
        Finding("slow", "note", "slow at second", point=1),
    )
    points = [point_of(0, 1, {}, 5), point_of(1, 2, {}, 5)]
    summary = summary_of(points, findings=findings, verdict="invalid")
    shown = "".join(OUTPUTS["text"](summary, recording_of(plan_of(LOADS[:2]))))
    assert shown.index("fatal         it broke") < shown.index("note          c=1: slow at first")
    assert "(also at c=2)" in shown
    assert "slow at second" not in shown


@pytest.mark.parametrize("example", EXAMPLES)
def test_json_is_strict_and_whole(example: str) -> None:
    def refuse(word: str) -> None:
        raise AssertionError(word)

    document = json.loads(rendered(example, "json"), parse_constant=refuse)
    assert {"summary", "plan", "observed", "provenance", "client_health"} <= set(document)


def test_json_turns_not_a_number_into_null() -> None:
    point = point_of(0, 1, {"out_tps": float("nan"), "ttft_s.p50": float("inf")}, 4)
    pieces = OUTPUTS["json"](summary_of([point]), recording_of(plan_of(LOADS[:1])))
    measures = json.loads("".join(pieces))["summary"]["points"][0]["measures"]
    assert measures["out_tps"]["value"] is None
    assert measures["ttft_s.p50"]["value"] is None


@pytest.mark.parametrize("example", EXAMPLES)
def test_csv_has_one_row_a_point(example: str) -> None:
    summary, _ = EXAMPLES[example]()
    rows = list(csv_reader.reader(io.StringIO(rendered(example, "csv"))))
    assert len(rows) == len(summary.points) + 1
    assert {len(row) for row in rows} == {len(rows[0])}


def test_csv_leaves_absent_figures_empty_and_names_units() -> None:
    rows = list(csv_reader.DictReader(io.StringIO(rendered("priced_sweep", "csv"))))
    assert rows[0]["ttft_s.p99"] == ""
    assert float(rows[-1]["ttft_s.p99"]) == pytest.approx(0.4452)
    assert float(rows[-1]["usd_per_1m_out"]) == pytest.approx(2.31 / 3600 / 3156 * 1e6)
    assert rows[0]["issued"] == "32"
    assert rows[-1]["whole.out_tps"] == "2890.0"


def jsonl_of(recording: Recording) -> list[dict[str, object]]:
    return [json.loads(line) for line in OUTPUTS["jsonl"](sweep_summary(), recording)]


def test_jsonl_has_every_request_with_its_metrics_counts_and_outcome() -> None:
    metrics = {"ttft_s": np.array([0.061, np.nan, 0.07])}
    good, refused, cut = jsonl_of(recording_of(plan_of(LOADS[:1]), request_metrics=metrics))
    assert good["ttft_s"] == 0.061
    assert refused["ttft_s"] is None
    assert refused["outcome"] == "refused"
    assert refused["detail"] == "connection refused"
    assert (good["reasoning_tok"], good["content_tok"], good["usage_cached_tok"]) == (1, 2, 0)
    assert cut["flags"] == ["usage_missing", "comments"]
    assert (cut["content_events"], cut["content_tok"], cut["tool_tok"]) == (1, None, 1)
    assert (refused["due_at_s"], refused["sent_at_s"]) == (1.0, None)
    assert refused["finish_reason"] is None


def test_jsonl_names_nothing_twice() -> None:
    shown = set(jsonl_of(recording_of(plan_of(LOADS[:1])))[0])
    assert not shown & {metric.name for metric in METRICS}


def test_jsonl_brings_kept_texts_and_leaves_them_out_otherwise() -> None:
    texts = ["hé 中 🙂", "", "cut"]
    base = requests_table()
    columns = {name: getattr(base, name) for name in base.__slots__}
    kept = recording_of(plan_of(LOADS[:1]), table_of(3, **(columns | {"output_text": texts})))
    assert [row["output_text"] for row in jsonl_of(kept)] == ["hé 中 🙂", None, "cut"]
    assert "output_text" not in jsonl_of(recording_of(plan_of(LOADS[:1])))[0]


def test_jsonl_streams_across_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadgen.report.jsonl.BATCH", 2)
    recording = recording_of(plan_of(LOADS[:1]))
    assert [row["seq"] for row in jsonl_of(recording)] == [0, 1, 2]


def test_output_is_added_by_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OUTPUTS, "verdict", lambda summary, recording: [summary.verdict, "\n"])
    assert rendered("sweep", "verdict") == "valid\n"
