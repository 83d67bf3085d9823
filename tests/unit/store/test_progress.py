"""Progress slots are seen by everybody who maps the file, and each row has one writer's slots."""

import multiprocessing
from pathlib import Path

import pytest

from loadgen.errors import InputError
from loadgen.store.folder import PROGRESS_FILE
from loadgen.store.progress import Progress, ScribeRow, Slot, WorkerRow


def test_a_new_file_holds_zeros_for_every_share(tmp_path: Path) -> None:
    progress = Progress.create(tmp_path, shares=3)
    assert progress.shares == 3
    assert [progress.worker(share).issued for share in range(3)] == [0, 0, 0]


def test_what_one_mapping_writes_another_reads(tmp_path: Path) -> None:
    writer = Progress.create(tmp_path, shares=2)
    reader = Progress.open(tmp_path, writable=False)
    worker, scribe = writer.worker(1), writer.scribe(1)
    worker.issued = 5
    worker.issued += 1
    scribe.records = -(2**63)
    assert reader.worker(1).issued == 6
    assert reader.scribe(1).records == -(2**63)
    assert reader.worker(0).issued == 0


def count_up(folder: Path) -> None:
    row = Progress.open(folder).worker(0)
    for _ in range(1_000):
        row.issued += 1


def test_another_process_writes_into_the_same_slots(tmp_path: Path) -> None:
    progress = Progress.create(tmp_path, shares=1)
    process = multiprocessing.get_context("spawn").Process(target=count_up, args=(tmp_path,))
    process.start()
    process.join()
    assert progress.worker(0).issued == 1_000


def test_every_column_of_every_row_has_a_slot_of_its_own(tmp_path: Path) -> None:
    progress = Progress.create(tmp_path, shares=2)
    rows: list[WorkerRow | ScribeRow] = [
        row for share in range(2) for row in (progress.worker(share), progress.scribe(share))
    ]
    places = [
        (row, name)
        for row in rows
        for name, slot in vars(type(row)).items()
        if isinstance(slot, Slot)
    ]
    for number, (row, name) in enumerate(places, start=1):
        setattr(row, name, number)
    values = [getattr(row, name) for row, name in places]
    assert values == list(range(1, len(places) + 1))


def test_a_reader_cannot_write(tmp_path: Path) -> None:
    Progress.create(tmp_path, shares=1)
    row = Progress.open(tmp_path, writable=False).worker(0)
    with pytest.raises(TypeError):
        row.issued = 1


def test_a_share_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    progress = Progress.create(tmp_path, shares=1)
    with pytest.raises(IndexError):
        progress.worker(1)
    with pytest.raises(IndexError):
        progress.scribe(-1)


@pytest.mark.parametrize("content", [None, b"", b"abc", b"\0" * 1_024, b"loadgenp" + b"\0" * 7])
def test_what_is_no_progress_file_is_refused(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / PROGRESS_FILE).write_bytes(content)
    with pytest.raises(InputError, match=PROGRESS_FILE):
        Progress.open(tmp_path)


@pytest.mark.parametrize(("slot", "value"), [(1, 9), (2, 4)])
def test_another_format_or_size_is_refused(tmp_path: Path, slot: int, value: int) -> None:
    Progress.create(tmp_path, shares=1)
    content = bytearray((tmp_path / PROGRESS_FILE).read_bytes())
    content[slot * 8] = value
    (tmp_path / PROGRESS_FILE).write_bytes(content)
    with pytest.raises(InputError, match=PROGRESS_FILE):
        Progress.open(tmp_path)
