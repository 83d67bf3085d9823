"""A run as claims look at it: what was measured, of what, and what it lets one say."""

from msgspec import Struct

from loadgen.model.disclosure import DisclosedField
from loadgen.model.summary import LadderRung, Summary


class MeasuredRun(Struct, frozen=True):
    """The summary of one run with the facts that a claim names; empty or None: not told."""

    name: str
    """The run's folder."""
    summary: Summary
    measured_on: str = ""
    """The day it began, ISO 8601, UTC."""
    tool: str = ""
    url: str = ""
    simulated: bool = False
    """Whether the server was a mock: its figures tell of no real system."""
    imported: str = ""
    """The other tool whose records these are; empty for our own."""
    models: tuple[str, ...] = ()
    """The model by every name: declared, served, what the served name stands for."""
    params_total_b: float | None = None
    params_active_b: float | None = None
    """10^9, as declared."""
    gpu_names: tuple[str, ...] = ()
    gpus: float | None = None
    usd_per_gpu_h: float | None = None
    tier: str = ""
    """Whose price that is: declared, or a tier of the price table."""
    precision: str = ""
    kv_precision: str = ""
    speculation: str = ""
    engine: str = ""
    engine_version: str = ""
    input_tok: float | None = None
    """Median prompt, by the server's count."""
    output_tok: float | None = None
    cached_frac: float | None = None
    ladder: tuple[LadderRung, ...] = ()
    """At the targets that were asked for, not only the usual ones."""

    @property
    def fields(self) -> dict[str, DisclosedField]:
        """The disclosure card by field."""
        told = self.summary.disclosure
        return {} if told is None else {field.field: field for field in told.fields}


class Qualifier(Struct, frozen=True):
    """One thing that must be said with a figure. `standing` as on the disclosure card."""

    field: str
    text: str
    standing: str


class Refusal(Struct, frozen=True):
    """Why a run supports no sentence, and what would help."""

    text: str
    hint: str = ""
    invalid: bool = False
    """The result itself is invalid, so that nothing may be said from it."""


class RunClaim(Struct, frozen=True):
    """The sentence that a run supports; empty where it is refused."""

    run: str
    quantity: str
    sentence: str
    value: float | None = None
    unit: str = ""
    low: float | None = None
    high: float | None = None
    interval: str = ""
    n: int = 0
    load: str = ""
    qualifiers: tuple[Qualifier, ...] = ()
    not_told: tuple[str, ...] = ()
    """Fields of the disclosure card that nobody told, the heaviest first."""
    doubts: tuple[str, ...] = ()
    """Texts of the run's doubts: they belong to the sentence."""
    refused: tuple[Refusal, ...] = ()
