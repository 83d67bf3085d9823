"""What was measured, in three lines of facts: the endpoint, the load, the lengths.

Where the user declared the system, a fourth line says so; it is never mixed with the others.
"""

import numpy as np

from loadgen.model.observed import Observed
from loadgen.model.plan import Plan
from loadgen.model.summary import Summary
from loadgen.model.system import DeclaredSystem
from loadgen.model.table import ABSENT, Ints, Recording
from loadgen.report.figures import format_figure, format_number, format_percent
from loadgen.report.layout import printable
from loadgen.units import s_from_ns

OWN_MOCK = "loadgen mock"
"""It gives the version of the engine whose routes it copies."""


def heading(summary: Summary, recording: Recording) -> list[list[str]]:
    """The facts of each line."""
    lines = [_subject(recording), _load(summary, recording), _lengths(recording)]
    system = recording.plan.system
    return lines if system is None else [*lines, _declared(system)]


def _subject(recording: Recording) -> list[str]:
    """Tool, engine and its version, URL, model."""
    plan = recording.plan
    tool = f"loadgen {recording.provenance.tool_version}".strip()
    if recording.imported is not None:
        tool = f"{recording.imported.name}, read by loadgen"
    observed = recording.observed
    engine = engine_name(observed)
    where = f"{engine or 'unknown engine'} at {plan.target.base_url.removesuffix('/v1')}"
    if not plan.target.base_url:
        where = "endpoint not told"
    return [printable(fact) for fact in (tool, where, plan.target.model or "model unknown")]


def engine_name(observed: Observed) -> str:
    """`vLLM 0.11.0`, `loadgen mock (speaks as vLLM 0.32.0)`; empty where nobody told."""
    engine, version = observed.engine or "", observed.engine_version or ""
    if engine == OWN_MOCK and version:
        return f"{engine} (speaks as vLLM {version})"
    return f"{engine} {version}".strip()


def _declared(system: DeclaredSystem) -> list[str]:
    """`declared: deepseek-v3 · 37 of 671e9 params x 1 B · 8 x H200`."""
    model = system.model
    total = f"{model.params_total_b:g}e9 params"
    if model.params_active_b is not None:
        total = f"{model.params_active_b:g} of {total}"
    facts = [
        f"declared: {model.name or 'a model'}",
        f"{total} x {model.weight_bytes_per_param:g} B",
        f"{system.gpus_per_replica} x {system.gpu.name}",
    ]
    if system.replicas > 1:
        facts[-1] += f" x {system.replicas} replicas"
    if system.tok_per_step > 1:
        facts.append(f"{system.tok_per_step:g} tokens a step")
    return [printable(fact) for fact in facts]


def _load(summary: Summary, recording: Recording) -> list[str]:
    """Shape, workload, points and durations, seed, the user's label."""
    plan = recording.plan
    facts = [_shapes(plan), printable(plan.workload.name), _extent(plan, summary)]
    if plan.workload.label:
        facts.insert(2, printable(plan.workload.label))
    if not plan.target.stream:
        facts.append("not streamed")
    if plan.workers > 1:
        facts.append(f"{plan.workers} workers")
    if recording.imported is None:
        facts.append(f"seed {plan.seed if plan.replay is None else plan.replay.seed}")
    return [*facts, f"label {printable(plan.label)}"] if plan.label else facts


def _shapes(plan: Plan) -> str:
    """`closed sweep`, or the one load as it was written."""
    if len(plan.points) == 1:
        return plan.points[0].load
    shapes = sorted({point.load.partition(":")[0] for point in plan.points})
    return f"{' and '.join(shapes)} {'sweep' if plan.points else 'load'}".strip()


def _lengths(recording: Recording) -> list[str]:
    """Prompt and answer lengths asked and served, cache state."""
    plan, table = recording.plan, recording.table
    workload = plan.workload
    isl, osl = (workload.isl, workload.osl) if plan.replay is None else ("as recorded",) * 2
    forced = ", forced" if workload.ignore_eos else ""
    return [
        _length("isl", _first_known(table.usage_input_tok, table.input_tok), isl, ""),
        _length("osl", _first_known(table.usage_output_tok, table.own_tok), osl, forced),
        _cache(recording),
    ]


def _first_known(*columns: Ints) -> Ints:
    """The first column that holds anything, its absent entries left out."""
    for column in columns:
        known: Ints = column[column != ABSENT]
        if known.size:
            return known
    return columns[0][:0]


def _length(name: str, served: Ints, asked: str, forced: str) -> str:
    """`isl 1,021 p50 (asked 1024)`: what the server counted beside what was designed."""
    wanted = f"asked {format_number(float(asked))}" if asked.isdigit() else f"asked {asked}"
    if not served.size:
        return f"{name} unknown ({wanted}{forced})"
    return f"{name} {format_number(float(np.median(served)))} p50 ({wanted}{forced})"


def _cache(recording: Recording) -> str:
    """How much of the prompts the server took from its prefix cache, by its own count."""
    table = recording.table
    salted = "salted" if recording.plan.salt else "not salted"
    if recording.imported is not None:
        salted = "salt not told"
    known = (table.usage_cached_tok != ABSENT) & (table.usage_input_tok != ABSENT)
    asked = int(table.usage_input_tok[known].sum())
    if not asked:
        return f"prefix cache unknown ({salted})"
    share = float(table.usage_cached_tok[known].sum()) / asked
    return f"prefix cache {format_percent(share)} ({salted})"


def _extent(plan: Plan, summary: Summary) -> str:
    """`6 points × 60 s`; a run that was cut short says how many points it has."""
    lengths = {
        f"{format_figure(s_from_ns(point.duration_ns), 1)} s"
        if point.duration_ns
        else f"{format_number(point.requests)} requests"
        for point in plan.points
    }
    count = len(plan.points)
    words = "1 point" if count == 1 else f"{count} points"
    if len(summary.points) < count:
        words = f"{len(summary.points)} of {words}"
    return f"{words} × {lengths.pop()}" if len(lengths) == 1 else words
