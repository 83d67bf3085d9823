"""Verdicts of `compare` on simulated runs whose truth is known."""

import pytest

from tests.comparisons import KINDS, Kind, tally

FEW = (KINDS[0], KINDS[2], KINDS[5])


@pytest.mark.parametrize("kind", FEW, ids=lambda kind: kind.name)
def test_verdicts_are_right_on_a_few_comparisons(kind: Kind) -> None:
    held(kind, count=10 // kind.runs + 1)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_verdicts_are_right_as_often_as_they_claim(kind: Kind) -> None:
    held(kind, count=200)


def held(kind: Kind, count: int) -> None:
    """Wrong in 5 % at most; a true change found in 80 % by 5 runs a side, never the opposite."""
    found = tally(kind, count, seed=hash_of(kind))
    assert found.wrong <= 0.05, found
    assert found.opposite == 0, found
    if kind.faster_by and kind.runs == 5:
        assert found.rate_right >= 0.8, found


def hash_of(kind: Kind) -> int:
    """A seed that stays the same between processes."""
    return 8100 + KINDS.index(kind)
