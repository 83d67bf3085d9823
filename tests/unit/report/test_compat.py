"""A run by other tools' rules on the screen and in files."""

import csv
import io
import json

import pytest

from loadgen.analysis.compat import RULES, recompute
from loadgen.model.compat import CompatTable
from loadgen.report.compat import COMPAT_OUTPUTS
from tests.tables import recording, stream


def table(rules: str, points: int = 2) -> CompatTable:
    calls = [
        stream(100 * turn, 20 + index, 4, 8, prompt=64, point=index)
        for index in range(points)
        for turn in range(3)
    ]
    return recompute(rules, recording(calls, [f"closed:{2**index}" for index in range(points)]))


def page(output: str, *tables: CompatTable) -> str:
    return "".join(COMPAT_OUTPUTS[output](tables, [f"results/{t.rules}" for t in tables]))


@pytest.mark.parametrize("rules", sorted(RULES))
def test_the_screen_fits_100_columns_and_names_the_rules(rules: str) -> None:
    shown = page("text", table(rules, points=6))

    assert max(len(line) for line in shown.splitlines()) <= 100
    assert RULES[rules].tool.split()[0] in shown.splitlines()[0]
    assert "c=1 " in shown
    assert "c=32" in shown


def test_a_figure_stands_with_name_value_and_unit_and_its_definition_below() -> None:
    shown = page("text", table("vllm"))

    assert "  median_ttft_ms                20.00       21.00 ms\n" in shown
    assert "*_ttft_ms: before the HTTP call to the first event with text" in shown


def test_what_can_not_be_given_says_why() -> None:
    shown = page("text", table("inferencex"))

    assert "n/a tput_per_gpu, output_tput_per_gpu, input_tput_per_gpu: needs the number of" in shown


@pytest.mark.parametrize("output", sorted(COMPAT_OUTPUTS))
def test_every_output_says_that_the_mlperf_shape_is_no_result(output: str) -> None:
    shown = page(output, table("mlperf-endpoints"))

    assert "unverified, not an mlperf result" in shown.lower()


def test_a_percentile_of_few_is_given_and_doubted() -> None:
    assert "a p99 of 3 values is given as the tool would" in page("text", table("aiperf"))


def test_json_is_strict_and_complete() -> None:
    (document,) = json.loads(page("json", table("guidellm")))
    figures = {figure["name"]: figure for figure in document["points"][0]["figures"]}

    assert document["run"] == "results/guidellm"
    assert figures["output_token_count.mean"]["value"] == 8
    assert figures["output_token_count.mean"]["unit"] == "tok"
    assert all(figure["definition"] for figure in figures.values())


def test_csv_has_one_line_a_figure_and_point() -> None:
    given = [table("vllm"), table("aiperf")]
    lines = list(csv.DictReader(io.StringIO(page("csv", *given))))

    assert len(lines) == sum(len(point.figures) for one in given for point in one.points)
    assert {line["rules"] for line in lines} == {"vllm", "aiperf"}


def test_markdown_puts_points_into_columns() -> None:
    shown = page("md", table("sglang"))

    assert "| metric | unit | c=1 | c=2 |\n" in shown
    assert "| `median_ttft_ms` | ms | 20.00 | 21.00 |\n" in shown
