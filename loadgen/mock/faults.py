"""Fault switches: what can go wrong on purpose, for the whole server or for one request.

A switch is a text, `kind:member=value,...`, as in `stall:after=3,ms=500,p=0.1`. `after` counts
token events already written; `p` is the share of requests hit, drawn from the server's seed and
the request's number; `first=N` hits the first N requests only, `for_s=T` the first T seconds.
"""

import random
from dataclasses import dataclass

Value = int | float | str


class FaultError(ValueError):
    """A switch that can't be read: the text, the part, what was expected."""


KINDS: dict[str, dict[str, Value]] = {
    "status": {"code": 500, "retry_after": "", "echo_auth": 0},
    "json_error": {"message": "quota exceeded"},
    "echo_auth": {"code": 401},
    "strict": {},
    "missing": {"path": "/health", "after_s": 0.0},
    "counters_reset": {"at_s": 5.0},
    "counters_inflated": {"times": 1.2},
    "power_gap": {"at_s": 3.0, "lasts_s": 5.0},
    "metrics_model": {"name": "another-model"},
    "slow": {"path": "/metrics", "ms": 1000},
    "slow_accept": {"ms": 200},
    "stall": {"after": 0, "ms": 0},
    "reset": {"after": 2},
    "truncate": {"after": 2, "how": "clean"},
    "garbage": {"after": 2},
    "error": {"after": 2, "named": 0, "done": 1},
    "abort": {"after": 2},
    "no_usage": {},
    "no_done": {},
    "comments": {"ms": 100, "text": " keep-alive"},
    "no_space": {},
    "crlf": {},
    "split": {"bytes": 7, "gap_ms": 0},
    "coalesce": {"events": 3},
    "buffer": {"bytes": 0},
    "long_line": {"chars": 300_000, "channel": "reasoning_content"},
    "close": {},
    "whole": {},
}
"""Every kind with its members and their defaults. `stall:ms=0` never goes on; `buffer:bytes=0`
holds everything until the end; `truncate:how=eof` leaves the body unfinished too."""

_EVERY: dict[str, Value] = {"p": 1.0, "first": 0, "for_s": 0.0}
_WORDS = {"how": ("clean", "eof"), "channel": ("reasoning_content", "reasoning", "content")}


@dataclass(frozen=True, slots=True)
class Fault:
    """One switch: its kind and members, defaults filled in."""

    kind: str
    members: dict[str, Value]

    def number(self, name: str) -> float:
        """A member as a number."""
        return float(self.members[name])

    def count(self, name: str) -> int:
        """A member as a whole number."""
        return int(self.members[name])

    def text(self, name: str) -> str:
        """A member as a text."""
        return str(self.members[name])


def parse_fault(text: str) -> Fault:
    """The switch that a text names. Raises: FaultError."""
    kind, _, rest = text.partition(":")
    if kind not in KINDS:
        raise FaultError(f"fault `{text}`: unknown kind `{kind}`: expected one of {_words(KINDS)}")
    members = {**_EVERY, **KINDS[kind]}
    for part in filter(None, rest.split(",")):
        name, equals, value = part.partition("=")
        if name not in members or not equals:
            known = _words(members)
            raise FaultError(f"fault `{text}`: `{part}`: expected member=value with {known}")
        members[name] = _value(text, name, value, members[name])
    return Fault(kind, members)


def _value(text: str, name: str, value: str, default: Value) -> Value:
    if name in _WORDS and value not in _WORDS[name]:
        expected = _words(_WORDS[name])
        raise FaultError(f"fault `{text}`: {name}: `{value}`: expected one of {expected}")
    if isinstance(default, str):
        return value
    try:
        number = float(value)
    except ValueError as exc:
        raise FaultError(f"fault `{text}`: {name}: `{value}`: expected a number") from exc
    if number < 0 or (name == "p" and number > 1):
        expected = "0 to 1" if name == "p" else "0 or more"
        raise FaultError(f"fault `{text}`: {name}: `{value}`: expected {expected}")
    return int(number) if isinstance(default, int) else number


def _words(names: object) -> str:
    return ", ".join(f"`{name}`" for name in names)  # type: ignore[attr-defined]


class Faults:
    """The switches that hit one request: by kind."""

    def __init__(self, active: list[Fault]) -> None:
        self._by_kind = {fault.kind: fault for fault in active}

    def get(self, kind: str) -> Fault | None:
        """The switch of this kind, where it hits."""
        return self._by_kind.get(kind)

    def has(self, kind: str) -> bool:
        """Whether a switch of this kind hits."""
        return kind in self._by_kind

    def kinds(self) -> list[str]:
        """The kinds that hit, for the truth log."""
        return sorted(self._by_kind)


def draw_faults(switches: list[Fault], seed: int, number: int, age_s: float) -> list[Fault]:
    """The server's switches that hit its `number`-th request (from 0) at `age_s` after start."""
    hits = []
    for place, fault in enumerate(switches):
        chance = random.Random(f"{seed}:fault:{place}:{number}").random()
        first, for_s = fault.count("first"), fault.number("for_s")
        is_due = (not first or number < first) and (not for_s or age_s < for_s)
        if is_due and chance < fault.number("p"):
            hits.append(fault)
    return hits
