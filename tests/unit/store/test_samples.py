"""Samples on disk: every whole look survives, whatever happens to the last one."""

from pathlib import Path

import pytest

from loadgen.errors import InputError
from loadgen.model.reading import Reading
from loadgen.store.samples import SampleLog, finish_samples, read_telemetry, write_metrics_text


def looks(folder: Path, count: int = 3) -> None:
    log = SampleLog(folder)
    for number in range(count):
        output = Reading("server", "http://x", "output_tok", "0", 10.0 * number)
        log.keep(1_000 + number, [output, Reading("gpu", "nvml", "power_w", "GPU-1", 700.5)])


@pytest.mark.parametrize("finished", [False, True])
def test_samples_read_back_by_time_before_and_after_the_run_ends(
    tmp_path: Path, *, finished: bool
) -> None:
    looks(tmp_path)
    if finished:
        finish_samples(tmp_path)
        assert not list(tmp_path.glob("*.jsonl"))
    found = read_telemetry(tmp_path)

    assert found.at_ns.tolist() == [1000, 1000, 1001, 1001, 1002, 1002]
    assert found.value[found.name == "output_tok"].tolist() == [0.0, 10.0, 20.0]
    assert set(found.part) == {"0", "GPU-1"}
    assert set(found.origin) == {"http://x", "nvml"}


def test_a_cut_last_line_costs_that_look_only(tmp_path: Path) -> None:
    looks(tmp_path)
    path = tmp_path / "telemetry.jsonl"
    path.write_bytes(path.read_bytes()[:-9])

    assert read_telemetry(tmp_path).at_ns.tolist() == [1000, 1000, 1001, 1001]
    finish_samples(tmp_path)
    assert len(read_telemetry(tmp_path)) == 4


def test_a_run_that_nobody_watched_has_an_empty_table(tmp_path: Path) -> None:
    finish_samples(tmp_path)

    assert len(read_telemetry(tmp_path)) == 0


def test_finishing_again_after_a_kill_changes_nothing(tmp_path: Path) -> None:
    looks(tmp_path)
    lines = (tmp_path / "telemetry.jsonl").read_bytes()
    finish_samples(tmp_path)
    (tmp_path / "telemetry.jsonl").write_bytes(lines)
    finish_samples(tmp_path)

    assert len(read_telemetry(tmp_path)) == 6
    assert not (tmp_path / "telemetry.jsonl").exists()


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "telemetry.parquet").write_bytes(b"PAR1 not really PAR1")

    with pytest.raises(InputError, match=r"telemetry\.parquet` can't be read"):
        read_telemetry(tmp_path)


def test_a_full_disk_ends_the_samples_not_the_run(tmp_path: Path) -> None:
    (tmp_path / "telemetry.jsonl").mkdir()

    looks(tmp_path)
    write_metrics_text(tmp_path / "telemetry.jsonl" / "no" / "folder", "x", "text")


def test_a_servers_own_words_are_kept_whole(tmp_path: Path) -> None:
    write_metrics_text(tmp_path, "point-000-start-0", "vllm:x 1\n\ud800")

    kept = (tmp_path / "metrics" / "point-000-start-0.txt").read_text(encoding="utf-8")
    assert kept.startswith("vllm:x 1\n")
