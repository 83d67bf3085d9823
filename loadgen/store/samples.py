"""What witnesses told during a run: lines of JSON while it lasts, one Parquet file afterwards.

A line is one look, appended in one write, so that any kill leaves all earlier ones. pyarrow and
numpy are loaded only when a file is made or read.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from loadgen.errors import InputError, LoadgenError
from loadgen.model.reading import Reading
from loadgen.store.folder import FORMAT_VERSION, require_known_version, sync_folder
from loadgen.store.schema import VERSION_KEY, stored_version
from loadgen.store.utf8 import storable

if TYPE_CHECKING:
    from loadgen.model.series import Telemetry

LINES_FILE = "telemetry.jsonl"
PARQUET_FILE = "telemetry.parquet"
TEXTS_FOLDER = "metrics"

WORDS = ("source", "origin", "name", "part")

Look = tuple[int, tuple[Reading, ...]]


class SampleLog:
    """Appends looks to a run's file. Where the disk takes no more, nothing more is kept."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / LINES_FILE
        self._is_full = False

    def keep(self, at_ns: int, readings: Sequence[Reading]) -> None:
        """Hands one look to the operating system as a whole line."""
        if self._is_full or not readings:
            return
        line = msgspec.json.encode((at_ns, readings)) + b"\n"
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                self._is_full = os.write(descriptor, line) < len(line)
            finally:
                os.close(descriptor)
        except OSError:
            self._is_full = True


def write_metrics_text(folder: Path, name: str, text: str) -> None:
    """Keeps a server's whole answer as `metrics/NAME.txt`; not at all on a full disk."""
    place = folder / TEXTS_FOLDER
    try:
        place.mkdir(exist_ok=True)
        (place / f"{name}.txt").write_text(storable(text), encoding="utf-8")
    except OSError:
        return


def finish_samples(folder: Path) -> None:
    """Makes `telemetry.parquet` of the lines, which are removed then. Safe to kill and repeat.

    Raises `LoadgenError` where it can't be written. Nothing happens where there are no lines.
    """
    lines, path = folder / LINES_FILE, folder / PARQUET_FILE
    if not lines.exists():
        return
    if not path.exists():
        draft = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        try:
            _write_parquet(_read_lines(lines), draft)
            draft.replace(path)
            sync_folder(folder)
        except OSError as exc:
            draft.unlink(missing_ok=True)
            raise LoadgenError(
                f"can't write `{path}`: {exc.strerror or exc}",
                f"free some space, then print the report: loadgen report {folder}",
            ) from exc
    lines.unlink()


def read_telemetry(folder: Path) -> "Telemetry":
    """All samples of a run by time, finished or not; an empty table where nobody was asked.

    Raises `InputError` where the file is damaged or of a version that this tool doesn't read.
    """
    from loadgen.model.series import no_telemetry

    path, lines = folder / PARQUET_FILE, folder / LINES_FILE
    if not path.exists() and lines.exists():
        try:
            return _table(_columns(_read_lines(lines)))
        except FileNotFoundError:  # finished meanwhile: then the Parquet file is there
            pass
    return _read_parquet(path) if path.exists() else no_telemetry()


def _read_lines(path: Path) -> Iterator[Look]:
    """Every whole look; a line that a kill cut is left out."""
    decoder = msgspec.json.Decoder(Look)
    with path.open("rb") as file:
        for line in file:
            try:
                yield decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue


def _columns(looks: Iterable[Look]) -> dict[str, list[Any]]:
    """Columns by name, ordered by time."""
    columns: dict[str, list[Any]] = {name: [] for name in ("at_ns", *WORDS, "value")}
    for at_ns, readings in sorted(looks, key=lambda look: look[0]):
        columns["at_ns"] += [at_ns] * len(readings)
        for word in WORDS:
            columns[word] += [getattr(reading, word) for reading in readings]
        columns["value"] += [reading.value for reading in readings]
    return columns


def _write_parquet(looks: Iterable[Look], draft: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    words = [pa.field(word, pa.string()) for word in WORDS]
    fields = [pa.field("at_ns", pa.int64()), *words, pa.field("value", pa.float64())]
    schema = pa.schema(fields, metadata={VERSION_KEY: str(FORMAT_VERSION).encode()})
    columns = _columns(looks)
    for word in WORDS:
        columns[word] = [storable(text) for text in columns[word]]
    with draft.open("wb") as file:
        pq.write_table(pa.table(columns, schema=schema), file, compression="zstd")
        file.flush()
        os.fsync(file.fileno())


def _read_parquet(path: Path) -> "Telemetry":
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as exc:
        raise InputError(
            f"`{path}` can't be read: {str(exc).splitlines()[0]}", "copy the run folder again"
        ) from exc
    require_known_version(path, stored_version(table.schema))
    return _table({name: table.column(name).to_pylist() for name in table.column_names})


def _table(columns: dict[str, list[Any]]) -> "Telemetry":
    import numpy as np

    from loadgen.model.series import Telemetry

    known: dict[str, str] = {}
    words = {
        word: np.array([known.setdefault(text, text) for text in columns[word]], dtype=object)
        for word in WORDS
    }
    at_ns = np.array(columns["at_ns"], dtype=np.int64)
    return Telemetry(at_ns=at_ns, value=np.array(columns["value"], dtype=np.float64), **words)
