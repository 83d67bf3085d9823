"""Files of other tools recompute, by their own rules, to what they printed."""

from pathlib import Path

import pytest

from loadgen.model.compat import CompatFigure
from loadgen.review import by_rules
from tests.unit.foreign_results import TOOLS, foreign_file

FIGURES = {"vllm": 34, "vllm-rate": 22, "aiperf": 125, "guidellm": 226}
"""How many figures each file prints that we recompute."""


def recomputed(name: str, tmp_path: Path) -> list[CompatFigure]:
    table = by_rules(foreign_file(name, tmp_path), name.partition("-")[0])
    return [figure for point in table.points for figure in point.figures]


@pytest.mark.parametrize("name", TOOLS)
def test_a_file_recomputes_to_the_figures_that_its_tool_printed(name: str, tmp_path: Path) -> None:
    printed = [figure for figure in recomputed(name, tmp_path) if figure.printed is not None]

    assert len(printed) == FIGURES[name]
    for figure in printed:
        assert figure.value == pytest.approx(figure.printed, rel=1e-5, abs=1e-9), figure.name


@pytest.mark.parametrize(
    ("name", "figure", "value"),
    [
        ("vllm", "median_ttft_ms", 11.516586000652751),
        ("aiperf", "output_sequence_length.max", 28.0),
        ("guidellm", "request_totals.errored", 2.0),
    ],
)
def test_what_the_tool_printed_is_what_its_file_holds(
    name: str, figure: str, value: float, tmp_path: Path
) -> None:
    found = next(one for one in recomputed(name, tmp_path) if one.name == figure)

    assert found.printed == pytest.approx(value, rel=1e-9)


def test_another_tools_rules_have_nothing_printed_beside_them(tmp_path: Path) -> None:
    table = by_rules(foreign_file("aiperf", tmp_path), "vllm")

    assert all(figure.printed is None for figure in table.points[0].figures)
    assert any(figure.value for figure in table.points[0].figures)


def test_gaps_that_a_file_does_not_hold_stay_absent_by_any_rules(tmp_path: Path) -> None:
    table = by_rules(foreign_file("guidellm", tmp_path), "vllm")
    figures = {figure.name: figure for figure in table.points[0].figures}

    assert figures["median_itl_ms"].value is None
    assert figures["max_output_tokens_per_s"].value is None
    assert "guidellm's file doesn't tell" in figures["median_itl_ms"].reason
    assert figures["median_tpot_ms"].value is not None
