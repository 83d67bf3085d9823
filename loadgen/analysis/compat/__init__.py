"""The same records by other tools' rules. `RULES` is the table: one file a rule set.

Each is a pure function of the measured requests of a point; what a record can't tell is absent
with its reason. How tools differ: docs/other-tools.md.
"""

from collections.abc import Callable
from dataclasses import dataclass

from msgspec import structs

from loadgen.analysis.compat import aiperf, guidellm, inferencex, mlperf_endpoints, sglang, vllm
from loadgen.analysis.compat.calls import Calls
from loadgen.analysis.requests import Requests, rows_of_point
from loadgen.analysis.statistics.quantiles import min_n
from loadgen.analysis.window import slots_of
from loadgen.model.compat import CompatFigure, CompatPoint, CompatTable
from loadgen.model.imported import Imported
from loadgen.model.plan import Plan, PointPlan
from loadgen.model.table import Recording

P99_N = min_n(0.99)

Figures = Callable[[Calls], list[CompatFigure]]


@dataclass(frozen=True, slots=True)
class Rules:
    """One tool's way of counting; `label` says what the output is not."""

    tool: str
    figures: Figures
    notes: tuple[str, ...]
    label: str = ""


RULES: dict[str, Rules] = {
    "vllm": Rules(vllm.TOOL, vllm.figures, vllm.NOTES),
    "sglang": Rules(sglang.TOOL, sglang.figures, sglang.NOTES),
    "aiperf": Rules(aiperf.TOOL, aiperf.figures, aiperf.NOTES),
    "guidellm": Rules(guidellm.TOOL, guidellm.figures, guidellm.NOTES),
    "inferencex": Rules(inferencex.TOOL, inferencex.figures, inferencex.NOTES),
    "mlperf-endpoints": Rules(
        mlperf_endpoints.TOOL,
        mlperf_endpoints.figures,
        mlperf_endpoints.NOTES,
        mlperf_endpoints.LABEL,
    ),
}
"""Every rule set by the name that `--compat` takes."""


def recompute(name: str, recording: Recording) -> CompatTable:
    """The run by the rules of that name; points that sent nothing are left out."""
    rules = RULES[name]
    made = (_point(rules, recording, plan) for plan in recording.plan.points)
    points = tuple(point for point in made if point is not None)
    notes = (*rules.notes, *_thin(points))
    return CompatTable(name, rules.tool, notes, points, rules.label)


def _thin(points: tuple[CompatPoint, ...]) -> list[str]:
    """That percentiles of so few requests are given as the tool would, where they are."""
    tails = [f.n for point in points for f in point.figures if "p99" in f.name and f.value]
    if not tails or min(tails) >= P99_N:
        return []
    return [
        (
            f"a p99 of {min(tails)} values is given as the tool would; our own report withholds it "
            f"under {P99_N}"
        )
    ]


def _point(rules: Rules, recording: Recording, plan: PointPlan) -> CompatPoint | None:
    requests = Requests(rows_of_point(recording.table, plan.index))
    if not len(requests):
        return None
    told = recording.imported or Imported("", "")
    own = RULES.get(told.tool) is rules
    number = recording.plan.points.index(plan)
    calls = Calls(
        requests,
        load=plan.load,
        reasoning_field=recording.observed.reasoning_field,
        gpus=_gpus(recording.plan),
        replayed=recording.plan.replay is not None,
        lacks=told.lacks,
        span_told_s=told.spans_s[number] if own and told.spans_s else None,
        asked_by_client=own and told.asked_by_client,
    )
    figures = rules.figures(calls)
    if own and told.printed:
        figures = [
            structs.replace(figure, printed=told.printed[number].get(figure.name))
            for figure in figures
        ]
    return CompatPoint(plan.index, plan.load, slots_of(plan.load), tuple(figures))


def _gpus(plan: Plan) -> float | None:
    """GPUs as declared; None where nobody said."""
    if "gpus" in plan.prices:
        return plan.prices["gpus"]
    return None if plan.system is None else float(plan.system.gpus)
