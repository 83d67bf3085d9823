"""Records reach the operating system batch by batch, and never more memory than a buffer."""

import errno
import os
import subprocess
import sys
from array import array
from collections.abc import Callable
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from loadgen.errors import InputError, LoadgenError
from loadgen.store.requests import finish
from loadgen.store.schema import VERSION_KEY, arrow_batch, arrow_schema
from loadgen.store.segments import (
    BUFFERED_EVENTS_MAX,
    BUFFERED_RECORDS_MAX,
    SegmentWriter,
    read_segment,
    segment_paths,
)
from loadgen.store.tables import read_table
from tests.stored_records import record, write_segment

LAZY = """
import sys
from pathlib import Path
from loadgen.model.exchange import Outcome, TurnKey
from loadgen.model.record import Record
from loadgen.store.folder import RunFile
from loadgen.store.journal import append_health
from loadgen.store.progress import Progress
from loadgen.store.requests import finish
from loadgen.store.segments import SegmentWriter
writer = SegmentWriter(Path(sys.argv[1]), 0)
writer.append(Record(TurnKey(0, 0, 0, "s", "t"), Outcome.OK, due_at_ns=0))
assert not {"pyarrow", "numpy"} & set(sys.modules), "before the first flush"
writer.flush()
assert "pyarrow" in sys.modules
"""


def test_a_flushed_batch_is_readable_while_the_writer_goes_on(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, 3)
    assert segment_paths(tmp_path) == []
    writer.append(record(0))
    writer.flush()
    writer.append(record(1))
    segment = read_segment(segment_paths(tmp_path)[0])
    assert [len(batch) for batch in segment.batches] == [1]
    assert not segment.truncated
    writer.close()
    writer.close()
    assert read_table(tmp_path).seq.tolist() == [0, 1]


def test_flushing_nothing_writes_nothing(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, 0)
    writer.flush()
    writer.close()
    assert list(tmp_path.iterdir()) == []


def test_a_second_writer_of_a_share_takes_a_file_of_its_own(tmp_path: Path) -> None:
    write_segment(tmp_path, [[record(0)]])
    write_segment(tmp_path, [[record(1)]])
    names = [path.name for path in segment_paths(tmp_path)]
    assert names == ["share-000-000.arrows", "share-000-001.arrows"]
    assert read_table(tmp_path).seq.tolist() == [0, 1]


def test_100_000_records_pass_through_a_bounded_buffer(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, 0)
    one = record(0)
    for _ in range(100_000):
        writer.append(one)
    writer.close()
    batches = read_segment(segment_paths(tmp_path)[0]).batches
    assert max(len(batch) for batch in batches) == BUFFERED_RECORDS_MAX
    assert sum(len(batch) for batch in batches) == 100_000


def test_many_events_flush_the_buffer_before_many_records_do(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, 0)
    for seq in range(3):
        writer.append(record(seq, n_events=BUFFERED_EVENTS_MAX // 2))
    assert [len(batch) for batch in read_segment(writer.path).batches] == [2]
    writer.close()


def test_a_full_disk_loses_no_record_and_spoils_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = SegmentWriter(tmp_path, 0)
    for seq in range(3):
        writer.append(record(seq))
        if seq == 1:
            with monkeypatch.context() as full:
                full.setattr(os, "write", disk_that_takes(100))
                with pytest.raises(LoadgenError, match="No space left"):
                    writer.flush()
        elif seq == 0:
            writer.flush()
    assert not read_segment(writer.path).truncated
    writer.close()
    assert read_table(tmp_path).seq.tolist() == [0, 1, 2]


def disk_that_takes(size_bytes: int) -> Callable[[int, memoryview], int]:
    write = os.write
    left = [size_bytes, 0]

    def limited(descriptor: int, content: memoryview) -> int:
        size = left.pop(0)
        if not size:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(descriptor, content[:size])

    return limited


def test_half_an_emoji_in_an_answer_is_stored_as_a_replacement(tmp_path: Path) -> None:
    odd = msgspec.structs.replace(record(0), detail="bad \ud83d", output_text="\ud83d")
    write_segment(tmp_path, [[odd, record(1)]])
    table = read_table(tmp_path)
    assert table.detail[0].startswith("bad \ufffd")
    assert table.output_text.tolist()[1] is None


def test_no_record_is_added_to_a_finished_run(tmp_path: Path) -> None:
    write_segment(tmp_path, [[record(0)]])
    finish(tmp_path)
    writer = SegmentWriter(tmp_path, 0)
    writer.append(record(1))
    with pytest.raises(LoadgenError, match="is finished"):
        writer.flush()
    assert read_table(tmp_path).seq.tolist() == [0]


def test_a_whole_batch_with_impossible_values_ends_the_readable_part(tmp_path: Path) -> None:
    write_segment(tmp_path, [[record(0)], [record(1, n_events=7), record(2, n_events=7)]])
    path = segment_paths(tmp_path)[0]
    right, wrong = array("i", [0, 7, 14]).tobytes(), array("i", [0, 7, 10**6]).tobytes()
    assert right in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(right, wrong))
    segment = read_segment(path)
    assert [len(batch) for batch in segment.batches] == [1]
    assert segment.truncated
    assert read_table(tmp_path).seq.tolist() == [0]


@pytest.mark.parametrize("version", [b"0", b"2", b"x"])
def test_a_segment_of_another_format_is_refused_by_name(tmp_path: Path, version: bytes) -> None:
    schema = arrow_schema().with_metadata({VERSION_KEY: version})
    path = tmp_path / "other.arrows"
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, schema) as stream:
        stream.write_batch(arrow_batch([record(0)], schema))
    with pytest.raises(InputError, match=r"results of format .* can't be read"):
        read_segment(path)


def test_sending_starts_without_loading_numpy_or_pyarrow(tmp_path: Path) -> None:
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", LAZY, str(tmp_path)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
