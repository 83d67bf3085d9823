"""Arrow columns -> `RunTable`, column by column; a Python step per row would cost seconds."""

import json
from collections.abc import Callable, Iterable
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
    SINCE_REPLAYS,
    TRUNCATED_KEY,
    Column,
    arrow_batch,
    arrow_schema,
    stored_version,
)
from loadgen.store.segments import read_segment, segment_paths


def make_table(records: Iterable[Record]) -> RunTable:
    """The table of `records`, as it would be read back from a run folder."""
    import pyarrow as pa

    return run_table(pa.Table.from_batches([arrow_batch(list(records), arrow_schema())]).select)


def read_table(folder: Path) -> RunTable:
    """All requests of a run; raises as `read_requests` does."""
    return read_requests(folder)[0]


def read_requests(folder: Path) -> tuple[RunTable, tuple[str, ...]]:
    """All requests of a run, and the names of the segments that a kill had cut in mid-batch.

    From `requests.parquet` or, where the run isn't finished, from the segments. Raises
    `InputError` where a file is damaged or of a version that this tool doesn't read.
    """
    path = folder / REQUESTS_FILE
    if not path.exists():
        try:
            found = _read_segments(folder)
        except FileNotFoundError:
            found = None
        # The run may have been finished meanwhile: its Parquet file is there before segments go.
        if found is not None and not path.exists():
            return found
    return _read_parquet(path)


def _read_segments(folder: Path) -> tuple[RunTable, tuple[str, ...]]:
    import pyarrow as pa

    segments = [read_segment(path) for path in segment_paths(folder)]
    batches = [batch for segment in segments for batch in segment.batches]
    table = pa.Table.from_batches(batches, schema=arrow_schema())
    truncated = tuple(segment.path.name for segment in segments if segment.truncated)
    return run_table(table.select), truncated


def _read_parquet(path: Path) -> tuple[RunTable, tuple[str, ...]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, memory_map=True) as source:
            schema = source.schema_arrow
            require_known_version(path, stored_version(schema))
            truncated = tuple(json.loads(schema.metadata.get(TRUNCATED_KEY, b"[]")))
            return run_table(source.read), truncated
    except (pa.ArrowException, OSError) as exc:
        raise InputError(
            f"`{path}` can't be read: {str(exc).splitlines()[0]}", "copy the run folder again"
        ) from exc


def run_table(read: Callable[[list[str]], Any]) -> RunTable:
    """The `RunTable` of what `read(names)` gives as a `pyarrow.Table`, put in order.

    Event columns are read one at a time: together they are most of a long run's bytes.
    """
    import pyarrow as pa

    wanted = [column for column in COLUMNS if column.name not in ON_DISK_ONLY]
    table = read([column.name for column in wanted])
    lacking = set(SINCE_REPLAYS) - set(table.column_names)
    columns: dict[str, Any] = {
        column.name: _scalar_column(table.column(column.name), column)
        for column in wanted
        if column.name not in lacking
    }
    for name in lacking:
        columns[name] = np.full(len(table), "", dtype=object)
    start = np.zeros(1, dtype=np.int64)
    for event_column in EVENT_COLUMNS:
        chunks = read([event_column.name]).column(event_column.name).chunks
        if event_column is EVENT_COLUMNS[0]:
            start = _starts(_joined([chunk.value_lengths() for chunk in chunks], np.int64))
        columns[event_column.name] = _joined(
            [chunk.flatten() for chunk in chunks], np.dtype(event_column.arrow_type)
        )
        chunks.clear()
        pa.default_memory_pool().release_unused()
    order = np.lexsort(tuple(columns[name] for name in ORDER_KEYS))
    if not np.array_equal(order, np.arange(len(order))):
        start = _reorder(columns, start, order)
    return RunTable(event_start=start, **columns)


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


def _reorder(columns: dict[str, Any], start: Ints, order: Ints) -> Ints:
    """The new `event_start`, with row i of all columns replaced by row `order[i]`.

    One column after the other, so that the old ones don't stay in memory together.
    """
    lengths = np.diff(start)[order]
    new_start = _starts(lengths)
    entry = np.repeat(start[:-1][order] - new_start[:-1], lengths) + np.arange(new_start[-1])
    event_names = {column.name for column in EVENT_COLUMNS}
    for name, values in columns.items():
        if len(values):
            columns[name] = values[entry if name in event_names else order]
    return new_start
