"""Tiny recordings and summaries, made by hand: figures agree with each other as a real run's do."""

from collections.abc import Sequence
from dataclasses import MISSING, fields, replace
from typing import Any

import numpy as np

from loadgen.model.observed import ClientHealth, Observed
from loadgen.model.plan import Plan, PointPlan, TargetPlan, WorkloadPlan
from loadgen.model.provenance import Provenance
from loadgen.model.summary import (
    Counts,
    Finding,
    Headline,
    Measure,
    PointSummary,
    Summary,
    Window,
)
from loadgen.model.table import Recording, RunTable
from loadgen.report.figures import requests_needed

S = 1_000_000_000
CERTIFIED_FROM = {"p90": 64, "p95": 130, "p99": 662}
FOLDER = "results/2026-11-30T22-10Z-deepseek-v4.1-flash-sweep"


def table_of(n: int, **columns: Sequence[Any]) -> RunTable:
    """A table of n rows; columns not given are absent (-1, "", False), without any event."""
    made: dict[str, Any] = {}
    for field in fields(RunTable):
        kind = repr(field.type)
        if field.name in columns:
            words = "object_" in kind
            made[field.name] = np.array(columns[field.name], dtype=object if words else None)
        elif field.name == "event_start":
            made[field.name] = np.zeros(n + 1, dtype=np.int64)
        elif field.name.startswith("event_"):
            made[field.name] = np.empty(0, dtype=np.int64)
        elif field.default is MISSING and field.default_factory is MISSING:
            made[field.name] = _absent(kind, n)
    return RunTable(**made)


def _absent(kind: str, n: int) -> Any:
    """A column in which nothing was seen."""
    if "object_" in kind:
        return np.array([""] * n, dtype=object)
    if "bool" in kind:
        return np.zeros(n, dtype=bool)
    return np.full(n, -1, dtype=np.int64)


def plan_of(loads: Sequence[str], **changes: Any) -> Plan:
    """A plan of 60 s points at a vLLM node."""
    plan = Plan(
        run_id="r1",
        salt="r1",
        target=TargetPlan(base_url="http://gb300-node:8000/v1", model="deepseek-v4.1-flash"),
        workload=WorkloadPlan(name="chat-1k-256", isl="1024", osl="256", ignore_eos=True),
        points=tuple(
            PointPlan(index=i, load=load, duration_ns=60 * S) for i, load in enumerate(loads)
        ),
    )
    return replace_struct(plan, **changes)


def replace_struct(plan: Plan, **changes: Any) -> Plan:
    """The plan with some fields changed."""
    import msgspec

    return msgspec.structs.replace(plan, **changes)


def measure(name: str, stat: str, value: float | None, n: int, **more: Any) -> Measure:
    """A measure whose unit and direction come from its name."""
    unit = "tok/s" if name.endswith("_tps") else name.rpartition("_")[2]
    unit = "USD" if name.startswith("usd_") else unit
    better = "higher" if name.endswith("_tps") else "lower"
    return Measure(name, stat, unit, better, value, n, **more)  # type: ignore[arg-type]


def point_of(
    index: int,
    concurrency: int,
    figures: dict[str, float | None],
    n: int,
    outcomes: dict[str, int] | None = None,
    **given: Any,
) -> PointSummary:
    """A point from `name.stat` (or `name`) figures; `out_tps` bears an interval of 2 %."""
    measures = {}
    for key, value in figures.items():
        name, _, stat = key.partition(".")
        more: dict[str, Any] = {}
        if key == "out_tps" and value is not None:
            more = {"low": value * 0.99, "high": value * 1.01, "interval": "95 %, blocks"}
        if n and value is None and (needed := requests_needed(stat) or 0) > n:
            more = {"needs_more": needed - n, "needs_more_s": (needed - n) * 60.0 / n}
        if value is not None and name.endswith("_s") and n >= CERTIFIED_FROM.get(stat, n + 1):
            more = {"certified": value * 1.1}
        measures[key] = measure(name, stat or "value", value, n, **more)
    counts = Counts(n, outcomes) if outcomes else Counts(n, {"ok": n})
    fields_: dict[str, Any] = {
        "window": Window(0, 60 * S, "saturated plateau"),
        "whole": {},
        "stop_reason": "duration",
    }
    return PointSummary(
        index=index,
        load=f"closed:{concurrency}",
        concurrency=concurrency,
        counts=given.pop("counts", counts),
        measures=measures,
        **(fields_ | given),
    )


def figures(c: int, tps: float, out: float, ttft_ms: float, n: int) -> dict[str, float | None]:
    """The table's figures for one point; percentiles that n cannot carry are None."""
    tpot = 1 / tps
    p95, p99 = n >= 59, n >= 299
    return {
        "intvty_tps.p50": tps,
        "intvty_tps.p90": tps * 0.97,
        "out_tps": out,
        "total_tps": out * 5,
        "kept_frac": tps / 142,
        "ttft_s.p50": ttft_ms / 1000,
        "ttft_s.p95": ttft_ms * 1.4 / 1000 if p95 else None,
        "ttft_s.p99": ttft_ms * 2.1 / 1000 if p99 else None,
        "tpot_s.p50": tpot,
        "tpot_s.p95": tpot * 1.05 if p95 else None,
        "tpot_s.p99": tpot * 1.2 if p99 else None,
        "e2e_s.p50": ttft_ms / 1000 + 255 * tpot,
        "e2e_s.p95": (ttft_ms / 1000 + 255 * tpot) * 1.1 if p95 else None,
    }


SWEEP = (
    (1, 142.0, 138.0, 61.0, 32),
    (2, 140.0, 273.0, 63.0, 64),
    (4, 136.0, 527.0, 69.0, 123),
    (8, 131.0, 1010.0, 82.0, 240),
    (16, 121.0, 1860.0, 120.0, 436),
    (32, 107.0, 3156.0, 212.0, 740),
)


def sweep_summary() -> Summary:
    """A valid sweep of six points with one note."""
    points = tuple(
        point_of(i, c, figures(c, tps, out, ttft, n), n)
        for i, (c, tps, out, ttft, n) in enumerate(SWEEP)
    )
    last = points[-1]
    whole = {"out_tps": measure("out_tps", "value", 2890.0, 760)}
    points = (*points[:-1], replace_point(last, whole=whole))
    note = Finding(
        "queue_bound",
        "note",
        "requests waited 60 ms in the server (28 % of TTFT)",
        "raise --max-num-seqs (now 24), or measure with open arrivals",
        point=5,
    )
    return Summary(
        run_id="r1",
        verdict="valid",
        client_grade="A",
        findings=(note,),
        points=points,
        headline=Headline(0, 5, 4, "above it users get slower, the system gains < 3 % per step"),
        state="complete",
        verdict_reasons=("steady from 8 s at every point", "Little 1.000"),
        timing_uncertainty="stamps ±0.03 ms (kernel), 1.2 % of reads brought several events",
    )


def replace_point(point: PointSummary, **changes: Any) -> PointSummary:
    """The point with some fields changed."""
    import msgspec

    return msgspec.structs.replace(point, **changes)


def recording_of(plan: Plan, table: RunTable | None = None, **changes: Any) -> Recording:
    """A complete recording at a known place."""
    recording = Recording(
        path=FOLDER,
        plan=plan,
        table=table if table is not None else requests_table(),
        observed=Observed(engine="vLLM", engine_version="0.32.0"),
        provenance=Provenance(tool_version="0.1.0", command_line="loadgen sweep -c 1..32"),
        health=(ClientHealth(share=0, point=0, started_at_ns=1 * S, ended_at_ns=61 * S),),
        started_wall_ns=1_796_000_000 * S,
        ended_wall_ns=1_796_000_400 * S,
    )
    return replace(recording, **changes)


def requests_table() -> RunTable:
    """Three requests of point 0: one good, one refused, one cut; five events."""
    return table_of(
        3,
        point=[0, 0, 0],
        share=[0, 0, 0],
        seq=[0, 1, 2],
        session_id=["s0", "s1", "s2"],
        turn_id=["t0", "t0", "t0"],
        turn_no=[0, 0, 0],
        phase=["window", "window", "window"],
        outcome=["ok", "refused", "truncated"],
        detail=["", "connection refused", "reset by peer"],
        flags=["", "", "usage_missing,comments"],
        due_at_ns=[1 * S, 2 * S, 3 * S],
        sent_at_ns=[1 * S + 1000, -1, 3 * S + 1000],
        usage_input_tok=[1021, -1, -1],
        usage_cached_tok=[0, -1, -1],
        usage_output_tok=[3, -1, -1],
        event_start=[0, 3, 3, 5],
        event_at_ns=[1 * S, 1 * S, 1 * S, 3 * S, 3 * S],
        event_kind=[1, 2, 2, 2, 3],
        event_tok=[1, 1, 1, -1, 1],
        event_read_no=[0, 1, 2, 0, 1],
        event_chars=[3, 3, 3, 3, 3],
    )
