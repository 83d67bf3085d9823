"""docs/definitions.md against the code: headings, the one-stream table, findings, outcomes."""

import re
from pathlib import Path

import pytest

from loadgen.analysis import METRICS, request_metrics, summarise
from loadgen.analysis.findings.table import POINT_RULES, RUN_RULES
from loadgen.analysis.gaps import icl_s
from loadgen.analysis.requests import Requests
from loadgen.model.exchange import Outcome
from tests.tables import call, recording, table

PAGE = (Path(__file__).parents[3] / "docs" / "definitions.md").read_text(encoding="utf-8")

ONE_STREAM = call(
    0,
    [
        (100, "o"), (120, "r"), (140, "r"), (200, "c"), (260, "c"), (320, "c"), (321, "o"),
        (330, "o"),
    ],
    sent=25, done=331, usage=8, first_byte=100,
)  # fmt: skip


def ms(value: float) -> str:
    return f"{value * 1000:.3g}"


def test_every_metric_has_a_heading_and_every_heading_a_metric() -> None:
    headings = re.findall(r"^### ([a-z0-9_]+)$", PAGE, re.MULTILINE)

    assert sorted(headings) == sorted(metric.name for metric in METRICS)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_heading_names_unit_and_what_is_better(metric: object) -> None:
    one = next(m for m in METRICS if m == metric)
    better = "" if one.better == "neither" else f", {one.better}"

    assert f"### {one.name}\n[{one.unit}{better}] " in PAGE


def test_our_row_of_the_one_stream_table_is_what_we_compute() -> None:
    figures = {k: float(v[0]) for k, v in request_metrics(table([ONE_STREAM])).items()}
    row = (
        f"| **loadgen** | {ms(figures['ttft_s'])} from due, {ms(figures['ttft_send_s'])} from send "
        f"| {ms(figures['ttfa_s'])} | {ms(figures['tpot_s'])} | {ms(figures['e2e_s'])} |"
    )

    assert row in PAGE
    assert PAGE.index("## One stream, many answers") < PAGE.index("\n## Instants")


def test_our_metrics_of_the_one_stream_are_what_we_compute() -> None:
    figures = {k: float(v[0]) for k, v in request_metrics(table([ONE_STREAM])).items()}
    gaps = icl_s(Requests(table([ONE_STREAM]))).values
    itl = summarise(recording([ONE_STREAM])).points[0].whole["itl_s.mean"].value

    for name, places in [
        ("ttfb_s", 3), ("ttft_s", 3), ("ttft_send_s", 3), ("ttfr_s", 3), ("ttfa_s", 3),
        ("e2e_s", 3), ("done_s", 3), ("tpot_s", 4), ("tpot_norm_s", 4), ("intvty_tps", 1),
        ("e2e_tps", 1), ("send_lag_s", 3),
    ]:  # fmt: skip
        assert f"`{name}` | {figures[name]:.{places}f}" in PAGE
    assert itl is not None
    assert f"`itl_s` mean | {itl:.4f}" in PAGE
    assert f"`icl_s` mean, max | {gaps.mean():.3f}, {gaps.max():.3f}" in PAGE


def test_every_finding_is_described_and_every_description_has_a_finding() -> None:
    described = re.findall(r"^\| `([a-z_]+)` \|", PAGE[PAGE.index("## Findings") :], re.MULTILINE)
    codes = [rule.code for rule in POINT_RULES] + [rule.code for rule in RUN_RULES]

    assert sorted(described) == sorted(codes)


def test_every_outcome_is_described() -> None:
    section = PAGE[PAGE.index("## Outcomes") : PAGE.index("## Window")]

    assert set(re.findall(r"`([a-z_]+)`", section)) >= {str(outcome) for outcome in Outcome}
