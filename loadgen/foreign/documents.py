"""JSON documents of a file with the lines they begin at; typed, with errors that name the place."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from loadgen.errors import InputError
from loadgen.specs.files import input_error

T = TypeVar("T")

Count = Annotated[int, Meta(ge=0, le=2**53)]
Seconds = Annotated[float, Meta(ge=0, le=1e9)]
WallSeconds = Annotated[float, Meta(ge=0, le=9e9)]
Nanoseconds = Annotated[int, Meta(ge=0, le=9 * 10**18)]


@dataclass(frozen=True, slots=True)
class Document:
    """One JSON value and the line of the file, from 1, that it begins at."""

    value: object
    line: int

    def has(self, *names: str) -> bool:
        """Whether it is an object with all these members."""
        return isinstance(self.value, dict) and all(name in self.value for name in names)


def read_documents(path: Path) -> list[Document]:
    """The file's one JSON value, or one a line; at least one.

    Raises:
        InputError: unreadable or no JSON; names file, line and byte.

    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"`{path}`: {(error.strerror or str(error)).lower()}") from error
    try:
        return [Document(msgspec.json.decode(content), 1)]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        lines = [(no, line) for no, line in enumerate(content.splitlines(), 1) if line.strip()]
        if len(lines) < 2:
            raise _no_json(path, 1, error) from error
    return [Document(_line(path, number, line), number) for number, line in lines]


def typed(path: Path, document: Document, kind: type[T]) -> T:
    """The document as `kind`. Raises: InputError, naming line, place, value and expectation."""
    try:
        return msgspec.convert(document.value, kind, strict=True)
    except msgspec.ValidationError as error:
        where = f"{path}:{document.line}"
        raise input_error(where, error, document.value, kind) from error


def same_length(path: Path, document: Document, columns: dict[str, Sequence[object]]) -> int:
    """The length that all columns share. Raises: InputError, naming the one that differs."""
    (first, values), *others = columns.items()
    for name, other in others:
        if len(other) != len(values):
            raise InputError(
                f"`{path}:{document.line}` at `$.{name}`: {len(values)} values were expected, as "
                f"`$.{first}` has; it has {len(other)}"
            )
    return len(values)


def _line(path: Path, number: int, line: bytes) -> object:
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _no_json(path, number, error) from error


def _no_json(path: Path, line: int, error: Exception) -> InputError:
    why = str(error).removeprefix("JSON is malformed: ")
    return InputError(
        f"`{path}:{line}`: JSON was expected: {why}",
        "give a run folder, or the JSON of vllm bench serve, aiperf or guidellm",
    )
