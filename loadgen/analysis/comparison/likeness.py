"""Whether two sides of runs are alike enough for their difference to mean what it seems to.

What `blocks` makes every verdict that it touches `inconclusive`; the rest is told beside them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from loadgen.analysis.words import in_percent
from loadgen.model.comparison import ReviewedRun, Unlike
from loadgen.model.plan import Plan
from loadgen.model.summary import PointSummary

ERRORS_FRAC = 0.005
"""Shares of failed requests may differ by so much."""
CACHED_FRAC = 0.02
WEAK_GRADES = frozenset({"C", "refuse"})
DRIFTS = frozenset({"drifting_up", "drifting_down", "anomaly"})


@dataclass(frozen=True, slots=True)
class _Trait:
    """Something of a plan in which sides should agree."""

    what: str
    of: Callable[[Plan], object]
    blocks: bool
    because: str


TRAITS = (
    _Trait(
        "workload",
        lambda plan: plan.workload.sha256[:12] or plan.workload.name,
        True,
        "other prompts are another measurement",
    ),
    _Trait(
        "rules",
        lambda plan: None if plan.replay is None else plan.replay.name,
        True,
        "a replay by other rules is another load",
    ),
    _Trait("model", lambda plan: plan.target.model, False, "this compares models too"),
    _Trait("seed", lambda plan: plan.seed, False, "prompts and arrivals were drawn anew"),
    _Trait(
        "stream", lambda plan: plan.target.stream, True, "unstreamed answers have no first token"
    ),
    _Trait(
        "extra body",
        lambda plan: sorted(map(repr, plan.target.extra_body.items())),
        False,
        "requests asked for different things",
    ),
)


def unlike_runs(base: Sequence[ReviewedRun], new: Sequence[ReviewedRun]) -> Iterator[Unlike]:
    """Where the plans of the runs differ, and which runs can't be relied on."""
    runs = (*base, *new)
    for trait in TRAITS:
        seen = list(dict.fromkeys(str(trait.of(run.plan)) for run in runs))
        if len(seen) > 1:
            words = " and ".join(f"`{value}`" for value in seen[:4])
            yield Unlike(trait.what, f"{trait.what}: {words}; {trait.because}", trait.blocks)
    hosts = sorted({run.host for run in runs if run.host})
    if len(hosts) > 1:
        yield Unlike("client", f"measured from {len(hosts)} client machines", False)
    for run in runs:
        if run.summary.verdict == "invalid":
            reason = "; ".join(run.summary.verdict_reasons) or "see its report"
            yield Unlike("verdict", f"{run.name} is invalid: {reason}", True)
        if run.summary.state != "complete":
            yield Unlike("state", f"{run.name} was {run.summary.state}: less was measured", False)


def unlike_points(
    point: str, base: Sequence[PointSummary], new: Sequence[PointSummary]
) -> Iterator[Unlike]:
    """Where the two sides of one point differ in what they measured, or can't be relied on."""
    yield from _shares(point, "error_frac", "errors", ERRORS_FRAC, base, new)
    yield from _shares(point, "cached_frac", "cache", CACHED_FRAC, base, new)
    rules = {_rule(one) for one in (*base, *new)}
    if len(rules) > 1:
        words = " and ".join(f"`{rule}`" for rule in sorted(rules))
        yield Unlike("window", f"figures of different spans: {words}", True, point)
    for side, points in (("base: ", base), ("new: ", new)) if new else (("", base),):
        yield from _weak_clients(point, side, points)
        yield from _unsteady(point, side, points)


def _shares(
    point: str,
    key: str,
    what: str,
    most: float,
    base: Sequence[PointSummary],
    new: Sequence[PointSummary],
) -> Iterator[Unlike]:
    """The two sides' shares where they are too far apart."""
    before, now = _mean(key, base), _mean(key, new)
    if before is None or now is None or abs(now - before) <= most:
        return
    text = f"{what}: {in_percent(before)} and {in_percent(now)}, more than {in_percent(most)} apart"
    yield Unlike(what, text, True, point)


def _mean(key: str, points: Sequence[PointSummary]) -> float | None:
    """Mean share over a side's runs, of those that tell it."""
    measures = [one.measures[key] for one in points if key in one.measures]
    values = [measure.value for measure in measures if measure.value is not None]
    return sum(values) / len(values) if values else None


def _rule(point: PointSummary) -> str:
    """How the window was found, without what was cut from it; `whole point` without one."""
    return "whole point" if point.window is None else point.window.rule.partition(";")[0]


def _weak_clients(point: str, side: str, points: Sequence[PointSummary]) -> Iterator[Unlike]:
    """Runs whose client can't be relied on; they block where they are more than half."""
    weak = [one for one in points if one.client_grade in WEAK_GRADES]
    if weak:
        grades = ", ".join(sorted({one.client_grade for one in weak}))
        text = f"{side}client grade {grades}{_of(len(weak), len(points))}"
        yield Unlike("client", text, 2 * len(weak) > len(points), point)


def _unsteady(point: str, side: str, points: Sequence[PointSummary]) -> Iterator[Unlike]:
    """Runs that did not stand level. A single one that is too short to judge can't be used."""
    verdicts = ["not_found" if one.steady is None else one.steady.verdict for one in points]
    moved = [verdict for verdict in verdicts if verdict in DRIFTS]
    if moved:
        words = ", ".join(sorted(set(moved))).replace("_", " ")
        text = f"{side}{words}{_of(len(moved), len(points))}"
        yield Unlike("steady", text, 2 * len(moved) > len(points), point)
    unjudged = verdicts.count("not_found")
    if unjudged:
        steady = points[verdicts.index("not_found")].steady
        why = "" if steady is None or not steady.reason else f": {steady.reason}"
        text = f"{side}not known to be steady{_of(unjudged, len(points))}{why}"
        yield Unlike("steady", text, len(points) == 1, point)


def _of(some: int, whole: int) -> str:
    """`` of a single run, else ` in 2 of 5 runs`."""
    return "" if whole == 1 else f" in {some} of {whole} runs"
