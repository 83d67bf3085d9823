"""A run as claims look at it (`model.measured`): its summary and the facts that a claim names."""

import datetime

import numpy as np

from loadgen.analysis.disclosure.declared import cache_format, drafted
from loadgen.analysis.disclosure.told import View
from loadgen.model.measured import MeasuredRun
from loadgen.model.summary import LadderRung, Summary
from loadgen.model.table import ABSENT, Ints, Recording
from loadgen.units import NS_PER_S

DRAFTED = {True: "drafted", False: "none", None: ""}
"""Speculation by the server's own counters, where nobody declared its method."""


def measured_run(
    summary: Summary, recording: Recording, ladder: tuple[LadderRung, ...] = ()
) -> MeasuredRun:
    """Observed facts where there are any, else declared ones; which it was stands on the card."""
    system, observed, table = recording.plan.system, recording.observed, recording.table
    engine = observed.engine or (system.engine.name if system else None) or ""
    version = observed.engine_version or (system.engine.version if system else None) or ""
    names = (
        system.model.name if system else "",
        recording.plan.target.model,
        observed.model_root or "",
    )
    price, tier = _price(summary, recording)
    kv = cache_format(observed) or "auto"
    declared = "" if system is None else system.precision.kv or ""
    return MeasuredRun(
        name=recording.path,
        summary=summary,
        measured_on=_day(recording.started_wall_ns),
        tool=f"loadgen {recording.provenance.tool_version}".strip(),
        url=recording.plan.target.base_url,
        simulated=(observed.engine or "").endswith("mock"),
        imported="" if recording.imported is None else recording.imported.name,
        models=tuple(dict.fromkeys(name for name in names if name)),
        params_total_b=None if system is None else system.model.params_total_b,
        params_active_b=None if system is None else system.params_active / 1e9,
        gpu_names=_gpu_names(recording),
        gpus=View(summary, recording).gpus,
        usd_per_gpu_h=price,
        tier=tier,
        precision=observed.server_args.get("quantization", "")
        or (system.precision.weights if system else None)
        or "",
        kv_precision=declared if kv == "auto" else kv,
        speculation=(system.speculation if system else None) or DRAFTED[drafted(recording)],
        engine=engine,
        engine_version=version,
        input_tok=_median(table.usage_input_tok),
        output_tok=_median(table.usage_output_tok),
        cached_frac=_cached(recording),
        ladder=ladder or summary.ladder,
    )


def _gpu_names(recording: Recording) -> tuple[str, ...]:
    """Kinds of GPU: the declared one and those that were seen."""
    system = recording.plan.system
    said = (system.gpu.name,) if system else ()
    return tuple(dict.fromkeys((*said, *recording.observed.gpu_names)))


def _price(summary: Summary, recording: Recording) -> tuple[float | None, str]:
    """The declared dollars a GPU-hour, else those of the first tier that costs stand on."""
    said = recording.plan.prices.get("gpu_usd_per_h")
    if said is not None:
        return said, "declared"
    row = next(iter(summary.costs), None)
    return (None, "") if row is None else (row.usd_per_gpu_h, row.tier)


def _day(wall_ns: int) -> str:
    if wall_ns <= 0:
        return ""
    return datetime.datetime.fromtimestamp(wall_ns / NS_PER_S, datetime.UTC).date().isoformat()


def _median(column: Ints) -> float | None:
    known = column[column != ABSENT]
    return float(np.median(known)) if known.size else None


def _cached(recording: Recording) -> float | None:
    """Cached share of the prompt tokens, by usage."""
    table = recording.table
    known = (table.usage_cached_tok != ABSENT) & (table.usage_input_tok != ABSENT)
    asked = int(table.usage_input_tok[known].sum())
    return float(table.usage_cached_tok[known].sum()) / asked if asked else None
