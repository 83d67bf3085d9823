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
    cpu_ns: int = 0
    rss_bytes: int | None = None
    rate_wait_ns: int = 0
    """Time that `--max-rate` held requests back, summed over requests."""
    rate_waits: int = 0
    stop_reason: str = ""
    """What ended the point: requests, duration, interrupted, no_more_sessions, error_limit."""
