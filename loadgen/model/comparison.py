"""What two sides of runs amount to beside each other, and what a requirement made of a run."""

from typing import Literal

from msgspec import Struct

from loadgen.model.plan import Plan
from loadgen.model.summary import Better, Summary

Change = Literal["faster", "slower", "equivalent", "size_unclear", "inconclusive"]
GateStatus = Literal["pass", "fail", "unknown"]
Reproduced = Literal["reproduced", "not_reproduced", "cannot_tell"]


class ReviewedRun(Struct, frozen=True):
    """One run as a side of a comparison holds it: no records, only what they came to."""

    name: str
    """The run's folder, as it was named."""
    plan: Plan
    summary: Summary
    started_wall_ns: int = 0
    engine: str = ""
    host: str = ""
    """The client's machine."""


class Unlike(Struct, frozen=True):
    """In what the sides differ or fall short; where it `blocks`, no verdict is given."""

    what: str
    """workload, model, errors, cache, window, steady, client, verdict, state, noise ..."""
    text: str
    blocks: bool
    point: str = ""
    """The load that it concerns; empty: all points."""


class FigureChange(Struct, frozen=True):
    """One figure of one point on both sides. Shares are of the base: +0.05 is 5 % more."""

    point: str
    """The load; empty for the mean over all points that both sides have."""
    key: str
    """`metric.stat` of METRICS, or the metric where it is one number."""
    unit: str
    better: Better
    base: float | None
    """The geometric mean of that side's runs."""
    new: float | None
    margin_frac: float
    verdict: Change
    base_runs: int = 0
    new_runs: int = 0
    change_frac: float | None = None
    low_frac: float | None = None
    high_frac: float | None = None
    interval: str = ""
    """How low..high was made, with its level; empty without one."""
    direction: Literal["", "faster", "slower"] = ""
    """Which way a change of unclear size goes."""
    reason: str = ""
    """Why nothing can be said."""
    more_runs: int | None = None
    """Further runs a side until an interval of this scatter is as narrow as the margin."""


class Comparison(Struct, frozen=True):
    """NEW beside BASE, figure by figure."""

    base: tuple[str, ...]
    new: tuple[str, ...]
    figures: tuple[FigureChange, ...]
    unlike: tuple[Unlike, ...] = ()
    paired: bool = False
    """Whether runs of both sides alternated, so that each pair shares its time."""
    unmatched: tuple[str, ...] = ()
    """Points that only one side has."""


class FigureSpread(Struct, frozen=True):
    """One figure of one point over several runs of the same plan."""

    point: str
    key: str
    unit: str
    better: Better
    values: tuple[float, ...]
    mean: float
    """Geometric."""
    low: float
    high: float
    """95 % interval of the mean, t with runs as the unit."""
    spread_frac: float
    """Standard deviation of the logarithms: about the coefficient of variation."""
    widest_frac: float
    """Largest run over smallest, less 1."""
    halves_frac: float | None
    """Every other run against the rest, as if they were two sides; None under 4 runs."""
    margin_frac: float
    noisy: bool
    """Whether the place differs from itself by more than the margin: the halves, under 4 runs the
    widest pair."""
    tells_frac: dict[str, float]
    """The least change that so many runs a side would show, by number of runs."""


class Noise(Struct, frozen=True):
    """How much runs of one plan differ by themselves."""

    runs: tuple[str, ...]
    spreads: tuple[FigureSpread, ...]
    unlike: tuple[Unlike, ...] = ()


class Repetition(Struct, frozen=True):
    """Whether a run came out as the one that it repeats."""

    verdict: Reproduced
    text: str
    comparison: Comparison


class GateResult(Struct, frozen=True):
    """One requirement at one point of one run."""

    gate: str
    """As it was written."""
    status: GateStatus
    text: str
    """The figure beside the limit, in words."""
    run: str = ""
    point: str = ""
    value: float | None = None
    limit: float | None = None
    unit: str = ""
    low: float | None = None
    high: float | None = None
    n: int | None = None
    sure: bool = False
    """Whether the whole interval lies on the value's side of the limit."""


class CheckResult(Struct, frozen=True):
    """All requirements of a check."""

    gates: tuple[GateResult, ...]
    status: GateStatus
