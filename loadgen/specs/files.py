"""Typed YAML files, and errors of input files that name place, value and what was expected."""

import re
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from loadgen.errors import InputError
from loadgen.specs.quantities import near_match

T = TypeVar("T")

ANY_KEY = "..."
"""How msgspec writes the key of a mapping in its paths."""

WORDS = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "object": "an object with members",
    "array": "a list",
}


def load_yaml(path: Path, kind: type[T]) -> T:
    """The file's content as `kind`, every value checked against its annotation.

    Raises:
        InputError: unreadable, no YAML, or a value that `kind` refuses; names the file and line,
            the path inside it, the value and what was expected.

    """
    import yaml  # 15 ms that a run without a file shouldn't pay for

    try:
        text = path.read_text(encoding="utf-8")
        loaded = yaml.safe_load(text)
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except OSError as error:
        raise InputError(f"`{path}`: {(error.strerror or str(error)).lower()}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"`{path}`: not UTF-8 at byte {error.start}") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        raise InputError(f"`{path}{line}`: {getattr(error, 'problem', None) or error}") from error
    try:
        return msgspec.convert(loaded, kind)
    except msgspec.ValidationError as error:
        inside = _keyed(_inside(error), error, loaded, kind)
        where = f"{path}:{_line_of(root, inside) + 1}" if root else str(path)
        raise input_error(where, error, loaded, kind) from error


def input_error(
    where: str, error: msgspec.ValidationError, loaded: object, kind: type | None = None
) -> InputError:
    """What msgspec refused, with file (`where`), path inside, value and what was expected."""
    expected = _in_our_words(str(error).partition(" - at ")[0])
    inside = _keyed(_inside(error), error, loaded, kind)
    value: object = loaded
    for step in inside:
        value = _stepped(value, step)
    shown = repr(value) if not isinstance(value, dict | list) else type(value).__name__
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in inside)
    unknown = re.search(r"unknown field `(.+?)`", expected)
    hint = None
    if unknown and kind is not None and not inside and issubclass(kind, msgspec.Struct):
        known = list(kind.__struct_encode_fields__)
        hint = near_match(unknown[1], known) + f"known: {', '.join(known)}"
    return InputError(f"`{where}` at `${place}`: {expected}; the value is {shown[:80]}", hint)


def _in_our_words(refusal: str) -> str:
    """`Expected `str`, got `int``: `a text was expected`."""
    types = re.match(r"Expected `([^`]+)`(.*?)(?:, got .*)?$", refusal)
    if types:
        names = " or ".join(
            WORDS.get(kind, kind) for kind in types[1].split(" | ") if kind != "null"
        )
        return f"{names}{types[2]} was expected"
    if refusal.startswith("Invalid enum value"):
        return "none of the known words"
    return (
        refusal.removeprefix("Object contains an ")
        .removeprefix("Object contains ")
        .removeprefix("Object ")
    )


def _inside(error: msgspec.ValidationError) -> list[str | int]:
    """Steps of msgspec's path: `$.points[0].load` gives points, 0, load."""
    path = re.search(r" - at `(?:key in )?\$(.*)`$", str(error))
    steps = re.findall(r"\.([^.\[]+)|\[(\d+)\]|\[(\.\.\.)\]", path[1]) if path else []
    return [key or any_key or int(number) for key, number, any_key in steps]


def _keyed(
    steps: list[str | int], error: msgspec.ValidationError, loaded: object, kind: type | None
) -> list[str | int]:
    """The steps with the keys that msgspec writes as `[...]`: each the first that is refused so."""
    if ANY_KEY not in steps or kind is None:
        return steps
    at = steps.index(ANY_KEY)
    holder: object = loaded
    for step in steps[:at]:
        holder = _stepped(holder, step)
    for key in list(holder) if isinstance(holder, dict) else []:
        alone = _with(loaded, steps[:at], {key: _stepped(holder, key)})
        try:
            msgspec.convert(alone, kind)
        except msgspec.ValidationError as again:
            if str(again) == str(error):
                return _keyed([*steps[:at], key, *steps[at + 1 :]], error, alone, kind)
    return steps


def _with(value: object, steps: list[str | int], end: object) -> object:
    """A copy of the value in which `end` stands at these steps."""
    if not steps:
        return end
    inner = _with(_stepped(value, steps[0]), steps[1:], end)
    if isinstance(value, dict):
        return {**value, steps[0]: inner}
    if isinstance(value, list) and isinstance(steps[0], int):
        return [*value[: steps[0]], inner, *value[steps[0] + 1 :]]
    return value


def _stepped(value: object, step: str | int) -> object:
    if isinstance(value, dict):
        return value.get(step)
    if isinstance(value, list) and isinstance(step, int) and step < len(value):
        return value[step]
    return None


def _line_of(node: Any, inside: list[str | int]) -> int:
    """Zero-based line of the YAML node at `inside`, or of the deepest one found on the way."""
    line: int = node.start_mark.line
    for step in inside:
        pairs = node.value if isinstance(node.value, list) else []
        if isinstance(step, int):
            node = pairs[step] if step < len(pairs) else None
        else:
            node = next((b for a, b in pairs if a.value == step), None)
        if node is None:
            return line
        line = node.start_mark.line
    return line
