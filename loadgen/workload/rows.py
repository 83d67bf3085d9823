"""Rows of JSONL and JSON-array files by number, in bounded memory: a map and an index."""

import mmap
import re
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from loadgen.errors import InputError
from loadgen.specs import input_error

T = TypeVar("T")

Text = mmap.mmap | bytes

_LINE_END = re.compile(rb"\n")
_BOM = b"\xef\xbb\xbf"
_MARKS = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[{}\[\]]', re.DOTALL)


class Rows:
    """The rows of one file. `rows[i]` are the bytes of row i, a JSON value each.

    The file must not change while it is open: it is mapped, not copied (16 bytes a row are kept).
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._text = _mapped(path)
        self._starts = array("Q")
        self._ends = array("Q")
        skip = len(_BOM) if self._text[:3] == _BOM else 0
        in_array = re.compile(rb"\s*\[").match(self._text, skip)
        spans = _elements(self._text, skip, path) if in_array else _lines(self._text, skip)
        for start, end in spans:
            self._starts.append(start)
            self._ends.append(end)
        if not self._starts:
            raise InputError(f"`{path}` holds no row", "write one JSON object a line")

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, row: int) -> bytes:
        return self._text[self._starts[row] : self._ends[row]]

    def line_of(self, row: int) -> int:
        """The row's first line in the file, counted from 1. Reads the file up to there."""
        return 1 + sum(1 for _ in _LINE_END.finditer(self._text, 0, self._starts[row]))

    def decode(self, row: int, kind: type[T]) -> T:
        """The row as `kind`.

        Raises:
            InputError: not UTF-8, no JSON, or not what `kind` expects; names file, line, path
                inside the row, value and what was expected.

        """
        text = self[row]
        try:
            text.decode("utf-8")
            return msgspec.json.decode(text, type=kind)
        except UnicodeDecodeError as error:
            raise InputError(f"`{self._where(row)}`: not UTF-8 at byte {error.start}") from error
        except msgspec.ValidationError as error:
            raise input_error(self._where(row), error, msgspec.json.decode(text), kind) from error
        except msgspec.DecodeError as error:
            why = str(error).removeprefix("JSON is malformed: ")
            raise InputError(f"`{self._where(row)}`: no JSON: {why}") from error

    def _where(self, row: int) -> str:
        return f"{self.path}:{self.line_of(row)}"


def _mapped(path: Path) -> Text:
    try:
        with path.open("rb") as file:
            if path.stat().st_size == 0:
                return b""
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise InputError(f"`{path}`: {(error.strerror or str(error)).lower()}") from error


def _lines(text: Text, start: int) -> Iterator[tuple[int, int]]:
    """Spans of lines that aren't blank."""
    size = len(text)
    while start < size:
        found = text.find(b"\n", start)
        end = size if found < 0 else found
        if text[start:end].strip():
            yield start, end
        start = end + 1


def _elements(text: Text, start: int, path: Path) -> Iterator[tuple[int, int]]:
    """Spans of the objects and arrays that stand directly in the outermost array."""
    depth = 0
    begin = start
    for mark in _MARKS.finditer(text, start):
        sign = text[mark.start()]
        if sign in b"{[":
            depth += 1
            begin = mark.start() if depth == 2 else begin
        elif sign in b"}]":
            depth -= 1
            if depth == 1:
                yield begin, mark.end()
            elif depth == 0:
                return
    raise InputError(f"`{path}` ends in the middle of its JSON array")
