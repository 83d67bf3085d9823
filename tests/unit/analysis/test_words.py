"""Shares and counts are written in one way."""

import pytest

from loadgen.analysis.words import counted, in_percent


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.04, "4.0 %"), (0.0, "0 %"), (0.0004, "0.0 %"), (1.0, "100 %"), (-0.1, "-10.0 %")],
)
def test_shares_are_percent_with_a_space(share: float, text: str) -> None:
    assert in_percent(share) == text


def test_changes_bear_their_sign() -> None:
    assert in_percent(0.017, signed=True) == "+1.7 %"


def test_one_is_not_many() -> None:
    assert [counted(n, "answer was", "answers were") for n in (0, 1, 2)] == [
        "0 answers were",
        "1 answer was",
        "2 answers were",
    ]
