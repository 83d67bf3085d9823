"""Records on disk while the run lasts: one append-only Arrow IPC stream a writer.

A batch reaches the operating system in one write, so whatever is killed, every earlier batch
stays readable. pyarrow is loaded by the first flush, not before: the first request comes first.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadgen import clock
from loadgen.errors import LoadgenError
from loadgen.model.record import Record
from loadgen.store.folder import REQUESTS_FILE, SEGMENTS_FOLDER, require_known_version
from loadgen.store.schema import arrow_batch, arrow_schema, stored_version
from loadgen.units import NS_PER_S

BUFFERED_RECORDS_MAX = 4_096
BUFFERED_EVENTS_MAX = 262_144
"""About 6 MB: the buffer is flushed by itself beyond either, so memory stays flat."""

END_OF_STREAM = b"\xff\xff\xff\xff\x00\x00\x00\x00"
SYNC_INTERVAL_NS = NS_PER_S


class SegmentWriter:
    """Appends one share's records to a segment file of its own. Used by one thread.

    Until `flush` they are in memory: flush at least twice a second. With `sync` a flush also
    outlasts a power cut, at most once a second; without, it outlasts any kill.
    """

    def __init__(self, folder: Path, share: int, *, sync: bool = False) -> None:
        self._folder = folder / SEGMENTS_FOLDER
        self._share = share
        self._sync = sync
        self._synced_at_ns = 0
        self._buffer: list[Record] = []
        self._buffered_events = 0
        self._schema: Any = None
        self._descriptor: int | None = None
        self._path = self._folder
        self._size_bytes = 0

    @property
    def path(self) -> Path:
        """The segment file; the segments' folder before the first flush."""
        return self._path

    def append(self, record: Record) -> None:
        """Takes one record; flushes when the buffer is full. Raises as `flush` does."""
        self._buffer.append(record)
        self._buffered_events += len(record.events)
        if (
            len(self._buffer) >= BUFFERED_RECORDS_MAX
            or self._buffered_events >= BUFFERED_EVENTS_MAX
        ):
            self.flush()

    def flush(self) -> None:
        """Hands what was appended to the operating system as one batch.

        Raises `LoadgenError` where the disk takes no more; the records stay in the buffer and
        the file ends with the batch before, so a later flush can succeed.
        """
        if self._buffer:
            if self._descriptor is None:
                self._open()
            content = arrow_batch(self._buffer, self._schema).serialize().to_pybytes()
            if self._size_bytes == 0:
                content = self._schema.serialize().to_pybytes() + content
            self._write(content)
            self._buffer.clear()
            self._buffered_events = 0
        self._sync_if_due()

    def close(self) -> None:
        """Flushes, marks the end and makes all of it durable. A second close does nothing."""
        self.flush()
        if self._descriptor is None:
            return
        self._write(END_OF_STREAM)
        os.fsync(self._descriptor)
        os.close(self._descriptor)
        self._descriptor = None

    def _open(self) -> None:
        if (self._folder.parent / REQUESTS_FILE).exists():
            raise LoadgenError(f"the run in `{self._folder.parent}` is finished")
        self._schema = arrow_schema()
        self._folder.mkdir(exist_ok=True)
        number = 0
        while self._descriptor is None:
            self._path = self._folder / f"share-{self._share:03d}-{number:03d}.arrows"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
            try:
                self._descriptor = os.open(self._path, flags, 0o644)
            except FileExistsError:
                number += 1
        self._size_bytes = 0

    def _write(self, content: bytes) -> None:
        assert self._descriptor is not None
        left = memoryview(content)
        try:
            while left:
                left = left[os.write(self._descriptor, left) :]
        except OSError as exc:
            os.ftruncate(self._descriptor, self._size_bytes)
            raise LoadgenError(
                f"can't write `{self._path}`: {exc.strerror}", "free some space on that disk"
            ) from exc
        self._size_bytes += len(content)

    def _sync_if_due(self) -> None:
        if not self._sync or self._descriptor is None:
            return
        now_ns = clock.now_ns()
        if now_ns - self._synced_at_ns >= SYNC_INTERVAL_NS:
            os.fsync(self._descriptor)
            self._synced_at_ns = now_ns


@dataclass(frozen=True, slots=True)
class Segment:
    """What a segment file holds: whole `pyarrow.RecordBatch`es, mapped and not copied."""

    path: Path
    batches: tuple[Any, ...]
    truncated: bool
    """Bytes follow the last whole batch that are none: the writer was killed in mid-write."""


def segment_paths(folder: Path) -> list[Path]:
    """The segment files of a run, by share and number; empty once it is finished."""
    return sorted((folder / SEGMENTS_FOLDER).glob("*.arrows"))


def read_segment(path: Path) -> Segment:
    """All whole batches of `path`, however the file ends.

    Raises `InputError` where the file is of a format version that this tool doesn't read.
    """
    import pyarrow as pa

    size_bytes = path.stat().st_size
    if size_bytes == 0:
        return Segment(path, (), truncated=True)
    source = pa.memory_map(str(path))
    batches: list[Any] = []
    end_bytes = 0
    try:
        reader = pa.ipc.open_stream(source)
        require_known_version(path, stored_version(reader.schema))
        if not reader.schema.equals(arrow_schema()):
            return Segment(path, (), truncated=True)
        end_bytes = source.tell()
        while (batch := _next_batch(reader)) is not None:
            batches.append(batch)
            end_bytes = source.tell()
    except (pa.ArrowException, OSError, EOFError):
        return Segment(path, tuple(batches), truncated=True)
    end_bytes = max(end_bytes, source.tell())
    return Segment(path, tuple(batches), truncated=end_bytes < size_bytes)


def _next_batch(reader: Any) -> Any:
    """The next batch, checked value by value, or None at the end of the stream."""
    try:
        batch = reader.read_next_batch()
    except StopIteration:
        return None
    batch.validate(full=True)
    return batch
