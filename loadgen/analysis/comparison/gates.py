"""Requirements held against what was measured: pass, fail or unknown, each with its figures."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from loadgen.analysis.comparison.compare import compare
from loadgen.analysis.comparison.goodput import goodput_of
from loadgen.analysis.metrics import METRICS
from loadgen.analysis.statistics.quantiles import Estimate
from loadgen.model.comparison import (
    CheckResult,
    FigureChange,
    GateResult,
    GateStatus,
    ReviewedRun,
)
from loadgen.model.summary import Measure, PointSummary, Summary
from loadgen.model.table import Recording
from loadgen.specs.gates import COUNTED, GOODPUT, Gate, parse_gate, with_limits

REGRESS_KEYS = ("out_tps", "ttft_s.p50", "tpot_s.p50")
"""What must not get slower, where nothing else is named."""


@dataclass(frozen=True, slots=True)
class _Figure:
    """A figure as a gate needs it, whether a measure or a count."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    reason: str
    certified: float | None = None


def parse_gates(texts: Sequence[str]) -> tuple[Gate, ...]:
    """The requirements by METRICS. Raises: UsageError, with a caret under what can't be."""
    figures = {
        m.name if stat == "value" else f"{m.name}.{stat}": m.unit
        for m in METRICS
        for stat in m.stats
    }
    metrics = {m.name: m.unit for m in METRICS if m.per == "request"}
    gates = tuple(parse_gate(text, figures, metrics) for text in texts)
    return tuple(with_limits(gate, gates) for gate in gates)


def gates_of(
    gates: Sequence[Gate], run: str, summary: Summary, recording: Recording, *, sure: bool
) -> Iterator[GateResult]:
    """Every gate at every point that it asks of; `sure`: a pass needs the whole interval."""
    for gate in gates:
        points = [p for p in summary.points if gate.load in {"", p.load}]
        if not points:
            loads = ", ".join(point.load for point in summary.points) or "no point"
            where = f"no point with load `{gate.load}`; measured: {loads}"
            why = where if gate.load else "no point was measured"
            yield GateResult(gate.text, "unknown", why, run, gate.load, limit=gate.limit)
        for point in points:
            yield _result(gate, run, point, _figure(gate, point, recording), sure=sure)


def regressions(
    base: Sequence[ReviewedRun], new: Sequence[ReviewedRun], margins: Mapping[str, float]
) -> Iterator[GateResult]:
    """Whether NEW is slower than BASE by more than is allowed, figure by figure.

    Pass: the interval lies above what is allowed to be lost. Fail: wholly below. Else unknown.
    """
    keys = dict.fromkeys(
        [*REGRESS_KEYS, *(name for name in margins if "." in name or _is_one(name))]
    )
    comparison = compare(base, new, tuple(keys), margins)
    rows = [row for row in comparison.figures if row.point]
    if not rows:
        text = f"no point that both sides have ({', '.join(comparison.unmatched) or 'none'})"
        yield GateResult("max-regress", "unknown", text)
    for row in rows:
        yield _regression(row)


def checked(gates: Sequence[GateResult]) -> CheckResult:
    """All results with the worst of their statuses."""
    found = {gate.status for gate in gates}
    order: tuple[GateStatus, ...] = ("fail", "unknown", "pass")
    return CheckResult(tuple(gates), next((s for s in order if s in found), "pass"))


def _is_one(name: str) -> bool:
    """Whether the metric is one number a point, so that its name is a figure's."""
    return any(metric.name == name and metric.per == "point" for metric in METRICS)


def _figure(gate: Gate, point: PointSummary, recording: Recording) -> _Figure:
    """What the gate asks of the point."""
    if gate.key in COUNTED:
        rate, share = goodput_of(recording, point, gate.limits)
        return _of(rate if gate.key == GOODPUT else share)
    measure = point.measures.get(gate.key)
    if measure is None:
        return _Figure(None, None, None, 0, "not measured")
    return _Figure(
        measure.value, measure.low, measure.high, measure.n, _reason(measure), measure.certified
    )


def _of(estimate: Estimate) -> _Figure:
    return _Figure(estimate.value, estimate.low, estimate.high, estimate.n, estimate.reason)


def _reason(measure: Measure) -> str:
    """Why it is absent, and how many more requests would bring it."""
    if measure.needs_more is None:
        return measure.reason
    return f"{measure.reason}; {measure.needs_more} more requests would give it"


def _result(
    gate: Gate, run: str, point: PointSummary, figure: _Figure, *, sure: bool
) -> GateResult:
    """The gate's status by the value; whether its whole interval agrees."""
    told = GateResult(
        gate=gate.text,
        status="unknown",
        text=figure.reason or "not measured",
        run=run,
        point=point.load,
        limit=gate.limit,
        unit=gate.unit,
        n=figure.n,
    )
    if figure.value is None or not math.isfinite(figure.value):
        return told
    met = gate.met_by(figure.value)
    is_sure = _sure(gate, figure, met)
    status: GateStatus = "pass" if met else "fail"
    text = ""
    if met and not is_sure and sure:
        status = "unknown"
        text = "the interval reaches over the limit" if figure.low is not None else "no interval"
    return GateResult(
        gate=gate.text,
        status=status,
        text=text,
        run=run,
        point=point.load,
        value=figure.value,
        limit=gate.limit,
        unit=gate.unit,
        low=figure.low,
        high=figure.high,
        n=figure.n,
        sure=is_sure,
    )


def _sure(gate: Gate, figure: _Figure, met: bool) -> bool:
    """Whether both ends of the interval say the same as the value; or a certified bound does."""
    below = gate.operator in {"<", "<="}
    if met and below and figure.certified is not None and gate.met_by(figure.certified):
        return True
    if figure.low is None or figure.high is None:
        return False
    return gate.met_by(figure.low) == met and gate.met_by(figure.high) == met


def _regression(row: FigureChange) -> GateResult:
    """One row of the comparison as a gate."""
    worst = row.low_frac if row.better == "higher" else row.high_frac
    status: GateStatus = "unknown"
    if row.verdict == "slower":
        status = "fail"
    elif not row.reason.startswith("unlike") and worst is not None:
        status = "pass" if _lost(worst, row) <= math.log1p(row.margin_frac) else "unknown"
    text = row.reason if status == "unknown" else ""
    if status == "unknown" and row.more_runs:
        text = f"{text or 'can not be told'}; about {row.more_runs} more runs a side would tell"
    return GateResult(
        gate=f"{row.key} not {row.margin_frac * 100:g}% worse",
        status=status,
        text=text or ("can not be told" if status == "unknown" else ""),
        run=_sides(row),
        point=row.point,
        value=row.change_frac,
        limit=row.margin_frac,
        unit="change",
        low=row.low_frac,
        high=row.high_frac,
        n=row.new_runs,
        sure=status != "unknown",
    )


def _lost(change_frac: float, row: FigureChange) -> float:
    """How much worse the change makes the figure, as a logarithm; below 0: better."""
    change = math.log1p(change_frac)
    return -change if row.better == "higher" else change


def _sides(row: FigureChange) -> str:
    return f"{row.new_runs} and {row.base_runs} runs, new against base"
