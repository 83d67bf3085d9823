"""A calibration is kept for its host and version, and costs nothing where there is none."""

from dataclasses import replace
from pathlib import Path

import pytest

import loadgen
from loadgen import clock
from loadgen.measure.calibration import cached_calibration, calibration_path, keep_calibration
from loadgen.measure.selftest import Errors, keep
from loadgen.model.provenance import Calibration

FOUND = Calibration(
    host=clock.host_name(),
    tool_version=loadgen.__version__,
    made_wall_ns=1,
    stamp_p50_ns=5_000,
    stamp_p99_ns=30_000,
    stamp_max_ns=400_000,
    ttft_p99_ns=90_000,
    ceiling_eps=25_600.0,
    is_client_limit=True,
)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_what_was_kept_comes_back() -> None:
    assert cached_calibration() is None
    assert keep_calibration(FOUND) == calibration_path()
    assert cached_calibration() == FOUND


@pytest.mark.parametrize("content", [b"", b"{}", b"not json", b"\xff\xfe"])
def test_a_damaged_file_is_none(content: bytes) -> None:
    keep_calibration(FOUND)
    calibration_path().write_bytes(content)
    assert cached_calibration() is None


def test_another_versions_calibration_is_none() -> None:
    keep_calibration(replace(FOUND, tool_version="0.0.0"))
    assert cached_calibration() is None


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "loadgen").write_text("in the way")
    assert keep_calibration(FOUND) is None
    assert cached_calibration() is None


def errors(**given: object) -> Errors:
    marks = (1.0, 2.0, 3.0)
    quiet: dict[str, object] = {"ceiling_eps": 1000.0, "is_client_limit": True, **given}
    return Errors(1, 10, 10, marks, marks, 0.0, marks, **quiet)  # type: ignore[arg-type]


def test_selftest_keeps_its_ceiling_only_where_a_rate_was_clean() -> None:
    keep(errors(ceiling_eps=None))
    assert cached_calibration() is None
    keep(errors())
    known = cached_calibration()
    assert known is not None
    assert (known.ceiling_eps, known.stamp_p99_ns) == (1000.0, 2000)
