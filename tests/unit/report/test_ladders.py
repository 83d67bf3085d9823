"""The ladders of several runs on a page: every format, within its width."""

import csv
import json

import pytest

from loadgen.analysis.ladders import ladders_of
from loadgen.cli.ladder import parse_targets
from loadgen.errors import UsageError
from loadgen.model.ladder import Ladders
from loadgen.report.ladders import LADDER_OUTPUTS
from tests.unit.analysis.test_ladders import run_of


def told() -> Ladders:
    runs = [
        run_of("results/2026-11-30T22-10Z-deepseek-v4.1-flash-sweep", 4, [120, 80], [800, 4000]),
        run_of("results/two", 8, [100, 70], [7200, 8000]),
        run_of("results/three", None, [100], [7200]),
    ]
    return ladders_of(runs, (30.0, 50.0, 75.0, 100.0, 200.0))


def page(output: str) -> str:
    return "".join(LADDER_OUTPUTS[output](told()))


def test_the_screen_names_statistics_neighbours_reasons_and_who_was_left_out() -> None:
    text = page("text")
    assert max(map(len, text.splitlines())) <= 100
    for part in (
        "p50 speed a user",
        "slow-tail p90 speed a user",
        "frontier: 3 of 4 points",
        "A c=2, B c=1",
        "30 to 75: n/a: no point was measured that slow: the slowest has 80",
        "left out: C results/three: how many GPUs served isn't told",
    ):
        assert part in " ".join(text.split())


def test_every_row_is_in_csv_and_markdown_and_json_reads_back() -> None:
    rows = list(csv.DictReader(page("csv").splitlines()))
    assert [row["target_tps"] for row in rows] == ["30.0", "50.0", "75.0", "100.0", "200.0"] * 2
    assert rows[0]["total_tps"] == ""
    assert rows[3]["measured_at"] == "B c=1"
    read = json.loads(page("json"))
    assert read["ladders"][0]["rows"][3]["total_tps"] == float(rows[3]["total_tps"])
    assert page("md").count("\n| 100 |") == 2


@pytest.mark.parametrize("text", ["", "30,", "0", "-5", "fast", "inf", "nan"])
def test_targets_are_speeds_above_zero(text: str) -> None:
    with pytest.raises(UsageError, match="no speed above 0"):
        parse_targets(text)


def test_targets_rise_whatever_their_order() -> None:
    assert parse_targets("75, 30,30") == (30.0, 75.0)
