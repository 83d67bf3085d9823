"""The sentence of a run as a claim file (`claim/1`), so that it can be audited as anybody's."""

import datetime
from collections.abc import Iterator

from loadgen.audit.sentence import QUANTITIES
from loadgen.audit.subject import STORED_BYTES
from loadgen.model.claim import (
    Claim,
    Fact,
    Headline,
    Inverse,
    Latencies,
    PerGpu,
    Quantity,
    Source,
    Statement,
    Status,
)
from loadgen.model.measured import MeasuredRun, RunClaim
from loadgen.model.summary import PointSummary
from loadgen.units import MS_PER_S

DIGITS = 4
"""Significant digits of a published figure: its interval is wider."""
SOURCE = "run"
NAMES: dict[str, Quantity] = {
    "aggregate_output": "aggregate_output",
    "total": "total",
    "per_gpu_total": "per_gpu_total",
    "per_stream_decode": "per_stream_decode",
    "per_stream_e2e": "per_stream_e2e",
}
TEXTS = {
    "gpus_counted": "GPUs counted",
    "window": "window",
    "dataset": "data set",
    "sampling": "sampling",
    "turns": "turns",
    "arrivals": "arrivals",
    "client_location": "client place",
    "kv_precision": "kv precision",
    "topology": "topology",
    "power_cap": "power cap",
    "duration": "window length",
    "warmup": "warm-up",
    "n": "requests",
    "errors": "errors",
    "power": "energy",
    "cost": "cost",
}
"""Facts of a claim file by the field of the card that tells them."""
STANDINGS: dict[str, Status] = {
    "observed": "stated",
    "declared": "stated",
    "inferred": "inferred",
}


def claim_file(told: RunClaim, run: MeasuredRun) -> Claim:
    """The claim that the sentence makes; only where there is one."""
    assert told.value is not None
    point = next(p for p in run.summary.points if told.load in (p.load, f"c={p.concurrency}"))
    said = QUANTITIES[told.quantity]
    day = datetime.date.fromisoformat(run.measured_on) if run.measured_on else None
    return Claim(
        id=f"{run.name.rstrip('/').rpartition('/')[2]}-{told.quantity}",
        text=told.sentence,
        sources=(Source(SOURCE, f"run folder {run.name}", "benchmark", day),),
        value=Headline(
            num=printed(told.value),
            unit="tok/s/GPU" if said.per_gpu else "tok/s",
            quantity=NAMES.get(told.quantity, "unknown"),
            statistic=said.key.partition(".")[2] or "mean",
            token_kind="total" if said.key == "total_tps" else "output",
        ),
        facts=dict(_facts(run, point)),
        statements=tuple(_statements(told, run, point)),
    )


def _facts(run: MeasuredRun, point: PointSummary) -> Iterator[tuple[str, Fact]]:
    """Everything that is told, under the names that the rules use."""
    for name, value in _values(run, point):
        if value:
            yield name, Fact(value, "stated", SOURCE)
    if run.cached_frac is not None:
        yield "cached_share", Fact(round(run.cached_frac, DIGITS), "stated", SOURCE)
    for name, field in TEXTS.items():
        told = run.fields.get(field)
        if told is not None and told.status in STANDINGS:
            note = f"declared: {told.declared}" if told.declared and told.observed else ""
            text = told.observed or told.declared
            yield name, Fact(text, STANDINGS[told.status], SOURCE, note)
    note = "it counts once the folder is published"
    yield "raw_data", Fact(run.name, "partial", SOURCE, note)
    yield "runs", Fact(1, "stated", SOURCE)


def _values(run: MeasuredRun, point: PointSummary) -> Iterator[tuple[str, object]]:
    yield "model", run.models[0] if run.models else None
    yield "params_total_b", run.params_total_b
    yield "params_active_decode_b", run.params_active_b
    yield "precision", run.precision.lower() if run.precision.lower() in STORED_BYTES else None
    yield "hw", _hardware(run)
    yield "engine", run.engine
    yield "engine_version", run.engine_version
    yield "speculation", run.speculation
    yield "isl", run.input_tok
    yield "osl", run.output_tok
    yield "concurrency", point.concurrency
    yield "ttft", _times(point, "ttft_s", ("p50", "p95"))
    yield "tpot", _times(point, "tpot_s", ("p50", "p95"))
    yield "latency_p95", _times(point, "e2e_s", ("p95",))
    yield "usd_per_gpu_h", run.usd_per_gpu_h


def _hardware(run: MeasuredRun) -> dict[str, object] | None:
    if run.simulated or not run.gpu_names:
        return None
    used = {} if run.gpus is None else {"gpus_used": int(run.gpus)}
    return {"gpu": run.gpu_names[0], **used}


def _times(point: PointSummary, name: str, stats: tuple[str, ...]) -> str:
    found = [
        f"{stat} {_milliseconds(value)}"
        for stat in stats
        if (value := _figure(point, f"{name}.{stat}")) is not None
    ]
    return ", ".join(found)


def _statements(told: RunClaim, run: MeasuredRun, point: PointSummary) -> Iterator[Statement]:
    """What the rules can check of it: per GPU times GPUs, TPOT and its inverse, the floors."""
    total = _figure(point, "total_tps")
    if told.quantity == "per_gpu_total" and run.gpus and total is not None:
        yield PerGpu(printed(told.value or 0.0), int(run.gpus), printed(total), src=SOURCE)
    tpot, user = _figure(point, "tpot_s.p50"), _figure(point, "intvty_tps.p50")
    if tpot is not None and user is not None:
        yield Inverse(printed(tpot), printed(user), "p50", "p50", SOURCE)
    ttft = _figure(point, "ttft_s.p50")
    if ttft is not None and tpot is not None and user is not None:
        speeds = (printed(user),)
        yield Latencies(_milliseconds(ttft), _milliseconds(tpot), speeds, src=SOURCE)


def _figure(point: PointSummary, key: str) -> float | None:
    measure = point.measures.get(key)
    return None if measure is None else measure.value


def _milliseconds(seconds: float) -> str:
    return f"{printed(seconds * MS_PER_S):.10g} ms"


def printed(value: float) -> float:
    """The value with so many digits, whole from a thousand on: rules take what is printed as
    exact to half its last digit, and `3001.0` would say more than was rounded to.
    """
    return round(value) if value >= 10 ** (DIGITS - 1) else float(f"{value:.{DIGITS}g}")
