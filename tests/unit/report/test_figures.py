"""Numbers as readers see them."""

import math

import pytest

from loadgen.report.figures import (
    format_duration,
    format_figure,
    format_number,
    format_percent,
    format_usd,
    requests_needed,
    shared_decimals,
)


@pytest.mark.parametrize(
    ("stat", "needed"),
    [("p50", 6), ("p90", 29), ("p95", 59), ("p99", 299), ("p99.9", 2995), ("mean", None)],
)
def test_percentile_needs_as_many_requests_as_its_interval(stat: str, needed: int | None) -> None:
    assert requests_needed(stat) == needed


@pytest.mark.parametrize("absent", [None, math.nan, math.inf])
def test_absent_figures_read_not_available_and_never_zero(absent: float | None) -> None:
    assert format_number(absent) == "n/a"
    assert format_percent(absent) == "n/a"
    assert format_usd(absent) == "n/a"


def test_columns_share_the_decimals_that_their_smallest_figure_needs() -> None:
    assert shared_decimals([7.0, 12.9, None], 2) == 1
    assert shared_decimals([61, 512], 2) == 0
    assert shared_decimals([0.0, math.nan], 2) == 0
    assert shared_decimals([0.004], 2) == 3


def test_figures_keep_three_digits_and_thousands() -> None:
    assert format_figure(3156.4) == "3,156"
    assert format_figure(7.02) == "7.02"
    assert format_usd(0.0412) == "$0.041"
    assert format_usd(12.3) == "$12.30"


def test_durations_and_shares_read_as_words() -> None:
    assert [format_duration(s) for s in (45, 480, 7200)] == ["45 s", "8 min", "2 h 0 min"]
    assert format_percent(0.754) == "75 %"
    assert format_percent(0.004) == "0.4 %"
    assert format_percent(-0.084, signed=True) == "-8 %"
