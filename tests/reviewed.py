"""Reviewed runs out of a few figures, for everything that holds runs beside each other.

`run({"closed:1": {"out_tps": (100, 99, 101)}})` is a run of one steady point with one figure and
its interval; a figure alone has none.
"""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from loadgen.analysis import METRICS
from loadgen.model.comparison import ReviewedRun
from loadgen.model.plan import Plan, PointPlan, TargetPlan, WorkloadPlan
from loadgen.model.summary import (
    Counts,
    Headline,
    Measure,
    PointSummary,
    Steadiness,
    Summary,
    Window,
)

Figure = float | tuple[float, float, float] | None
RULE = "tokens by timestamp"
UNITS = {metric.name: (metric.unit, metric.better) for metric in METRICS}


def point(load: str, figures: Mapping[str, Figure], **given: Any) -> PointSummary:
    """One steady point with a good client."""
    made = PointSummary(
        index=0,
        load=load,
        concurrency=None,
        counts=Counts(issued=100, outcomes={"ok": 100}),
        window=Window(0, 10**10, RULE),
        measures={key: measure(key, figure) for key, figure in figures.items()},
        whole={},
        steady=Steadiness("steady", "level"),
        client_grade="A",
    )
    return replace(made, **given)


def measure(key: str, figure: Figure) -> Measure:
    """A figure by its key, with or without an interval; None is withheld."""
    name, _, stat = key.partition(".")
    unit, better = UNITS[name]
    made = Measure(name, stat or "value", unit, better, None, 100, reason="n=100 < 299")
    if figure is None:
        return made
    if isinstance(figure, tuple):
        value, low, high = figure
        return replace(made, value=value, low=low, high=high, reason="", interval="95 %")
    return replace(made, value=figure, reason="")


def run(
    points: Mapping[str, Mapping[str, Figure]],
    name: str = "run",
    at_s: int = 0,
    *,
    plan: Mapping[str, Any] | None = None,
    workload: str = "abc",
    verdict: Any = "valid",
    **of_points: Any,
) -> ReviewedRun:
    """A run of these points."""
    made = Plan(
        run_id=name,
        target=TargetPlan("http://127.0.0.1:1", "tiny"),
        workload=WorkloadPlan(sha256=workload),
        points=tuple(PointPlan(number, load) for number, load in enumerate(points)),
    )
    told = tuple(
        replace(point(load, figures, **of_points), index=number)
        for number, (load, figures) in enumerate(points.items())
    )
    summary = Summary(name, verdict, "A", (), told, Headline(), "complete")
    return ReviewedRun(name, replace(made, **(plan or {})), summary, at_s * 10**9)


def runs(key: str, values: list[float], name: str = "run", first_s: int = 1) -> list[ReviewedRun]:
    """Runs of one point with one figure each, one after another."""
    return [
        run({"closed:1": {key: value}}, f"{name}{number}", first_s + number)
        for number, value in enumerate(values)
    ]
