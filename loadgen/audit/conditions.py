"""Whether a claim and a run are of the same thing: each condition as both sides tell it."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from loadgen.audit.printed import read_number
from loadgen.errors import InputError
from loadgen.model.claim import Claim, Fact
from loadgen.model.measured import MeasuredRun

Relation = Literal["same", "differs", "open"]
LENGTH_FRAC = 0.10
"""Prompts and answers within a tenth of each other count as alike."""
CACHED_FRAC = 0.05
"""Shares of cached prompts this near each other count as alike."""
TOLD = ("stated", "inferred", "partial")
MEANING_CHARS = 4
DRAFTED = "drafted"
"""Speculation by counters alone: they tell that there is some, and no method."""
NO_SPECULATION = ("none", "off")


class Condition(NamedTuple):
    """One condition. `essential`: without it nothing can be compared at all."""

    name: str
    said: str
    measured: str
    relation: Relation
    essential: bool = False

    @property
    def text(self) -> str:
        """Both sides in words."""
        if self.relation != "same":
            return f"{self.name}: the claim's is {self.said}, the run's {self.measured}"
        return f"{self.name} {self.measured or self.said}"


def conditions_of(claim: Claim, run: MeasuredRun) -> tuple[Condition, ...]:
    """All conditions that decide a figure, the essential ones first."""
    return tuple(_conditions(claim, run))


def _conditions(claim: Claim, run: MeasuredRun) -> Iterator[Condition]:
    yield _named("model", _said(claim, "model"), run.models, essential=True)
    hw = _fact(claim, "hw")
    named = hw if isinstance(hw, dict) else {}
    gpu = str(named.get("gpu") or (hw if isinstance(hw, str) else "") or "")
    yield _named("GPU", gpu, run.gpu_names, essential=True)
    used = named.get("gpus_used")
    yield _number("GPUs used", "" if used is None else str(used), run.gpus, 0.0)
    yield _named("precision", _said(claim, "precision"), _one(run.precision))
    yield _speculation(_said(claim, "speculation"), run.speculation)
    yield _named("engine", _said(claim, "engine"), _one(run.engine))
    yield _version(_said(claim, "engine_version"), run.engine_version)
    yield _number("prompt tokens", _said(claim, "isl"), run.input_tok, LENGTH_FRAC)
    yield _number("answer tokens", _said(claim, "osl"), run.output_tok, LENGTH_FRAC)
    yield _cached(_said(claim, "cached_share"), run.cached_frac)
    data = run.fields.get("data set")
    yield _data(_said(claim, "dataset"), data.observed if data else "")


def _named(name: str, said: str, measured: tuple[str, ...], essential: bool = False) -> Condition:
    """Same where one name holds the other, letters and digits compared."""
    ours = ", ".join(measured)
    if not said or not measured:
        return Condition(name, said, ours, "open", essential)
    wanted = _plain(said)
    alike = any(wanted in _plain(one) or _plain(one) in wanted for one in measured)
    return Condition(name, said, ours, "same" if alike else "differs", essential)


def _number(name: str, said: str, measured: float | None, tolerance_frac: float) -> Condition:
    """Same within the tolerance and the rounding of what was printed."""
    ours = "" if measured is None else f"{measured:,.10g}"
    wanted = _parsed(said)
    if wanted is None or measured is None:
        return Condition(name, said, ours, "open")
    value, half = wanted
    alike = abs(measured - value) <= half + tolerance_frac * value
    return Condition(name, said, ours, "same" if alike else "differs")


def _cached(said: str, measured: float | None) -> Condition:
    """`0.96` or `96 %`."""
    ours = "" if measured is None else f"{measured:.1%}"
    wanted = _parsed(said)
    if wanted is None or measured is None:
        return Condition("cached share", said, ours, "open")
    share = wanted[0] / 100 if "%" in said else wanted[0]
    alike = abs(measured - share) <= CACHED_FRAC
    return Condition("cached share", said, ours, "same" if alike else "differs")


def _speculation(said: str, measured: str) -> Condition:
    """On or off; two methods are alike only by name."""
    if not said or not measured:
        return Condition("speculation", said, measured, "open")
    off = [text.lower() in NO_SPECULATION for text in (said, measured)]
    if all(off):
        return Condition("speculation", said, measured, "same")
    if any(off):
        return Condition("speculation", said, measured, "differs")
    if DRAFTED in (said, measured):
        return Condition("speculation", said, measured, "same")
    return _named("speculation", said, (measured,))


def _version(said: str, measured: str) -> Condition:
    """Another version doesn't make the run one of something else, but it leaves room."""
    if said and measured and _plain(measured) in _plain(said):
        return Condition("engine version", said, measured, "same")
    return Condition("engine version", said, measured, "open")


def _data(said: str, measured: str) -> Condition:
    """Alike where they share a word."""
    if not said or not measured:
        return Condition("data", said, measured, "open")
    one, other = (
        {word for word in _words(text) if len(word) >= MEANING_CHARS} for text in (said, measured)
    )
    return Condition("data", said, measured, "same" if one & other else "differs")


def _fact(claim: Claim, name: str) -> object:
    fact = claim.facts.get(name, Fact())
    return fact.v if fact.status in TOLD else None


def _said(claim: Claim, name: str) -> str:
    value = _fact(claim, name)
    return "" if value is None else str(value)


def _parsed(said: str) -> tuple[float, float] | None:
    """The number in the words with half a unit of its last digit; None where there is none."""
    if not said:
        return None
    try:
        number = read_number(said)
    except InputError:
        return None
    return number.value, number.half


def _one(text: str) -> tuple[str, ...]:
    return (text,) if text else ()


def _plain(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalnum())


def _words(text: str) -> list[str]:
    return "".join(c if c.isalpha() else " " for c in text.lower()).split()
