"""A finished run is one ordered Parquet file, and no kill on the way there costs a row."""

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from loadgen.errors import InputError, LoadgenError
from loadgen.model.record import Record
from loadgen.store import requests
from loadgen.store.folder import FINISHED_SEGMENTS_FOLDER, REQUESTS_FILE, SEGMENTS_FOLDER
from loadgen.store.requests import GROUP_ROWS_MAX, finish
from loadgen.store.schema import TRUNCATED_KEY, VERSION_KEY, arrow_batch, arrow_schema
from loadgen.store.segments import SegmentWriter, segment_paths
from loadgen.store.tables import make_table, read_requests, read_table
from tests.stored_records import record, write_segment


def shuffled_run(folder: Path) -> None:
    """Two shares, two points, completion out of order."""
    write_segment(
        folder,
        [
            [record(0, point=0, due_at_ns=30), record(1, point=0, due_at_ns=10)],
            [record(0, point=1, due_at_ns=90, n_events=0), record(2, point=0, due_at_ns=20)],
        ],
    )
    write_segment(folder, [[record(0, share=1, due_at_ns=20), record(1, share=1, due_at_ns=5)]], 1)


SHUFFLED_ORDER = [(0, 5, 1), (0, 10, 0), (0, 20, 0), (0, 20, 1), (0, 30, 0), (1, 90, 0)]


def test_rows_stand_by_point_and_due_time_with_their_own_events(tmp_path: Path) -> None:
    shuffled_run(tmp_path)
    unfinished = read_table(tmp_path)
    finish(tmp_path)
    for table in (unfinished, read_table(tmp_path)):
        rows = zip(table.point, table.due_at_ns, table.share, strict=True)
        assert [tuple(map(int, row)) for row in rows] == SHUFFLED_ORDER
        firsts = table.event_at_ns[table.event_start[:-2]]
        assert firsts.tolist() == (table.due_at_ns[:-1] + 10).tolist()
        assert np.diff(table.event_start).tolist() == [3, 3, 3, 3, 3, 0]


def test_other_readers_find_the_parquet_file_in_order_too(tmp_path: Path) -> None:
    shuffled_run(tmp_path)
    rows = pq.read_table(finish(tmp_path)).to_pylist()
    assert [(row["point"], row["due_at_ns"], row["share"]) for row in rows] == SHUFFLED_ORDER
    for row in rows[:-1]:
        assert row["event_at_ns"] == [row["due_at_ns"] + 10 + step for step in range(3)]


def test_a_row_group_holds_one_point_and_a_bounded_number_of_rows(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, 0)
    for seq in range(GROUP_ROWS_MAX + 10):
        writer.append(record(seq, point=0 if seq < GROUP_ROWS_MAX + 3 else 1, n_events=0))
    writer.close()
    metadata = pq.ParquetFile(finish(tmp_path)).metadata
    sizes = [metadata.row_group(index).num_rows for index in range(metadata.num_row_groups)]
    assert sizes == [GROUP_ROWS_MAX, 3, 7]


def test_a_row_group_holds_a_bounded_number_of_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "GROUP_EVENTS_MAX", 10)
    write_segment(tmp_path, [[record(seq, n_events=n) for seq, n in enumerate([4, 6, 1, 25, 3])]])
    metadata = pq.ParquetFile(finish(tmp_path)).metadata
    sizes = [metadata.row_group(index).num_rows for index in range(metadata.num_row_groups)]
    assert sizes == [2, 1, 1, 1]
    assert np.diff(read_table(tmp_path).event_start).tolist() == [4, 6, 1, 25, 3]


def test_segments_go_when_the_parquet_file_is_there_and_a_second_finish_changes_nothing(
    tmp_path: Path,
) -> None:
    shuffled_run(tmp_path)
    path = finish(tmp_path)
    content = path.read_bytes()
    assert [entry.name for entry in tmp_path.iterdir()] == [REQUESTS_FILE]
    assert finish(tmp_path).read_bytes() == content


def test_a_run_without_any_request_finishes_as_an_empty_table(tmp_path: Path) -> None:
    assert len(read_table(tmp_path)) == 0
    finish(tmp_path)
    assert len(read_table(tmp_path)) == 0


def test_killed_while_writing_the_parquet_file_nothing_is_lost(tmp_path: Path) -> None:
    shuffled_run(tmp_path)
    (tmp_path / f"{REQUESTS_FILE}.123.tmp").write_bytes(b"PAR1 half of it")
    assert len(read_table(tmp_path)) == 6
    finish(tmp_path)
    assert len(read_table(tmp_path)) == 6
    assert [entry.name for entry in tmp_path.iterdir()] == [REQUESTS_FILE]


def test_killed_before_the_segments_were_removed_nothing_is_doubled(tmp_path: Path) -> None:
    shuffled_run(tmp_path)
    kept = {path.name: path.read_bytes() for path in segment_paths(tmp_path)}
    finish(tmp_path)
    (tmp_path / SEGMENTS_FOLDER).mkdir()
    for name, content in kept.items():
        (tmp_path / SEGMENTS_FOLDER / name).write_bytes(content)
    assert len(read_table(tmp_path)) == 6
    finish(tmp_path)
    assert len(read_table(tmp_path)) == 6
    assert [entry.name for entry in tmp_path.iterdir()] == [REQUESTS_FILE]


def test_killed_among_removals_the_rest_of_the_segments_counts_for_nothing(tmp_path: Path) -> None:
    shuffled_run(tmp_path)
    left = segment_paths(tmp_path)[1].read_bytes()
    finish(tmp_path)
    (tmp_path / FINISHED_SEGMENTS_FOLDER).mkdir()
    (tmp_path / FINISHED_SEGMENTS_FOLDER / "share-001-000.arrows").write_bytes(left)
    assert len(read_table(tmp_path)) == 6
    finish(tmp_path)
    assert len(read_table(tmp_path)) == 6
    assert [entry.name for entry in tmp_path.iterdir()] == [REQUESTS_FILE]


class Killed(BaseException):
    """Stands for a kill: nothing of the product catches it."""


def test_killed_after_the_first_removal_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shuffled_run(tmp_path)

    def remove_one(place: Path, **_options: object) -> None:
        for path in sorted(place.glob("*")):
            path.unlink()
            raise Killed

    with monkeypatch.context() as cut_short:
        cut_short.setattr(shutil, "rmtree", remove_one)
        with pytest.raises(Killed):
            finish(tmp_path)
    assert len(read_table(tmp_path)) == 6
    finish(tmp_path)
    assert len(read_table(tmp_path)) == 6
    assert [entry.name for entry in tmp_path.iterdir()] == [REQUESTS_FILE]


def test_a_parquet_file_that_cannot_be_written_leaves_the_segments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shuffled_run(tmp_path)

    def full(folder: Path, draft: Path) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(requests, "_write_parquet", full)
        with pytest.raises(LoadgenError, match="No space left") as refused:
            finish(tmp_path)
    assert "loadgen report" in (refused.value.hint or "")
    assert len(read_table(tmp_path)) == 6


def test_a_cut_segment_is_named_before_and_after_the_finish(tmp_path: Path) -> None:
    write_segment(tmp_path, [[record(0)], [record(1)]])
    path = segment_paths(tmp_path)[0]
    path.write_bytes(path.read_bytes()[:-100])
    assert read_requests(tmp_path)[1] == ("share-000-000.arrows",)
    finish(tmp_path)
    table, truncated = read_requests(tmp_path)
    assert (len(table), truncated) == (1, ("share-000-000.arrows",))
    assert json.loads(pq.read_schema(tmp_path / REQUESTS_FILE).metadata[TRUNCATED_KEY])


def write_parquet_of_version(path: Path, version: bytes) -> None:
    schema = arrow_schema().with_metadata({VERSION_KEY: version, TRUNCATED_KEY: b"[]"})
    pq.write_table(pa.Table.from_batches([arrow_batch([record(0)], schema)]), path)


def test_a_parquet_file_of_another_format_is_refused_by_name(tmp_path: Path) -> None:
    write_parquet_of_version(tmp_path / REQUESTS_FILE, b"0")
    with pytest.raises(InputError, match="results of format `0` can't be read"):
        read_table(tmp_path)


def test_a_damaged_parquet_file_is_named(tmp_path: Path) -> None:
    shuffled_run(tmp_path)
    path = finish(tmp_path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match=REQUESTS_FILE):
        read_table(tmp_path)


@pytest.mark.parametrize("listed_first", [True, False])
def test_a_reader_that_meets_the_finish_reads_the_parquet_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listed_first: bool
) -> None:
    shuffled_run(tmp_path)

    def finished_meanwhile(folder: Path) -> list[Path]:
        listed = segment_paths(folder)
        finish(folder)
        return listed if listed_first else segment_paths(folder)

    monkeypatch.setattr("loadgen.store.tables.segment_paths", finished_meanwhile)
    assert len(read_table(tmp_path)) == 6


def test_texts_are_an_empty_column_when_none_was_kept() -> None:
    assert len(make_table([record(0), record(1)]).output_text) == 0


def test_equal_words_are_one_object_however_many_rows() -> None:
    rows: list[Record] = [record(seq) for seq in range(50)]
    assert len({id(word) for word in make_table(rows).outcome}) == 1
