"""Requirements as users write them: `ttft.p99<500ms`, `goodput_rps(ttft<500ms)>=3 @c=8`.

Figures are handed in with their units; nothing is looked up. What can't be read is pointed at.
"""

import math
import re
from collections.abc import Callable, Mapping
from operator import ge, gt, le, lt

from msgspec import Struct

from loadgen.errors import UsageError
from loadgen.specs.quantities import comma_spans, near_match, pointed_error

GOODPUT, ATTAINMENT = "goodput_rps", "attainment_frac"
COUNTED = {GOODPUT: "req/s", ATTAINMENT: "frac"}
"""Figures that are counted request by request against limits of their own."""

OPERATORS: dict[str, Callable[[float, float], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}
SUFFIXES = ("", "_s", "_tps", "_rps", "_frac", "_tok")
_SCALES: dict[str, dict[str, float]] = {
    "s": {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "min": 60.0},
    "frac": {"": 1.0, "%": 0.01},
    "tok/s": {"": 1.0, "tok/s": 1.0, "tps": 1.0, "/s": 1.0},
    "req/s": {"": 1.0, "req/s": 1.0, "rps": 1.0, "/s": 1.0},
    "USD": {"": 1.0, "USD": 1.0, "$": 1.0},
}
_NUMBER = re.compile(r"\s*\$?([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)\s*(\S*)\s*$", re.ASCII)
_COMPARISON = re.compile(r"(<=|>=|<|>|==|=)")
_AT = re.compile(r"@\s*(\S+)\s*$")


class Limit(Struct, frozen=True):
    """A bound of one request's figure, in SI units."""

    metric: str
    operator: str
    value: float
    unit: str


class Gate(Struct, frozen=True):
    """One requirement, in SI units. `limits` are those of each request, for counted figures."""

    text: str
    key: str
    operator: str
    limit: float
    unit: str
    load: str = ""
    """The only load that it asks of; empty: of every point."""
    limits: tuple[Limit, ...] = ()

    def met_by(self, value: float) -> bool:
        """Whether the value meets it."""
        return OPERATORS[self.operator](value, self.limit)


def parse_gate(text: str, figures: Mapping[str, str], metrics: Mapping[str, str]) -> Gate:
    """The requirement that the text states. `figures`: units by `metric.stat`; `metrics`: units of
    what single requests have.

    Raises:
        UsageError: no such figure, no comparison, or no number of its unit; with a caret.

    """
    load, end = _load_of(text)
    opened, closed = _brackets(text, end)
    found = _COMPARISON.search(text, closed, end)
    if found is None:
        what = "a comparison was expected, as `ttft_s.p99<0.5`"
        raise pointed_error(text, 0, end, what, f"known: {', '.join(OPERATORS)}")
    name_end = min(opened, found.start())
    key, unit = _figure(text, name_end, figures)
    limits = _limits(text, opened + 1, closed - 1, metrics) if opened < closed else ()
    if limits and key not in COUNTED:
        what = f"`{key}` takes no limits in brackets"
        raise pointed_error(text, opened, closed, what, f"{' and '.join(COUNTED)} do")
    operator, limit = _bound(text, found, end, unit)
    return Gate(text.strip(), key, operator, limit, unit, load, limits)


def with_limits(gate: Gate, others: tuple[Gate, ...]) -> Gate:
    """A counted figure without limits of its own takes those of the other gates' times.

    Raises:
        UsageError: there are none.

    """
    if gate.key not in COUNTED or gate.limits:
        return gate
    limits = tuple(
        Limit(other.key.partition(".")[0], other.operator, other.limit, other.unit)
        for other in others
        if other.unit == "s" and other.operator in {"<", "<="}
    )
    if not limits:
        raise UsageError(
            f"`{gate.text}`: what must a request meet to count?",
            f"write its limits: `{gate.key}(ttft<500ms,tpot<50ms){gate.operator}{gate.limit:g}`",
        )
    return Gate(gate.text, gate.key, gate.operator, gate.limit, gate.unit, gate.load, limits)


def _load_of(text: str) -> tuple[str, int]:
    """The load after `@` (`c=8` is `closed:8`), and where it begins."""
    found = _AT.search(text)
    if found is None:
        return "", len(text)
    short = re.fullmatch(r"c=(\d+)", found[1])
    return f"closed:{short[1]}" if short else found[1], found.start()


def _brackets(text: str, end: int) -> tuple[int, int]:
    """Where the limits begin and end, brackets included; (end, 0) without any."""
    opened = text.find("(", 0, end)
    if opened < 0:
        return end, 0
    closed = text.find(")", opened, end)
    if closed < 0:
        raise pointed_error(text, opened, end, "this bracket is never closed")
    return opened, closed + 1


def _figure(text: str, end: int, figures: Mapping[str, str]) -> tuple[str, str]:
    """The figure's full name and its unit; the unit's suffix may be left away."""
    said = text[:end].strip()
    known = {**figures, **COUNTED}
    metric, dot, stat = said.partition(".")
    for suffix in SUFFIXES:
        key = f"{metric}{suffix}{dot}{stat}"
        if key in known:
            return key, known[key]
    stats = [key for s in SUFFIXES for key in figures if key.partition(".")[0] == f"{metric}{s}"]
    if stats:
        missing = "which statistic of it?" if not dot else f"it has no `{stat}`"
        raise pointed_error(text, 0, end, f"`{said}`: {missing}", f"known: {', '.join(stats)}")
    near = near_match(said, list(known))
    hint = f"{near}docs/definitions.md lists the figures"
    raise pointed_error(text, 0, end, f"unknown figure `{said}`", hint)


def _bound(text: str, found: "re.Match[str]", end: int, unit: str) -> tuple[str, float]:
    """The operator and the number behind it, in SI units."""
    if found[1] not in OPERATORS:
        what = f"`{found[1]}` asks for one exact value, which no measurement has"
        raise pointed_error(text, found.start(), found.end(), what, "write <, <=, > or >=")
    number = _NUMBER.match(text[found.end() : end])
    scales = _SCALES.get(unit, {"": 1.0, unit: 1.0})
    if number is None or number[2] not in scales:
        said = text[found.end() : end].strip()
        units = ", ".join(f"`{word}`" for word in scales if word) or "no unit"
        what = f"`{said}`: a number in {units} was expected" if said else "a number is missing here"
        raise pointed_error(text, found.end(), max(end, found.end() + 1), what)
    value = float(number[1]) * scales[number[2]]
    if not math.isfinite(value):
        raise pointed_error(text, found.end(), end, f"`{number[1]}` is no number that can be met")
    return found[1], value


def _limits(text: str, start: int, end: int, metrics: Mapping[str, str]) -> tuple[Limit, ...]:
    """The limits between the brackets."""
    limits = []
    for begin, stop in comma_spans(text[:end], start):
        found = _COMPARISON.search(text, begin, stop)
        if found is None:
            what = "a limit was expected, as `ttft<500ms`"
            raise pointed_error(text, begin, max(stop, begin + 1), what)
        said = text[begin : found.start()].strip()
        metric = next((said + s for s in SUFFIXES if said + s in metrics), None)
        if metric is None:
            hint = f"{near_match(said, list(metrics))}known: {', '.join(metrics)}"
            what = f"no request has `{said}`"
            raise pointed_error(text, begin, found.start(), what, hint)
        operator, value = _bound(text, found, stop, metrics[metric])
        limits.append(Limit(metric, operator, value, metrics[metric]))
    return tuple(limits)
