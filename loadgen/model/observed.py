"""What was seen of the endpoint and of the client itself. Never mixed with what users declare."""

from msgspec import Struct


class Observed(Struct, frozen=True):
    """What the endpoint showed of itself; None where it showed nothing."""

    engine: str | None = None
    engine_version: str | None = None
    engine_evidence: str = ""
    models: tuple[str, ...] = ()
    max_model_len: int | None = None
    reasoning_field: str | None = None
    usage_streamed: bool | None = None
    usage_running: bool | None = None
    stream_options_refused: bool | None = None
    """True where the endpoint answers 400 to `stream_options`, so that a run must not ask."""
    cached_tokens_reported: bool | None = None
    token_ids: bool | None = None
    tokenize_route: str | None = None
    metrics_route: str | None = None
    health_route: str | None = None
    buffered: bool | None = None
    keep_alive: bool | None = None
    http_version: str | None = None
    server_header: str | None = None
    rtt_ns: int | None = None
    first_answer_e2e_ns: int | None = None
    peer: str | None = None
    proxy: str | None = None
    role_event_first: bool | None = None
    done_marker: bool | None = None
    notes: tuple[str, ...] = ()
    model_root: str | None = None
    """What the served name stands for, where the model list says it (a path or a repository)."""
    cache_config: dict[str, str] = {}
    """Labels of `vllm:cache_config_info`: cache_dtype, block_size, enable_prefix_caching ..."""
    gpu_names: tuple[str, ...] = ()
    """GPUs of the machine that NVML or an exporter told of, one name a GPU."""
    gpu_driver: str | None = None
    server_args: dict[str, str] = {}
    """What SGLang's `/get_server_info` tells of its settings: formats, parallelism, speculation."""


class HostHealth(Struct, frozen=True):
    """How the client's machine fared during one point, seen from outside the workers.

    None where the platform does not tell. Shares are of wall time, 0 to 1; all counters are the
    whole machine's but for the control group's throttling.
    """

    samples: int = 0
    """Looks taken, one a second and one at each end."""
    pressure_frac: float | None = None
    """Time in which some process waited for a core (PSI cpu `some`)."""
    pressure_max_frac: float | None = None
    """The same in the worst second."""
    steal_frac: float | None = None
    """Core time that the hypervisor gave to others."""
    steal_max_frac: float | None = None
    throttles: int | None = None
    """Periods in which the control group had used up its quota."""
    throttled_ns: int | None = None
    segments_sent: int | None = None
    retransmits: int | None = None
    """TCP segments sent again."""
    segments_received: int | None = None
    out_of_order: int | None = None
    """TCP segments that came before an earlier one: what the far side lost shows only so."""
    load_1m: float | None = None
    rtt_min_ns: int | None = None
    rtt_p50_ns: int | None = None
    rtt_max_ns: int | None = None
    rtt_n: int = 0
    """TCP handshakes with the target, one each two seconds; none under `--no-preflight`."""


class ReplayHealth(Struct, frozen=True):
    """Where one worker's replay left the recording's pace; durations in ns."""

    late_bodies: int = 0
    """Requests of the profiling whose body was not there when they were due."""
    system_shifts: int = 0
    system_shift_ns: int = 0
    """How often and by how much all timers were moved: nothing was in flight for too long."""
    tree_shifts: int = 0
    tree_shift_ns: int = 0
    """The same for single sessions, added up."""


class ClientHealth(Struct, frozen=True):
    """How one worker's own process fared during one point. Durations in ns."""

    share: int
    point: int
    started_at_ns: int
    ended_at_ns: int
    issued: int = 0
    ended: int = 0
    in_flight_max: int = 0
    dropped: int = 0
    skipped: int = 0
    sessions_broken: int = 0
    connections_opened: int = 0
    connections_reused: int = 0
    stale_reconnects: int = 0
    reads: int = 0
    loop_lag_p50_ns: int | None = None
    loop_lag_p99_ns: int | None = None
    loop_lag_max_ns: int | None = None
    gc_pause_max_ns: int = 0
    gc_pause_sum_ns: int = 0
    gc_pauses: int = 0
    cpu_ns: int = 0
    rss_bytes: int | None = None
    rate_wait_ns: int = 0
    """Time that `--max-rate` held requests back, summed over requests."""
    rate_waits: int = 0
    stop_reason: str = ""
    """What ended the point: requests, duration, interrupted, no_more_sessions, error_limit."""
    run_wait_ns: int | None = None
    """Time that the loop's thread was ready to run and had no core; None where nobody counts."""
    stall_max_ns: int | None = None
    """Longest loop lag less what waiting for a core and the collector explain of it."""
    canary_p50_ns: int | None = None
    """Error of stamps under the true load: seen less sent of events that carry their send time."""
    canary_p95_ns: int | None = None
    canary_p99_ns: int | None = None
    canary_max_ns: int | None = None
    canary_wait_p50_ns: int | None = None
    """Read less sent of the same events: what a stamp can err by where one read brings several."""
    canary_wait_p95_ns: int | None = None
    canary_wait_p99_ns: int | None = None
    canary_n: int = 0
    canary_stamp: str = ""
    """Who stamped the canary's events: kernel or user; empty without a canary."""
    scribe_behind_ns: int = 0
    """Time in which finished streams waited in the worker because the scribe took no more."""
    scribe_behind_bytes: int = 0
    """Most bytes that waited so."""
    host: HostHealth | None = None
    """The machine during this point; the same for every share."""
    replay: ReplayHealth | None = None
    """Of a replay only."""
