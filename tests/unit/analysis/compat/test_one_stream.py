"""The one stream that opens docs/definitions.md, read by every rule set: the table's values."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from loadgen.analysis.compat import RULES, recompute
from loadgen.model.compat import CompatTable
from loadgen.model.observed import Observed
from tests.tables import call, recording

PAGE = (Path(__file__).parents[4] / "docs" / "definitions.md").read_text(encoding="utf-8")

ONE_STREAM = call(
    0,
    [
        (100, "o"), (120, "r"), (140, "r"), (200, "c"), (260, "c"), (320, "c"), (321, "o"),
        (330, "o"),
    ],
    sent=25, connect=(20, 24), done=331, usage=8, prompt=100, first_byte=100,
)  # fmt: skip
"""Due at 0, handed over at 20, first byte out at 25: the stream of the page's first table."""

ROWS = [
    # rules, server says, row of the page, names of TTFT, first answer, TPOT or ITL, end to end
    ("aiperf", "reasoning", "aiperf", "time_to_first_token.avg", "time_to_first_output_token.avg",
     ("inter_token_latency.avg",), "request_latency.avg"),
    ("guidellm", "reasoning", "guidellm", "time_to_first_token_ms.mean",
     "time_to_first_output_token_ms.mean",
     ("inter_token_latency_ms.mean", "time_per_output_token_ms.mean"), "request_latency.mean"),
    ("vllm", "reasoning", "vllm bench, server says `reasoning`", "mean_ttft_ms", "",
     ("mean_tpot_ms",), "mean_e2el_ms"),
    ("vllm", "reasoning_content", "vllm bench, server says `reasoning_content`", "mean_ttft_ms",
     "", ("mean_tpot_ms",), "mean_e2el_ms"),
    ("sglang", "reasoning", "sglang", "mean_ttft_ms", "", ("mean_tpot_ms",),
     "mean_e2e_latency_ms"),
    ("mlperf-endpoints", "reasoning", "MLPerf Endpoints", "ttft.avg", "", ("tpot.avg",),
     "latency.avg"),
]  # fmt: skip


def one_stream(rules: str, reasoning_field: str) -> CompatTable:
    seen = Observed(reasoning_field=reasoning_field)
    return recompute(rules, recording([ONE_STREAM], observed=seen, plan={"prices": {"gpus": 2.0}}))


def values_of(table: CompatTable) -> dict[str, float]:
    """By name, times in ms."""
    scale = {"s": 1000.0}
    return {
        figure.name: figure.value * scale.get(figure.unit, 1.0)
        for figure in table.points[0].figures
        if figure.value is not None
    }


@pytest.mark.parametrize(("rules", "field", "row", "ttft", "answer", "steps", "e2e"), ROWS)
def test_a_rule_set_reads_the_one_stream_as_the_page_says(
    rules: str, field: str, row: str, ttft: str, answer: str, steps: tuple[str, ...], e2e: str
) -> None:
    values = values_of(one_stream(rules, field))
    line = next(line for line in PAGE.splitlines() if line.startswith(f"| {row} |"))
    cells = [cell.strip() for cell in line.strip("|").split("|")][1:]

    assert cells[0] == f"{values[ttft]:.0f}"
    assert cells[1] == (f"{values[answer]:.0f}" if answer else "-")
    assert re.findall(r"[\d.]+", cells[2]) == [f"{values[step]:.1f}" for step in steps]
    assert cells[3] == f"{values[e2e]:.0f}"


def test_inferencex_reads_it_as_its_vllm_client_and_turns_round_each_statistic() -> None:
    table = one_stream("inferencex", "reasoning")
    values = {figure.name: figure.value for figure in table.points[0].figures}

    assert values["median_ttft"] == pytest.approx(0.100)
    assert values["median_e2el"] == pytest.approx(0.301)
    assert values["median_tpot"] == pytest.approx(0.201 / 7)
    assert values["p99_intvty"] == pytest.approx(7 / 0.201)
    assert values["output_tput_per_gpu"] == pytest.approx(8 / 0.301 / 2)
    assert values["tput_per_gpu"] == pytest.approx(108 / 0.301 / 2)


def test_vllm_takes_the_finish_event_for_a_gap_and_bundles_for_one() -> None:
    values = values_of(one_stream("vllm", "reasoning"))

    assert values["mean_itl_ms"] == pytest.approx((20 + 60 + 60 + 60 + 1) / 5)
    assert values["max_output_tokens_per_s"] == 6


def test_aiperf_pools_gaps_between_contents_only() -> None:
    values = values_of(one_stream("aiperf", "reasoning"))

    assert values["inter_chunk_latency.avg"] == pytest.approx(50)
    assert values["output_token_throughput_per_user.avg"] == pytest.approx(7 / 0.2)
    assert values["benchmark_duration"] == pytest.approx(300)


def test_a_connection_opened_ahead_starts_no_clock() -> None:
    ahead = replace(ONE_STREAM, due=10.0, sent=12.0, connect=(0.0, 1.0))
    table = recompute("vllm", recording([ahead]))

    found = next(f for f in table.points[0].figures if f.name == "mean_ttft_ms")
    assert found.value == pytest.approx(120 - 12)


@pytest.mark.parametrize("rules", sorted(RULES))
def test_every_figure_has_a_definition_and_every_absence_a_reason(rules: str) -> None:
    for figure in one_stream(rules, "reasoning").points[0].figures:
        assert figure.definition
        assert (figure.value is None) == bool(figure.reason), figure.name


def test_the_mlperf_shape_is_labelled_as_no_result() -> None:
    assert one_stream("mlperf-endpoints", "reasoning").label == "unverified, not an MLPerf result"


@pytest.mark.parametrize(
    ("after", "usage", "gaps"),
    [
        ([], 2, 1),  # the finish reason came with the text
        ([(130, "o")], 2, 1),  # one event: the usage
        ([(130, "o")], None, 2),  # no usage: the finish event
        ([(130, "o"), (140, "o")], 2, 2),  # finish event, then usage
    ],
)
def test_a_finish_event_is_told_from_the_usage_event(
    after: list[tuple[float, str]], usage: int | None, gaps: int
) -> None:
    one = call(0, [(90, "o"), (100, "c"), (120, "c"), *after], usage=usage)
    other = call(500, [(600, "c"), (620, "c")], usage=2)
    table = recompute("vllm", recording([one, other]))

    found = next(f for f in table.points[0].figures if f.name == "mean_itl_ms")
    assert found.n == gaps + 1
