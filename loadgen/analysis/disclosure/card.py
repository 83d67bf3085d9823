"""The fields of the disclosure card: what a reader must know, and whether this run tells it.

Weights follow from what a figure is worthless without; they sum to 100. What the user declared
and what was seen stay two texts. Source of fields and weights: docs/definitions.md#disclosure.
"""

from typing import NamedTuple

from loadgen.analysis.disclosure import told
from loadgen.analysis.disclosure import told_system as serves
from loadgen.analysis.disclosure.told import Tell, View
from loadgen.model.disclosure import DisclosedField, Status
from loadgen.model.summary import Summary
from loadgen.model.table import Recording

SHARES: dict[Status, float] = {
    "observed": 1.0,
    "declared": 1.0,
    "inferred": 0.6,
    "missing": 0.0,
    "contradicted": 0.0,
}


class Field(NamedTuple):
    """A line of the card; `hint` is what would tell it."""

    group: str
    field: str
    weight: float
    tell: Tell
    hint: str = ""


FIELDS: tuple[Field, ...] = (
    Field("semantics", "quantity", 4, told.quantity),
    Field("semantics", "statistic", 4, told.statistic),
    Field("semantics", "GPUs counted", 4, told.gpus_counted, "--gpus N"),
    Field("semantics", "window", 4, told.window),
    Field("semantics", "token kind", 4, told.token_kind, "--tokenizer FILE"),
    Field("workload", "prompt length", 4, told.isl),
    Field("workload", "answer length", 4, told.osl),
    Field("workload", "data set", 3, told.dataset),
    Field("workload", "cached share", 3, told.cached_share, "a server that reports cached_tokens"),
    Field("workload", "sampling", 2, told.sampling, "--extra-body '{\"temperature\": 0}'"),
    Field("workload", "turns", 1, told.turns),
    Field("workload", "forced length", 1, told.forced_length),
    Field("load", "concurrency", 4, told.concurrency),
    Field("load", "arrivals", 3, told.arrivals),
    Field("load", "client place", 3, told.client_place, "preflight, or --system: client"),
    Field("model", "model", 2, serves.model),
    Field("model", "revision", 1, serves.revision, "--system: model.revision"),
    Field("model", "parameters", 1, serves.parameters, "--system: model"),
    Field("model", "weight precision", 2, serves.weight_precision, "--system: precision.weights"),
    Field("model", "activation precision", 1, serves.activation_precision, "--system: precision"),
    Field("model", "kv precision", 1, serves.kv_precision, "--system: precision.kv"),
    Field("model", "speculation", 2, serves.speculation, "--system: speculation"),
    Field("system", "gpu", 2.5, serves.gpu, "--system: gpu, gpus_per_replica"),
    Field("system", "topology", 2, serves.topology, "--system: topology.tp"),
    Field(
        "system",
        "disaggregation",
        0.5,
        serves.disaggregation,
        "--system: topology.disaggregated",
    ),
    Field("system", "interconnect", 1, serves.interconnect, "--system: topology.interconnect"),
    Field("system", "power cap", 1, serves.power_cap, "--system: power_cap_w"),
    Field("system", "engine version", 2, serves.engine, "--system: engine.version"),
    Field("system", "engine flags", 1, serves.engine_flags, "--system: engine.flags"),
    Field("system", "driver", 1, serves.driver, "--system: driver"),
    Field("system", "image digest", 1, serves.image_digest, "--system: engine.image_digest"),
    Field("latency", "ttft p50", 2, told.figure("ttft_s.p50"), "streamed answers"),
    Field("latency", "ttft p95", 2, told.figure("ttft_s.p95"), "59 requests a point"),
    Field("latency", "tpot p50", 2, told.figure("tpot_s.p50"), "streamed answers"),
    Field("latency", "tpot p95", 2, told.figure("tpot_s.p95"), "59 requests a point"),
    Field("duration", "warm-up", 1, told.warmup),
    Field("duration", "window length", 2, told.seconds),
    Field("duration", "requests", 2, told.requests),
    Field("duration", "errors", 1, told.errors),
    Field("replication", "runs", 1, told.runs),
    Field("replication", "spread", 3, told.nothing, "repeated runs of one plan"),
    Field("replication", "raw data", 1, told.raw_data),
    Field("replication", "independent run", 1, told.nothing, "somebody else's run of this plan"),
    Field("energy", "energy", 4, told.energy, "power readings: GPU counters or a meter"),
    Field("cost", "cost", 3, told.cost, "--gpu-price USD --gpus N"),
    Field("quality", "quality", 3, told.nothing, "a score of the answers"),
)
"""The card; a test holds that the weights sum to 100."""


def card(summary: Summary, recording: Recording) -> tuple[DisclosedField, ...]:
    """Every field with its standing."""
    view = View(summary, recording)
    found = []
    for row in FIELDS:
        said = row.tell(view)
        status = said.status
        hint = row.hint if status in ("missing", "inferred") else ""
        found.append(
            DisclosedField(
                row.group, row.field, row.weight, status, said.observed, said.declared, hint
            )
        )
    return tuple(found)
