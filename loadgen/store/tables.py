"""Arrow columns -> `RunTable`, column by column; a Python step per row would cost seconds."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from loadgen.errors import InputError
from loadgen.model.record import Record
from loadgen.model.table import ABSENT, Ints, RunTable, Words
from loadgen.store.folder import REQUESTS_FILE, require_known_version
from loadgen.store.requests import ORDER_KEYS
from loadgen.store.schema import (
    COLUMNS,
    EVENT_COLUMNS,
    ON_DISK_ONLY,
    TRUNCATED_KEY,
    VERSION_KEY,
    Column,
    arrow_batch,
    arrow_schema,
)
from loadgen.store.segments import read_segment, segment_paths


def make_table(records: Iterable[Record]) -> RunTable:
    """The table of `records`, as it would be read back from a run folder."""
    import pyarrow as pa

    schema = arrow_schema()
    return run_table(pa.Table.from_batches([arrow_batch(list(records), schema)]))


def read_table(folder: Path) -> RunTable:
    """All requests of a run, from `requests.parquet` or, where it isn't finished, the segments.

    Raises `InputError` where a file is damaged or of a version that this tool doesn't read.
    """
    import pyarrow as pa

    if (folder / REQUESTS_FILE).exists():
        return read_parquet(folder / REQUESTS_FILE)
    batches = [batch for path in segment_paths(folder) for batch in read_segment(path).batches]
    return run_table(pa.Table.from_batches(batches, schema=arrow_schema()))


def read_parquet(path: Path) -> RunTable:
    """The table in a finished run's Parquet file; raises as `read_table` does."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, memory_map=True) as source:
            version = int((source.schema_arrow.metadata or {}).get(VERSION_KEY, b"0"))
            require_known_version(path, version)
            return run_table(source.read())
    except (pa.ArrowException, OSError) as exc:
        raise InputError(
            f"`{path}` can't be read: {str(exc).splitlines()[0]}", "copy the run folder again"
        ) from exc


def truncated_names(path: Path) -> tuple[str, ...]:
    """The segments that `requests.parquet` was made of and that a kill had cut in mid-batch."""
    import pyarrow.parquet as pq

    metadata = pq.read_schema(path).metadata or {}
    names: list[str] = json.loads(metadata.get(TRUNCATED_KEY, b"[]"))
    return tuple(names)


def run_table(table: Any) -> RunTable:
    """The `RunTable` of a `pyarrow.Table` with the columns of `schema`, put in order."""
    columns: dict[str, Any] = {
        column.name: _scalar_column(table.column(column.name), column)
        for column in COLUMNS
        if column.name not in ON_DISK_ONLY
    }
    lengths = _joined(
        [chunk.value_lengths() for chunk in table.column("event_at_ns").chunks], np.int64
    )
    for event_column in EVENT_COLUMNS:
        chunks = table.column(event_column.name).chunks
        columns[event_column.name] = _joined(
            [chunk.flatten() for chunk in chunks], np.dtype(event_column.arrow_type)
        )
    start = _starts(lengths)
    order = np.lexsort(tuple(columns[name] for name in ORDER_KEYS))
    if np.array_equal(order, np.arange(len(order))):
        return RunTable(event_start=start, **columns)
    return RunTable(**_reordered(columns, start, order))


def _scalar_column(column: Any, spec: Column) -> Any:
    """int64 with `ABSENT` for null, bool, or an object array of str (texts: None for null)."""
    if spec.kind == "int":
        return _joined(column.fill_null(ABSENT).chunks, np.int64)
    if spec.kind == "flag":
        return _joined(column.chunks, np.bool_)
    if spec.kind == "text":
        kept = column.null_count < len(column)
        return _joined(column.chunks, np.object_) if kept else np.empty(0, dtype=object)
    return _words(column.fill_null(""))


def _words(column: Any) -> Words:
    """An object array of str in which equal words are one object: a column repeats few."""
    if len(column) == 0:
        return np.empty(0, dtype=object)
    encoded = column.combine_chunks().dictionary_encode()
    words = encoded.dictionary.to_numpy(zero_copy_only=False)
    chosen: Words = words[encoded.indices.to_numpy()]
    return chosen


def _joined(chunks: list[Any], dtype: Any) -> Any:
    arrays = [chunk.to_numpy(zero_copy_only=False) for chunk in chunks]
    return np.concatenate(arrays).astype(dtype, copy=False) if arrays else np.empty(0, dtype)


def _starts(lengths: Ints) -> Ints:
    start = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=start[1:])
    return start


def _reordered(columns: dict[str, Any], start: Ints, order: Ints) -> dict[str, Any]:
    """The columns with row i taken from row `order[i]`, lists of events moved along."""
    lengths = np.diff(start)[order]
    new_start = _starts(lengths)
    source = np.repeat(start[:-1][order] - new_start[:-1], lengths) + np.arange(new_start[-1])
    event_names = {column.name for column in EVENT_COLUMNS}
    moved = {
        name: values if len(values) == 0 else values[source if name in event_names else order]
        for name, values in columns.items()
    }
    return {**moved, "event_start": new_start}
