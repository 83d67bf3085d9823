"""What a run amounts to: measures, findings, verdict. Plain values, strict JSON, no numpy."""

from typing import Literal

from msgspec import Struct

from loadgen.model.cost import BreakEven, CostRow, PhaseFit
from loadgen.model.disclosure import Disclosure
from loadgen.model.energy import PointEnergy
from loadgen.model.telemetry import CrossCheck, ServerView

SUMMARY_VERSION = 1

Severity = Literal["note", "doubt", "fatal"]
Verdict = Literal["valid", "suspect", "invalid"]
Better = Literal["lower", "higher", "neither"]
SteadyVerdict = Literal["steady", "drifting_up", "drifting_down", "anomaly", "not_found"]


class Measure(Struct, frozen=True):
    """One figure. `value` is None where it can't be given; `reason` then says why."""

    name: str
    """The metric's name in METRICS, which is its heading in docs/definitions.md."""
    stat: str
    """p50, p95, mean, max ... ; `value` where the metric is one number a point."""
    unit: str
    better: Better
    value: float | None
    n: int
    low: float | None = None
    high: float | None = None
    interval: str = ""
    """How low..high was made, with its level; empty when there is none."""
    reason: str = ""
    certified: float | None = None
    """A time that the percentile does not exceed, with 99 % certainty (one-sided)."""
    needs_more: int | None = None
    """How many more requests a withheld percentile needs, and about how long they take."""
    needs_more_s: float | None = None


class Finding(Struct, frozen=True):
    """A doubt with figures and a hint. `point` is None where it concerns the whole run."""

    code: str
    severity: Severity
    text: str
    hint: str = ""
    point: int | None = None


class Window(Struct, frozen=True):
    """The measuring window of one point, monotonic ns; rule names how it was found."""

    start_at_ns: int
    end_at_ns: int
    rule: str


class Counts(Struct, frozen=True):
    """issued = sum(outcomes.values()); skipped turns were never issued."""

    issued: int
    outcomes: dict[str, int]
    warmup: int = 0
    skipped: int = 0
    errors_by_class: dict[str, int] = {}


class BlockSeries(Struct, frozen=True):
    """One metric over the blocks of a point; its verdict counts where it `weighs`."""

    name: str
    """`metric.stat`, or the metric where it is one number."""
    unit: str
    weighs: bool
    values: tuple[float | None, ...]
    """One a block, in order; None where nothing came in a block."""
    verdict: SteadyVerdict
    change_frac: float | None = None
    """Change over the judged blocks (drift), or from the first level to the second (anomaly)."""
    p_value: float | None = None


class Steadiness(Struct, frozen=True):
    """Whether a point stood level, and the blocks that show it (to be drawn)."""

    verdict: SteadyVerdict
    reason: str
    """The deciding figure, or why nothing can be said."""
    floor: str = "quick"
    """What was asked for: quick (no floor) or strict."""
    floors_missed: tuple[str, ...] = ()
    """Which of strict's floors the window misses; empty: the figures are of strict's grade."""
    plateau_start_at_ns: int | None = None
    """Where the plateau began before the detector moved the window's start or end; None: none."""
    plateau_end_at_ns: int | None = None
    cut_s: float = 0.0
    """How much of the plateau was cut as warm-up, seconds."""
    block_edges_ns: tuple[int, ...] = ()
    """Edges of the blocks over the whole plateau, one more than each series has values."""
    judged_from: int = 0
    """The first block that the verdict looks at."""
    series: tuple[BlockSeries, ...] = ()


class PointSummary(Struct, frozen=True):
    """One load point. Keys of the measures are `name.stat`, or `name` for one-number metrics."""

    index: int
    load: str
    concurrency: int | None
    counts: Counts
    window: Window | None
    measures: dict[str, Measure]
    """Over the window."""
    whole: dict[str, Measure]
    """The same over the whole point, warm-up and drain included."""
    cold: bool = False
    stop_reason: str = ""
    steady: Steadiness | None = None
    client_grade: str = ""
    client_basis: str = ""
    """What the grade was decided by, and what vouches for it: canary, calibration."""
    client_error_s: float | None = None
    """p99 error of a stamp by the client's own doing: the error bar of TTFT, TPOT and ITL."""


class SaturationFit(Struct, frozen=True):
    """A curve of output rate against concurrency; `knee_*` are concurrencies, not indices."""

    model: str
    """usl or saturating, whichever has the lower AICc."""
    parameters: dict[str, float]
    aicc: dict[str, float]
    max_tps: float | None
    """The highest rate of the curve; None (as the knee) far beyond what was measured."""
    knee_c: float | None
    """Smallest concurrency with 95 % of it."""
    knee_low_c: float | None = None
    knee_high_c: float | None = None
    """None: no end in sight."""


class Headline(Struct, frozen=True):
    """The answer in one glance; indices point into Summary.points."""

    single_stream: int | None = None
    best_aggregate: int | None = None
    knee: int | None = None
    knee_text: str = ""
    fit: SaturationFit | None = None
    """Absent under 6 points or without concurrency 1: then the knee is the simple rule's."""


class LadderRung(Struct, frozen=True):
    """Throughput a GPU at a speed a user; None where it can't be given, `reason` then says why."""

    target_tps: float
    """Median decode speed of a user (`intvty_tps.p50`)."""
    measured_tps: float | None = None
    """Total tokens a second and GPU of the best point that is at least so fast."""
    measured_at: str = ""
    """That point's load."""
    interpolated_tps: float | None = None
    """Read off a monotone cubic through the frontier, never outside the measured range."""
    between: tuple[str, ...] = ()
    usd_per_1m: float | None = None
    """Of the interpolated value, at the declared price; all tokens counted."""
    reason: str = ""


class DepthRow(Struct, frozen=True):
    """Main agents' requests of turns `first` to `last` (None: and later)."""

    first: int
    last: int | None
    requests: int
    ttft_p50_s: float | None
    ttft_p90_s: float | None
    input_p50_tok: float | None


class AgentRow(Struct, frozen=True):
    """The main agents of all sessions, or all subagents."""

    name: str
    requests: int
    ttft_p50_s: float | None
    intvty_p90_tps: float | None
    input_tok: float | None
    output_tok: float | None
    streams: int | None = None
    """How many conversations they were; None in results of earlier versions."""


class ReplayPace(Struct, frozen=True):
    """Where a replayed point left the recording's pace, seconds."""

    late_bodies: int
    """Requests whose body was not made when they were due; they left late."""
    system_idle_cuts: int
    system_idle_cut_s: float
    """Idle caps: all sessions were moved forward, since nothing was in flight."""
    session_idle_cuts: int
    session_idle_cut_s: float
    """The same for single sessions, added up."""


class ReplaySummary(Struct, frozen=True):
    """A replayed point by the definitions of published AgentX points (`docs/howto-agentx.md`).

    Over successful requests of the profiling, times from their sending, percentiles linear.
    Dictionaries are by percentile (p50, p75, p90, p95). A percentile of times is None under the
    requests that its interval needs (p50 6, p90 29, p95 59), and where `withheld` says why.
    """

    point: int
    requests: int
    span_s: float
    itl_s: dict[str, float | None]
    """(last token - first) / (output - 1) of each request."""
    intvty_tps: dict[str, float | None]
    """1 / the percentile of `itl_s`: p90 is the slow tail."""
    e2e_norm_tps: dict[str, float | None]
    """1 / the percentile of (last token - sent) / output."""
    input_tok: float | None
    cached_tok: float | None
    output_tok: float | None
    hit_designed: float | None
    """Share of prompt blocks that a cache without bounds would find."""
    hit_measured: float | None
    """Cached share of the prompt tokens, as the server's usage tells."""
    drift_frac: float | None
    """Served prompt tokens over designed ones, less 1."""
    depths: tuple[DepthRow, ...]
    agents: tuple[AgentRow, ...]
    fan_out_mean: float
    fan_out_most: int
    idle_frac: float
    sessions: int
    recycled: int
    """Sessions that were not the first of their lane."""
    finished: int
    """Sessions after which their lane began another, but for those that a refusal ended."""
    usd_per_session: float | None
    """The declared GPUs' price of the profiling over the finished sessions."""
    traces: int
    coverage_frac: float | None
    not_comparable: tuple[str, ...]
    """Why it can't stand beside published AgentX points; empty: it can."""
    fan_out: tuple[float, ...] = ()
    """Requests in flight on average over each twentieth of the span."""
    total_tps: float | None = None
    """Prompt and output tokens over the span."""
    computed_tps: float | None = None
    """Prompt tokens that came from no cache, over the span."""
    output_tps: float | None = None
    withheld: str = ""
    """Why latencies can't be given; empty where they can."""
    subagents: tuple[AgentRow, ...] = ()
    """The 50 recorded subagents with most requests, as trace/agent, each over all its plays."""
    joules_per_session: float | None = None
    """Energy of the profiling over the finished sessions; None where no energy is known."""
    pace: ReplayPace | None = None
    """None in results of earlier versions."""


class Summary(Struct, frozen=True):
    """The reading wing's result, stored in run.json and given to every output."""

    run_id: str
    verdict: Verdict
    client_grade: str
    findings: tuple[Finding, ...]
    points: tuple[PointSummary, ...]
    headline: Headline
    state: str
    summary_version: int = SUMMARY_VERSION
    verdict_reasons: tuple[str, ...] = ()
    replays: tuple[ReplaySummary, ...] = ()
    """One a point of a replay; else empty."""
    ladder: tuple[LadderRung, ...] = ()
    """For sweeps with declared GPUs; else empty."""
    timing_uncertainty: str = ""
    """One sentence: stamp source, multi-event reads, the bound that follows."""
    server: tuple[ServerView, ...] = ()
    """One a point, where the server's metrics could be read."""
    cross_checks: tuple[CrossCheck, ...] = ()
    energy: tuple[PointEnergy, ...] = ()
    """One a point, where any GPU or power source was asked; else empty: not measured."""
    costs: tuple[CostRow, ...] = ()
    break_even: tuple[BreakEven, ...] = ()
    phases: tuple[PhaseFit, ...] = ()
    """One a point: prefill and decode told apart by regression."""
    disclosure: Disclosure | None = None
    """The six values and the card; None in results of earlier versions."""
