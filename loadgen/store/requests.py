"""The end of a run: segments become one `requests.parquet`, ordered and compressed.

Memory holds one row group, whatever the run's length. numpy and pyarrow are loaded when it runs.
"""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from loadgen.errors import LoadgenError
from loadgen.store.folder import (
    FINISHED_SEGMENTS_FOLDER,
    REQUESTS_FILE,
    SEGMENTS_FOLDER,
    sync_folder,
)
from loadgen.store.schema import COLUMNS, EVENT_COLUMNS, TRUNCATED_KEY, arrow_schema
from loadgen.store.segments import read_segment, segment_paths

GROUP_ROWS_MAX = 16_384
GROUP_EVENTS_MAX = 2_097_152
"""A row group ends at either, and at the end of a point: about 44 MB of events at most."""

ORDER_KEYS = ("seq", "share", "due_at_ns", "point")
"""Least significant first, as `numpy.lexsort` wants them."""


def finish(folder: Path) -> Path:
    """The path of `requests.parquet`, made of all whole batches; the segments are gone then.

    To be called when every writer has closed. Safe to kill and to repeat at any moment: segments
    are removed only when the Parquet file is durably in place. Raises `LoadgenError` where it
    can't be written.
    """
    path = folder / REQUESTS_FILE
    segments = folder / SEGMENTS_FOLDER
    if segments.is_dir() or not path.exists():
        for stale in folder.glob(f"{path.name}.*.tmp"):
            stale.unlink()
        draft = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        try:
            _write_parquet(folder, draft)
            draft.replace(path)
            sync_folder(folder)
        except OSError as exc:
            draft.unlink(missing_ok=True)
            raise LoadgenError(
                f"can't write `{path}`: {exc.strerror or exc}",
                f"free some space, then print the report: loadgen report {folder}",
            ) from exc
    _remove_segments(folder)
    return path


def _remove_segments(folder: Path) -> None:
    """Renamed first: a folder of half the segments must never look like a run's segments."""
    segments = folder / SEGMENTS_FOLDER
    finished = folder / FINISHED_SEGMENTS_FOLDER
    shutil.rmtree(finished, ignore_errors=True)
    if segments.is_dir():
        segments.rename(finished)
        shutil.rmtree(finished, ignore_errors=True)


def _write_parquet(folder: Path, draft: Path) -> None:
    import pyarrow.parquet as pq

    segments = [read_segment(path) for path in segment_paths(folder)]
    truncated = [segment.path.name for segment in segments if segment.truncated]
    schema = arrow_schema()
    metadata = {**schema.metadata, TRUNCATED_KEY: json.dumps(truncated).encode()}
    batches = [batch for segment in segments for batch in segment.batches]
    with draft.open("wb") as file:
        with pq.ParquetWriter(
            file,
            schema.with_metadata(metadata),
            compression="zstd",
            use_dictionary=[column.name for column in COLUMNS if column.kind != "text"],
            column_encoding={
                f"{column.name}.list.element": "DELTA_BINARY_PACKED"
                for column in EVENT_COLUMNS
                if column.arrow_type != "uint8"
            },
            store_schema=True,
        ) as writer:
            for group in ordered_groups(batches):
                writer.write_table(group)
        file.flush()
        os.fsync(file.fileno())


def ordered_groups(batches: list[Any]) -> Iterator[Any]:
    """`pyarrow.Table`s, a row group each, that hold every row once by (point, due_at_ns)."""
    import numpy as np
    import pyarrow as pa

    if not batches:
        return
    rows = np.array([len(batch) for batch in batches])
    batch_of = np.repeat(np.arange(len(batches)), rows)
    row_of = np.concatenate([np.arange(count) for count in rows])
    keys = {
        name: np.concatenate([batch.column(name).to_numpy() for batch in batches])
        for name in ORDER_KEYS
    }
    events = np.concatenate(
        [batch.column("event_at_ns").value_lengths().to_numpy() for batch in batches]
    )
    order = np.lexsort(tuple(keys.values()))
    for first, last in _group_bounds(keys["point"][order], events[order]):
        chosen = order[first:last]
        yield _gathered(pa, np, batches, batch_of[chosen], row_of[chosen])


def _group_bounds(point: Any, events: Any) -> Iterator[tuple[int, int]]:
    """Half-open row ranges, each within one point and within the limits of a row group."""
    import numpy as np

    event_end = np.cumsum(events)
    point_ends = np.append(np.flatnonzero(np.diff(point)) + 1, len(point))
    first = 0
    for point_end in point_ends.tolist():
        while first < point_end:
            events_before = int(event_end[first - 1]) if first else 0
            last = int(np.searchsorted(event_end, events_before + GROUP_EVENTS_MAX, "right"))
            last = min(max(last, first + 1), first + GROUP_ROWS_MAX, point_end)
            yield first, last
            first = last


def _gathered(pa: Any, np: Any, batches: list[Any], batch_of: Any, row_of: Any) -> Any:
    """The rows named by (batch, row), in that order, as one `pyarrow.Table`.

    Batch by batch, since taking from a chunked list column copies all its chunks first.
    """
    by_batch = np.argsort(batch_of, kind="stable")
    taken = []
    used, starts = np.unique(batch_of[by_batch], return_index=True)
    ends = np.append(starts[1:], len(by_batch))
    for batch_no, start, end in zip(used.tolist(), starts.tolist(), ends.tolist(), strict=True):
        taken.append(batches[batch_no].take(pa.array(row_of[by_batch[start:end]])))
    table = pa.Table.from_batches(taken).combine_chunks()
    place = np.empty(len(by_batch), dtype=np.int64)
    place[by_batch] = np.arange(len(by_batch))
    return table.take(pa.array(place))
