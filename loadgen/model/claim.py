"""A published claim as it was written, and what an audit makes of it (`claim/1`)."""

import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct

Printed = str | int | float
"""A number as its source prints it ("73,744", "$0.007", "0.0 ms"): its digits say how exact."""

Count = Annotated[int, Meta(ge=1)]
Status = Literal["stated", "inferred", "assumed", "partial", "missing", "contradicted"]
Quantity = Literal[
    "unknown", "per_stream_decode", "per_stream_e2e", "aggregate_output", "total", "per_gpu_total"
]
Verdict = Literal["ok", "note", "warn", "contradiction"]


class _Strict(Struct, frozen=True, forbid_unknown_fields=True):
    """Files are checked to the last member: a typing error must not pass as silence."""


class Source(_Strict, frozen=True):
    """Where something was read."""

    id: str
    locator: str
    kind: Literal["news", "vendor", "benchmark", "paper", "other"] = "other"
    retrieved: datetime.date | None = None
    independent: bool = False


class Headline(_Strict, frozen=True):
    """The number that the claim is about."""

    num: float
    unit: str = "tok/s"
    quantity: Quantity = "unknown"
    statistic: str = "unknown"
    token_kind: Literal["unknown", "output", "total", "input"] = "unknown"


class Fact(_Strict, frozen=True):
    """One leaf of disclosure: a value with its standing and its source."""

    v: object = None
    status: Status = "missing"
    src: str = ""
    note: str = ""


class RateTime(_Strict, frozen=True, tag="A1", tag_field="rule"):
    """A rate kept up for a time, and the answers of a length that this makes."""

    rate: Printed
    seconds: float
    total: Printed | None = None
    per_answer_tok: Count | None = None
    answers: Printed | None = None
    src: str = ""


class Change(_Strict, frozen=True, tag="A2", tag_field="rule"):
    """A difference or a percentage between two values."""

    before: Printed
    after: Printed
    delta: Printed | None = None
    percent: Printed | None = None
    src: str = ""


class UnitCost(_Strict, frozen=True, tag="A3", tag_field="rule"):
    """Tokens a second and GPU with a cost a million tokens, at a price where one is given."""

    tps_per_gpu: Printed
    usd_per_mtok: Printed
    usd_per_gpu_h: Printed | None = None
    src: str = ""


class PerGpu(_Strict, frozen=True, tag="A4", tag_field="rule"):
    """A figure a GPU and that of the whole system."""

    per_gpu: Printed
    gpus: Count
    system: Printed
    leaves_out: str = ""
    src: str = ""


class Inverse(_Strict, frozen=True, tag="A5", tag_field="rule"):
    """Time an output token and tokens a second of one user."""

    tpot_s: Printed
    tps_per_user: Printed
    tpot_statistic: str = ""
    user_statistic: str = ""
    src: str = ""


class EndToEnd(_Strict, frozen=True, tag="A6", tag_field="rule"):
    """Means of first token, token gap and whole answer."""

    ttft_s: Printed
    tpot_s: Printed
    output_tok: float
    e2e_s: Printed
    src: str = ""


class InFlight(_Strict, frozen=True, tag="A7", tag_field="rule"):
    """Concurrency, answer time and rate of one steady run (Little's law)."""

    concurrency: float
    e2e_s: Printed
    rate_rps: Printed
    src: str = ""


class Streams(_Strict, frozen=True, tag="A8", tag_field="rule"):
    """Speed of one stream, how many there are, and their sum."""

    per_stream_tps: Printed
    concurrency: float
    aggregate_tps: Printed
    src: str = ""


class Peak(_Strict, frozen=True, tag="A9", tag_field="rule"):
    """A peak beside what is sustained, and the word that the claim uses for its number."""

    peak: Printed
    at: Printed | None = None
    says: str = ""
    src: str = ""


class Rung(_Strict, frozen=True):
    """One row of a ladder; None where the source prints no value."""

    per_user_tps: float
    tps_per_gpu: Printed | None = None
    usd_per_mtok: Printed | None = None


class Ladder(_Strict, frozen=True, tag="A10", tag_field="rule"):
    """Throughput a GPU at targets of speed a user."""

    rows: Annotated[tuple[Rung, ...], Meta(min_length=1)]
    usd_per_gpu_h: Printed | None = None
    measured_peak: Printed | None = None
    interpolated: bool = False
    src: str = ""


class Listed(_Strict, frozen=True, tag="A11", tag_field="rule"):
    """A count in words beside the list that it counts."""

    says: int
    listed: Annotated[tuple[str, ...], Meta(min_length=1)]
    src: str = ""


class Power(_Strict, frozen=True, tag="P5", tag_field="rule"):
    """Watts of the boundary, tokens a second, and the joules a token that are claimed."""

    watts: Printed
    tps: Printed
    joules_per_tok: Printed
    src: str = ""


class Latencies(_Strict, frozen=True, tag="P6", tag_field="rule"):
    """Latencies with their unit as printed, and the speed a user that stands beside them."""

    ttft: str = ""
    tpot: str = ""
    tps_per_user: tuple[float, ...] = ()
    best_of_configs: bool = False
    src: str = ""


Statement = (
    RateTime | Change | UnitCost | PerGpu | Inverse | EndToEnd | InFlight | Streams | Peak
    | Ladder | Listed | Power | Latencies
)  # fmt: skip
"""Something that the source says in numbers; its `rule` names what examines it."""


class Claim(_Strict, frozen=True):
    """A claim file; `facts` are leaves of disclosure by name (`docs/howto-audit-a-claim.md`)."""

    id: str
    text: str
    sources: Annotated[tuple[Source, ...], Meta(min_length=1)]
    value: Headline
    facts: dict[str, Fact] = {}
    statements: tuple[Statement, ...] = ()
    schema: Literal["claim/1"] = "claim/1"


class Ruling(Struct, frozen=True):
    """What one rule says of the claim, with its figures. `src` names the source it examined."""

    rule: str
    verdict: Verdict
    text: str
    src: str = ""


class Reading(Struct, frozen=True):
    """One way to understand the headline number, and what it would take."""

    name: str
    survives: bool
    needs: str = ""
    by: tuple[str, ...] = ()
    """Rules that kill it."""
    text: str = ""


class Lacking(Struct, frozen=True):
    """A group of disclosure that isn't complete: points lost, and what to publish."""

    points: float
    publish: str


class AuditResult(Struct, frozen=True):
    """Three scores that are never folded into one, and what they rest on."""

    claim_id: str
    disclosure: float
    """0 to 100, weighted by what a reader needs most."""
    grade: str
    consistency: Literal["ok", "warn", "contradiction"]
    reproducibility: int
    """0 nothing, 1 configuration, 2 and workload, 3 and raw data, 4 an independent run."""
    verdict: str
    rulings: tuple[Ruling, ...]
    readings: tuple[Reading, ...]
    lacking: tuple[Lacking, ...]


class Held(Struct, frozen=True):
    """One figure of a claim beside ours."""

    what: str
    """`headline`, or the rule of the statement with what it is at."""
    verdict: Literal["supports", "contradicts", "does not bear"]
    said: str
    measured: str
    """Ours with its point; `not measured` where there is none."""
    why: str
    src: str = ""


class AgainstResult(Struct, frozen=True):
    """A claim beside a run: what each of its figures comes to, and on which conditions."""

    claim_id: str
    run: str
    figures: tuple[Held, ...]
    same: tuple[str, ...] = ()
    """Conditions that both tell and that agree."""
    differs: tuple[str, ...] = ()
    """Conditions that make the run one of something else."""
    claim_silent: tuple[str, ...] = ()
    """Conditions that the claim doesn't tell."""
    run_silent: tuple[str, ...] = ()
    """Conditions that the claim tells and the run doesn't."""
    unlike: tuple[str, ...] = ()
    """Told unlike, without making the run one of something else: the engine's version."""
