"""What was recorded is what is read back: nothing is lost, invented or moved to another row."""

import dataclasses
import itertools
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from loadgen.model.record import Record
from loadgen.model.table import ABSENT, RunTable
from loadgen.store.requests import finish
from loadgen.store.segments import SegmentWriter
from loadgen.store.tables import make_table, read_table
from tests.stored_records import records

KEY_FIELDS = {
    "point",
    "share",
    "seq",
    "session_id",
    "turn_id",
    "turn_no",
    "tenant",
    "prompt_id",
    "phase",
    "stream",
}


def stored_value(record: Record, field: str) -> object:
    """What `RunTable` must hold of a record, told apart from how the store does it."""
    if field == "flags":
        return ",".join(record.flags)
    if field == "blocks":
        return ",".join(map(str, record.blocks))
    if field in KEY_FIELDS:
        value = getattr(record.key, field)
    elif field.startswith("usage_"):
        value = getattr(record.usage, field.removeprefix("usage_"))
    elif field.startswith("conn_"):
        value = getattr(record.connection, field.removeprefix("conn_"))
    elif field in ("reused", "stale_reconnects", "peer"):
        value = getattr(record.connection, field)
    else:
        value = getattr(record, field)
    if value is None and field != "output_text":
        return "" if field == "own_tok_source" else ABSENT
    return value


def assert_holds(table: RunTable, expected: list[Record]) -> None:
    assert len(table) == len(expected)
    assert len(table.event_start) == len(expected) + 1
    for field in (field.name for field in dataclasses.fields(RunTable)):
        column = getattr(table, field)
        if field == "output_text" and all(record.output_text is None for record in expected):
            assert len(column) == 0
        elif not field.startswith("event_"):
            assert column.tolist() == [stored_value(record, field) for record in expected], field
        elif field != "event_start":
            rows = zip(table.event_start[:-1], table.event_start[1:], expected, strict=True)
            for start, end, record in rows:
                entries = getattr(record.events, field.removeprefix("event_"))
                assert column[start:end].tolist() == list(entries), field


def numbered(record: Record, seq: int) -> Record:
    """The record under a number of its own, as those of a run have."""
    return structs.replace(record, key=structs.replace(record.key, seq=seq))


def in_order(rows: list[Record]) -> list[Record]:
    return sorted(rows, key=lambda row: (row.key.point, row.due_at_ns, row.key.share, row.key.seq))


@settings(max_examples=60, deadline=None)
@given(st.lists(records, max_size=8))
def test_every_value_of_a_record_reaches_its_column(rows: list[Record]) -> None:
    assert_holds(make_table(rows), in_order(rows))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(records, max_size=2), max_size=3))
def test_segments_and_parquet_hold_the_same_table(batches: list[list[Record]]) -> None:
    number = itertools.count()
    batches = [[numbered(record, next(number)) for record in batch] for batch in batches]
    rows = [record for batch in batches for record in batch]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for share, batch in enumerate(batches):
            writer = SegmentWriter(folder, share % 2)
            for record in batch:
                writer.append(record)
            writer.close()
        unfinished = read_table(folder)
        finish(folder)
        finished = read_table(folder)
    assert_holds(unfinished, in_order(rows))
    assert_holds(finished, in_order(rows))


def test_column_types_do_not_depend_on_the_rows() -> None:
    table = make_table([])
    for field in dataclasses.fields(RunTable):
        column = getattr(table, field.name)
        assert column.dtype in (np.int64, np.int32, np.uint8, np.bool_, np.object_), field.name
    assert table.event_start.tolist() == [0]
