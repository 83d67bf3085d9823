"""Texts that users write to frozen values: specs, durations, rates, counts, YAML files.

A spec is `name:value,key=value`. Every refusal names what was read, points at it and lists what
is known. Reads no clock and knows no room: the tables of names are handed in.
"""

import dataclasses
import math
import re
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from loadgen.errors import UsageError
from loadgen.specs.files import input_error, load_yaml
from loadgen.specs.quantities import (
    comma_spans,
    near_match,
    parse_counts,
    parse_duration_ns,
    parse_rate_rps,
    parse_tokens,
    pointed_error,
    read_duration_ns,
    read_rate_rps,
    read_tokens,
)

__all__ = [
    "input_error",
    "load_yaml",
    "parse_counts",
    "parse_duration_ns",
    "parse_rate_rps",
    "parse_spec",
    "parse_tokens",
]

T = TypeVar("T")

UNIT_SUFFIXES = ("_ns", "_rps", "_tok", "_s", "_frac")
"""Endings of field names that users leave away: `think=2s` fills `think_ns`."""

_BY_ENDING = (("_ns", read_duration_ns), ("_rps", read_rate_rps), ("_tok", read_tokens))
_KEY = re.compile(r"\s*([A-Za-z_][\w-]*)\s*=")


def parse_spec(text: str, table: Mapping[str, type[T]]) -> T:
    """An instance of `table[name]` (a dataclass or msgspec Struct) out of `name:value,key=value`.

    Bare values fill the fields in order and come before keys. A key is the field's name, with or
    without its unit. Fields are read by annotation and by ending: `_ns` durations, `_rps` rates,
    `_tok` token counts with k = 1024. A value may stand in quotes. What the type itself refuses
    (ValueError) is pointed at too, at the field that the message names.

    Raises:
        UsageError: unknown name or key, a value of the wrong kind, one too many or missing.

    """
    name, colon, _ = text.partition(":")
    made = table.get(name.strip())
    if made is None:
        what = f"unknown name `{name.strip()}`"
        raise _unknown(text, 0, len(name), what, list(table))
    fields = _fields_of(made)
    given: dict[str, _Part] = {}
    for part in _parts(text, len(name) + 1) if colon else ():
        field = _field_for(text, part, fields, given)
        given[field.name] = part
    values = {key: _value(text, part, _named(fields, key)) for key, part in given.items()}
    missing = [field.key for field in fields if field.required and field.name not in values]
    if missing:
        what = f"`{name.strip()}` needs {_listed(missing)}"
        raise pointed_error(text, len(text), len(text) + 1, what, _takes(name.strip(), fields))
    try:
        return made(**values)
    except ValueError as error:
        start, end = _blamed(str(error), given, text)
        raise pointed_error(text, start, end, str(error), None) from error


class _Part(NamedTuple):
    """One comma-separated piece of a spec: `text[start:end]`; the value alone is `value`."""

    key: str | None
    value: str
    start: int
    end: int
    value_start: int


class _Field(NamedTuple):
    name: str
    kind: Any
    required: bool

    @property
    def key(self) -> str:
        """The name as users write it: without its unit."""
        for suffix in UNIT_SUFFIXES:
            if self.name.endswith(suffix):
                return self.name.removesuffix(suffix)
        return self.name


def _fields_of(made: type) -> list[_Field]:
    hints = get_type_hints(made)
    if issubclass(made, msgspec.Struct):
        return [_Field(f.name, hints[f.name], f.required) for f in msgspec.structs.fields(made)]
    none = dataclasses.MISSING
    return [
        _Field(field.name, hints[field.name], field.default is none is field.default_factory)
        for field in dataclasses.fields(made)  # type: ignore[arg-type]
        if field.init
    ]


def _parts(text: str, start: int) -> Iterator[_Part]:
    for begin, end in comma_spans(text, start):
        keyed = _KEY.match(text, begin, end)
        value_start = keyed.end() if keyed else begin
        value = text[value_start:end].strip()
        if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        if not value:
            raise pointed_error(text, begin, end, "a value is missing here")
        key = keyed[1].replace("-", "_") if keyed else None
        yield _Part(key, value, begin, end, value_start)


def _field_for(text: str, part: _Part, fields: list[_Field], given: Mapping[str, _Part]) -> _Field:
    """The field that a part fills; bare values take the next one."""
    name = text.partition(":")[0].strip()
    if part.key is None:
        if len(given) == len(fields) or any(other.key for other in given.values()):
            what = f"`{part.value}` stands alone after keys" if given else "takes no value"
            what = f"one value too many: `{part.value}`" if len(given) == len(fields) else what
            raise pointed_error(text, part.start, part.end, what, _takes(name, fields))
        return fields[len(given)]
    for field in fields:
        if part.key in (field.name, field.key):
            if field.name in given:
                what = f"`{field.key}` is given twice"
                raise pointed_error(text, part.start, part.end, what)
            return field
    what = f"`{name}` has no `{part.key}`"
    raise _unknown(text, part.start, part.start + len(part.key), what, [f.key for f in fields])


def _value(text: str, part: _Part, field: _Field) -> object:
    try:
        return _reader(field)(part.value)
    except ValueError as error:
        what = f"`{part.value}` for `{field.key}`: {error}"
        raise pointed_error(text, part.value_start, part.end, what, None) from error


def _reader(field: _Field) -> Callable[[str], object]:
    """What reads the field's text, chosen by its ending, then by its annotation."""
    kind = field.kind
    if get_origin(kind) in (Union, types.UnionType):
        kind = next(arg for arg in get_args(kind) if arg is not types.NoneType)
    if get_origin(kind) is Literal:
        words = [str(word) for word in get_args(kind)]
        return lambda raw: _one_of(raw, words)
    for suffix, reader in _BY_ENDING:
        if field.name.endswith(suffix) and kind in (int, float):
            return reader
    return {int: _int, float: _float, bool: _bool}.get(kind, str)


def _int(raw: str) -> int:
    if not re.fullmatch(r"[+-]?\d+(_\d+)*", raw):
        raise ValueError("a whole number was expected")
    return int(raw)


def _float(raw: str) -> float:
    try:
        value = float(raw)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError("a number was expected")
    return value


def _bool(raw: str) -> bool:
    return _one_of(raw.lower(), ["true", "false", "yes", "no", "1", "0"]) in ("true", "yes", "1")


def _one_of(raw: str, words: list[str]) -> str:
    if raw not in words:
        raise ValueError(f"{near_match(raw, words)}expected {' | '.join(words)}")
    return raw


def _unknown(text: str, start: int, end: int, what: str, known: list[str]) -> UsageError:
    near = near_match(text[start:end].strip(), known)
    return pointed_error(text, start, end, what, f"{near}known: {', '.join(known) or 'nothing'}")


def _named(fields: list[_Field], name: str) -> _Field:
    return next(field for field in fields if field.name == name)


def _takes(name: str, fields: list[_Field]) -> str:
    words = [field.key if field.required else f"[{field.key}]" for field in fields]
    rate = next((f.key for f in fields if f.required and f.name.endswith("_rps")), None)
    example = f": write `{name}:{rate}=4/s`" if rate else ""
    return f"`{name}` takes {', '.join(words) or 'no values'}{example}"


def _listed(words: list[str]) -> str:
    return " and ".join(f"`{word}`" for word in words)


def _blamed(message: str, given: Mapping[str, _Part], text: str) -> tuple[int, int]:
    """Where the value stands that a type's own refusal names; the whole text if it names none."""
    for key, part in given.items():
        if re.search(rf"\b{key}\b", message):
            return part.value_start, part.end
    return 0, len(text)
