"""Durations, rates, token counts and lists of counts as users write them.

The `read_` functions raise ValueError with what was expected, for callers that point at the
place themselves; the `parse_` functions raise `UsageError`.
"""

import re
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from typing import TypeVar

from loadgen.errors import UsageError
from loadgen.units import NS_PER_MS, NS_PER_S, NS_PER_US

T = TypeVar("T")

_NS = {"ns": 1, "us": NS_PER_US, "µs": NS_PER_US, "ms": NS_PER_MS, "s": NS_PER_S}
_NS |= {"sec": NS_PER_S, "m": 60 * NS_PER_S, "min": 60 * NS_PER_S, "h": 3600 * NS_PER_S}
_PER_S = {"s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_NUMBER = r"(?:\d{1,15}(?:\.\d{1,9})?|\.\d{1,9})"
_DURATION = re.compile(rf"({_NUMBER})(ns|us|µs|ms|sec|s|min|m|h)")
_RATE = re.compile(rf"({_NUMBER})(?:/(sec|s|min|m|h)|rps)?")
_TOKENS = re.compile(rf"({_NUMBER})([kKmM]?)")
_MOST_COUNTS = 1000
_COUNTS_HINT = "write `1,2,4,8`, `1..64` (doubling) or `8..64:8` (steps of 8)"


def parse_duration_ns(text: str) -> int:
    """Nanoseconds of `60s`, `500ms`, `2m`, `1h`, `1m30s`; a bare number is seconds.

    Raises:
        UsageError: not a duration.

    """
    return _or_usage_error(read_duration_ns, text)


def parse_rate_rps(text: str) -> float:
    """Requests per second of `4/s`, `120/min`, `900/h`; a bare number is per second.

    Raises:
        UsageError: not a rate above 0.

    """
    return _or_usage_error(read_rate_rps, text)


def parse_tokens(text: str) -> int:
    """Tokens of `512`, `8k` (k = 1024: 8192), `1.5k`, `1m` (1024 x 1024).

    Raises:
        UsageError: not a whole number of tokens.

    """
    return _or_usage_error(read_tokens, text)


def parse_counts(text: str) -> tuple[int, ...]:
    """Whole numbers from 1, as written: `1,2,4`; `1..64` doubles; `8..64:8` steps by 8.

    The upper end is always among them: `1..100` is 1, 2, 4, ... 64, 100.

    Raises:
        UsageError: not such a list, or longer than 1,000 numbers.

    """
    counts: list[int] = []
    for start, end in comma_spans(text, 0):
        found = re.fullmatch(r"(\d+)(?:\.\.(\d+)(?::(\d+))?)?", text[start:end].strip())
        if not found:
            raise pointed_error(text, start, end, f"`{text[start:end]}` is no count", _COUNTS_HINT)
        low, high, step = (int(part) if part else None for part in found.groups())
        if not low or (high is not None and high < low) or step == 0:
            raise pointed_error(text, start, end, "counts start at 1 and rise", _COUNTS_HINT)
        counts.extend(_between(low, low if high is None else high, step))
        if len(counts) > _MOST_COUNTS:
            raise pointed_error(text, start, end, f"more than {_MOST_COUNTS} counts", _COUNTS_HINT)
    return tuple(counts)


def read_duration_ns(raw: str) -> int:
    """As `parse_duration_ns`, raising ValueError."""
    text = raw.strip()
    if re.fullmatch(_NUMBER, text):
        text += "s"
    found = list(_DURATION.finditer(text))
    if not found or "".join(match[0] for match in found) != text:
        raise ValueError("a duration was expected, like `60s`, `500ms`, `2m` or `1m30s`")
    return sum(round(float(match[1]) * _NS[match[2]]) for match in found)


def read_rate_rps(raw: str) -> float:
    """As `parse_rate_rps`, raising ValueError."""
    found = _RATE.fullmatch(raw.strip())
    if not found or float(found[1]) == 0:
        raise ValueError("a rate above 0 was expected, like `4/s`, `120/min` or `0.5/s`")
    return float(found[1]) / _PER_S[found[2] or "s"]


def read_tokens(raw: str) -> int:
    """As `parse_tokens`, raising ValueError."""
    found = _TOKENS.fullmatch(raw.strip())
    count = float(found[1]) * {"": 1, "k": 1024, "m": 1024**2}[found[2].lower()] if found else 0.5
    if count != int(count):
        raise ValueError("a whole number of tokens was expected, like `512` or `8k` (k = 1024)")
    return int(count)


def _between(low: int, high: int, step: int | None) -> list[int]:
    if step:
        counts = list(range(low, min(high, low + step * _MOST_COUNTS) + 1, step))
    else:
        counts = [low << power for power in range((high // low).bit_length())]
    return counts if counts[-1] == high or len(counts) > _MOST_COUNTS else [*counts, high]


def _or_usage_error(read: Callable[[str], T], text: str) -> T:
    try:
        return read(text)
    except ValueError as error:
        raise pointed_error(text, 0, len(text), f"`{text}`: {error}") from error


def comma_spans(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Spans between commas from `start` on; commas in quotes don't count."""
    quote, begin = "", start
    for at in range(start, len(text)):
        if quote:
            quote = "" if text[at] == quote else quote
        elif text[at] in "\"'":
            quote = text[at]
        elif text[at] == ",":
            yield begin, at
            begin = at + 1
    yield begin, len(text)


def pointed_error(
    text: str, start: int, end: int, what: str, hint: str | None = None
) -> UsageError:
    """The error with the text below it and carets under `text[start:end]`."""
    start += len(text[start:end]) - len(text[start:end].lstrip())
    carets = " " * start + "^" * max(1, end - start)
    return UsageError(f"{what}\n\n  {text}\n  {carets}", hint)


def near_match(word: str, known: list[str]) -> str:
    """`did you mean ...? ` where one of `known` is close, else an empty string."""
    near = get_close_matches(word, known, n=1, cutoff=0.5)
    return f"did you mean `{near[0]}`? " if near else ""
