"""Documents of a trace corpus by number: a folder or a file, plain or compressed, never all held.

A `.json` file is one document, a `.jsonl` file one a line; each also as `.gz` and `.zst`.
"""

import gzip
import os
import tempfile
import weakref
import zlib
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from loadgen.errors import InputError

_PIECE_BYTES = 1 << 20
_BOM = b"\xef\xbb\xbf"


class _Kind(NamedTuple):
    lines: bool
    packing: str
    """`gz`, `zst` or empty."""


class Corpus:
    """The documents at a path, files in the order of their names. Files must not change.

    A number of 8 bytes or two are kept for each document. Lines of compressed files are unpacked
    once, into a temporary file without a name.

    Raises:
        InputError: nothing there, nothing in it, or a file that can't be read or unpacked.

    """

    def __init__(self, path: Path) -> None:
        self._files = _files_at(path)
        self._file_of = array("I")
        self._starts = array("Q")
        self._ends = array("Q")
        self._lines = array("Q")
        self._spools: dict[int, int] = {}
        for number, file in enumerate(self._files):
            if _kind_of(file).lines:
                self._index_lines(number, file)
            else:
                self._add(number, 0, 0, 0)
        if not self._file_of:
            raise InputError(f"`{path}` holds no trace", "write one JSON object a line")

    def __len__(self) -> int:
        return len(self._file_of)

    def document(self, number: int) -> bytes:
        """One document's bytes, JSON as it stands in the file. Safe to call from several threads.

        Raises:
            InputError: the file is gone or can't be unpacked.

        """
        at = self._file_of[number]
        start, size = self._starts[number], self._ends[number] - self._starts[number]
        file = self._files[at]
        with _errors_of(file):
            if at in self._spools:
                return os.pread(self._spools[at], size, start)
            if not _kind_of(file).lines:
                with _opened(file) as stream:
                    return stream.read().removeprefix(_BOM)
            with file.open("rb") as stream:
                stream.seek(start)
                return stream.read(size)

    def where(self, number: int) -> str:
        """`file`, or `file:line`."""
        file, line = self._files[self._file_of[number]], self._lines[number]
        return f"{file}:{line}" if line else str(file)

    def _index_lines(self, number: int, file: Path) -> None:
        with _errors_of(file):
            if not _kind_of(file).packing:
                with file.open("rb") as stream:
                    self._index(number, stream)
                return
            spool, name = tempfile.mkstemp(prefix="loadgen-")
            os.unlink(name)
            weakref.finalize(self, os.close, spool)
            self._spools[number] = spool
            with _opened(file) as packed, os.fdopen(spool, "w+b", closefd=False) as stream:
                while piece := packed.read(_PIECE_BYTES):
                    stream.write(piece)
                stream.seek(0)
                self._index(number, stream)

    def _index(self, number: int, stream: BinaryIO) -> None:
        at = 0
        for line_no, line in enumerate(stream, 1):
            begin = at + (len(_BOM) if not at and line.startswith(_BOM) else 0)
            at += len(line)
            if not line.isspace():
                self._add(number, begin, at, line_no)

    def _add(self, number: int, start: int, end: int, line: int) -> None:
        self._file_of.append(number)
        self._starts.append(start)
        self._ends.append(end)
        self._lines.append(line)


def signature(path: Path) -> tuple[tuple[str, int, int], ...]:
    """Names, sizes and times of the files that would be read: the same, the same corpus.

    Raises: InputError as `Corpus` does.
    """
    with _errors_of(path):
        found = [(file, file.stat()) for file in _files_at(path)]
    return tuple((str(file), stat.st_size, stat.st_mtime_ns) for file, stat in found)


def _files_at(path: Path) -> list[Path]:
    """The files to read, by name.

    Raises:
        InputError: the path isn't there, or no file has a known ending.

    """
    if path.is_dir():
        with _errors_of(path):
            files = sorted(file for file in path.iterdir() if file.is_file() and _is_trace(file))
        if not files:
            raise InputError(f"`{path}` holds no trace file", f"read are {_ENDINGS}")
        return files
    if not path.exists():
        raise InputError(f"`{path}`: no such file or directory")
    if not _is_trace(path):
        raise InputError(f"`{path}` isn't known as a trace file", f"read are {_ENDINGS}")
    return [path]


_ENDINGS = "`.json` and `.jsonl`, each also with `.gz` or `.zst`"


def _is_trace(file: Path) -> bool:
    name = file.name.removesuffix(".gz").removesuffix(".zst")
    return name.endswith((".json", ".jsonl")) and not name.startswith(".")


def _kind_of(file: Path) -> _Kind:
    packing = file.suffix[1:] if file.suffix in (".gz", ".zst") else ""
    return _Kind(file.name.removesuffix(f".{packing}").endswith(".jsonl"), packing)


@contextmanager
def _opened(file: Path) -> Iterator[BinaryIO]:
    """The file's unpacked bytes."""
    match _kind_of(file).packing:
        case "gz":
            with gzip.open(file) as stream:
                yield cast(BinaryIO, stream)
        case "zst":
            import pyarrow

            with pyarrow.CompressedInputStream(str(file), "zstd") as stream:
                yield stream
        case _:
            with file.open("rb") as stream:
                yield stream


@contextmanager
def _errors_of(file: Path) -> Iterator[None]:
    """Turns what reading and unpacking raise into an `InputError` that names the file."""
    try:
        yield
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InputError(f"`{file}`: {why.lower()}") from error
