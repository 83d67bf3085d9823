"""What was decided before the run: all that a worker needs, nothing secret. In run.json."""

from typing import Literal

from msgspec import Struct

from loadgen.model.prices import PriceTable
from loadgen.model.system import DeclaredSystem

PLAN_VERSION = 1

EndpointType = Literal["chat", "completions"]


class TokenFit(Struct, frozen=True):
    """How text of a wanted token length is made for one endpoint.

    `words` are ASCII words that cost `word_tok[i]` tokens each when written with a leading
    space; `overhead_tok` is what the endpoint adds to a prompt (chat template, special tokens).
    `source` says who counted; `error_frac` is the relative error seen when the fit was checked.
    """

    source: Literal["tokenize", "tokenizer", "usage", "assumed"] = "assumed"
    words: tuple[str, ...] = ()
    word_tok: tuple[int, ...] = ()
    tok_per_word: float = 1.0
    overhead_tok: int | None = None
    error_frac: float | None = None


class TargetPlan(Struct, frozen=True):
    """Where requests go and how they are shaped. Header values are redacted where secret."""

    base_url: str
    model: str
    endpoint_type: EndpointType = "chat"
    path: str = ""
    """Overrides the route below the base URL; empty means the endpoint type's own."""
    stream: bool = True
    ask_usage: bool = True
    ask_running_usage: bool = False
    extra_body: dict[str, object] = {}
    headers: dict[str, str] = {}
    api_key_env: str = "OPENAI_API_KEY"
    insecure: bool = False
    ca_file: str = ""
    use_proxy: bool = True
    proxy: str = ""
    """The proxy in force for this URL, without credentials; empty when none."""
    fresh_connections: bool = False
    replicas: tuple[str, ...] = ()
    """Further base URLs of the same deployment; sessions are spread over all of them."""
    affinity: tuple[str, ...] = ()
    """Header names that carry the session's name with each of its requests."""
    mock: str = ""
    """The profile of the built-in server that was started for the run; empty where none was."""


class Deadlines(Struct, frozen=True):
    """Time limits of one request by phase; None means no limit."""

    connect_ns: int | None = 10_000_000_000
    first_token_ns: int | None = None
    stall_ns: int | None = None
    total_ns: int | None = None


class WorkloadPlan(Struct, frozen=True):
    """Which prompts. `spec` is what the user wrote; the rest is what it came to."""

    name: str = "synthetic"
    format: str = "synthetic"
    path: str = ""
    isl: str = "1024"
    osl: str = "256"
    shared_prefix_tok: int = 0
    system_text: str = ""
    turns: str = "1"
    think: str = "0"
    ignore_eos: bool = False
    isl_is_wire: bool = False
    once: bool = False
    """Stop after one pass over a finite data set instead of starting again."""
    history: Literal["recorded", "live"] = "recorded"
    salted: bool | None = None
    """Makes each prompt unlike any other run's. None: by format (chat rows go byte for byte)."""
    skip_bad: bool = False
    """Leaves bad traces of a corpus out, each with a notice, where else the first one ends all."""
    limit_name: str = "max_tokens"
    """The body's member that limits an answer, where the format leaves the choice."""
    utility_calls: bool = False
    """Also sends recorded calls that belong to no agent (titles, summaries)."""
    label: str = ""
    """What made-up data call themselves; stands in every report."""
    sha256: str = ""
    """Hash over format, options and data, without the salt."""


class PointPlan(Struct, frozen=True):
    """One load point: arrivals and slots, how long, what comes before."""

    index: int
    load: str
    """The shape as text, `closed:16`; `loadgen.specs` reads it."""
    requests: int | None = None
    duration_ns: int | None = None
    warmup_requests: int = 0
    slots: int | None = None
    """Sessions at once, as `load` says; for a replay its lanes. None where nothing bounds them."""
    stagger_ns: int | None = None
    """First wave spread over this long; None: over one mean answer time, as far as it is known."""
    grace_ns: int = 30_000_000_000
    """How long in-flight requests are followed after the last one was issued."""


LEAST_JUDGED = 20
"""Requests that must have ended before their failures end a replay."""


class ReplayRules(Struct, frozen=True):
    """How recorded sessions are replayed; every value stands in the result by its name.

    The defaults are those of published AgentX runs (`agentx`).
    """

    name: Literal["agentx", "mvp", "smoke"] = "agentx"
    duration_s: float = 3600.0
    duration_floor_s: float = 900.0
    """Shorter profiling phases aren't comparable with published ones."""
    start_from_frac: float = 0.25
    start_until_frac: float = 0.75
    """First plays start at a moment drawn between these shares of the recording's span."""
    system_idle_s: float | None = 10.0
    tree_idle_s: float | None = 300.0
    time_scale: float = 1.0
    """Recorded delays are multiplied by this; published rules have 1."""
    warmup_turns: int = 10
    """One-token requests a lane after the primers, without delays."""
    warmup_grace_s: float = 1800.0
    primer_lead_s: float = 10.0
    """Primers are spread over at most this long."""
    error_limit_frac: float | None = 0.10
    coverage_frac: float | None = 0.95
    overflow_limit_frac: float = 0.01
    max_context_tok: int | None = None
    """Traces whose longest request (in + out) exceeds this are left out; None: none are."""
    seed: int = 42
    deviations: tuple[str, ...] = ()
    """What the user changed against the named rule set, as `name: published -> used`."""


class Plan(Struct, frozen=True):
    """A whole run. The same plan, seed and salt send the same bytes."""

    run_id: str
    target: TargetPlan
    workload: WorkloadPlan
    points: tuple[PointPlan, ...]
    command: Literal["demo", "sweep", "run", "replay", "selftest"] = "sweep"
    plan_version: int = PLAN_VERSION
    workers: int = 1
    seed: int = 1
    salt: str = ""
    deadlines: Deadlines = Deadlines()
    max_rate_rps: float | None = None
    keep_text: bool = False
    error_limit_frac: float = 0.1
    """Share of failed requests above which the run counts as failed (exit code 5)."""
    token_fit: TokenFit = TokenFit()
    tokenizer: str = ""
    metrics_urls: tuple[str, ...] = ()
    """Where the servers of the deployment tell their metrics; their counters are summed. Empty:
    the endpoint's own route, where the preflight finds one."""
    ask_metrics: bool = True
    gpu_metrics_url: str = ""
    """A DCGM exporter, or any Prometheus text with power series; empty: NVML where it is there."""
    power_query: str = ""
    """The name of the power series in watts at `gpu_metrics_url`, with labels to match, as
    `name{label="value"}`; empty: the exporter's own names."""
    power_boundary: str = ""
    """What that series covers: gpu, gpu+cpu, node, rack, facility; empty: gpu."""
    idle_s: float = 0.0
    """How long the unloaded server's power is watched before the first and after the last point."""
    preflight: bool = True
    canary: bool = True
    """Whether each worker also reads a stream of our own, whose send times are known."""
    prices: dict[str, float] = {}
    """`gpu_usd_per_h`, `gpus`: what the user said money is; empty when nothing was said."""
    price_table: PriceTable | None = None
    """What `--prices FILE` says over the built-in table; None when nothing was said."""
    system: DeclaredSystem | None = None
    """What the user said of model and GPUs (`--system`); None when nothing was said."""
    label: str = ""
    replay: ReplayRules | None = None
    """Set where sessions are replayed in lanes (`loadgen replay`, `sweep --workload agentx:`)."""
    between_points: str = ""
    """A command of the user's that is run before every point but the first."""
    floor: Literal["quick", "strict"] = "quick"
    """How long a window must be to count as steady: no floor, or that of `docs/definitions.md`."""


class Anchor(Struct, frozen=True):
    """One instant on both clocks of one process, to join shares and telemetry on one axis."""

    host: str
    boot_id: str
    mono_ns: int
    wall_ns: int


class Share(Struct, frozen=True):
    """Worker `index` of `count`."""

    index: int
    count: int
