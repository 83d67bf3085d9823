"""A replay's failures are judged over all workers of the point."""

from pathlib import Path

import pytest

from loadgen.measure.failing import failed_too_often
from loadgen.model.plan import ReplayRules
from loadgen.store.progress import Progress


def progress_of(folder: Path, *rows: tuple[int, int, int]) -> Progress:
    """Rows of (point, judged, failed)."""
    progress = Progress.create(folder, len(rows))
    for share, (point, judged, failed) in enumerate(rows):
        row = progress.worker(share)
        row.point, row.judged, row.failed = point, judged, failed
    return progress


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([(0, 10, 1), (0, 10, 2)], True),  # neither worker has 20 by itself
        ([(0, 10, 1), (0, 10, 1)], False),  # as many as allowed
        ([(0, 9, 9), (0, 10, 10)], False),  # too few ended
        ([(0, 30, 30), (0, 970, 0)], False),  # one sick worker of many healthy requests
        ([(1, 30, 30), (0, 30, 0)], False),  # the first row is still of another point
    ],
)
def test_all_workers_count_together(
    tmp_path: Path, rows: list[tuple[int, int, int]], expected: bool
) -> None:
    assert failed_too_often(ReplayRules(), progress_of(tmp_path, *rows), 0) is expected


def test_without_a_limit_nothing_ends_a_replay(tmp_path: Path) -> None:
    rules = ReplayRules(error_limit_frac=None)
    assert not failed_too_often(rules, progress_of(tmp_path, (0, 100, 100)), 0)
