"""What the wire gave for one turn, undecoded: made on the hot path, decoded elsewhere."""

from enum import StrEnum

from msgspec import Struct

CONTEXT_TOO_LONG = (
    "context length",
    "maximum context",
    "context_length_exceeded",
    "prompt is too long",
)
"""Words, in lower case, of a refusal because the prompt is longer than the server's context."""


class Outcome(StrEnum):
    """How an issued request ended; each has exactly one (`docs/definitions.md`)."""

    OK = "ok"
    HTTP_ERROR = "http_error"
    ERROR_IN_STREAM = "error_in_stream"
    TRUNCATED = "truncated"
    EMPTY = "empty"
    BAD_STREAM = "bad_stream"
    REFUSED = "refused"
    DROPPED = "dropped"
    TIMEOUT_CONNECT = "timeout_connect"
    TIMEOUT_FIRST_TOKEN = "timeout_first_token"
    TIMEOUT_STALL = "timeout_stall"
    TIMEOUT_TOTAL = "timeout_total"
    CANCELLED = "cancelled"
    UNFINISHED = "unfinished"


class Phase(StrEnum):
    """Which part of a point a request belongs to, by the moment it was due."""

    WARMUP = "warmup"
    WINDOW = "window"
    DRAIN = "drain"


class StampKind(StrEnum):
    """Where the arrival stamps of a connection come from."""

    KERNEL = "kernel"
    USER = "user"


class TurnKey(Struct, frozen=True):
    """Which request this is. `seq` counts a worker's requests of one point from 0."""

    point: int
    share: int
    seq: int
    session_id: str
    turn_id: str
    turn_no: int = 0
    tenant: str = ""
    prompt_id: str = ""
    phase: Phase = Phase.WINDOW
    stream: str = ""
    """Which conversation of the session; `turn_no` counts within it from 0."""


class ConnectionInfo(Struct, frozen=True):
    """How the request got its connection; instants are None where a step did not happen."""

    reused: bool = False
    stale_reconnects: int = 0
    peer: str = ""
    proxy: str = ""
    asked_at_ns: int | None = None
    resolved_at_ns: int | None = None
    connected_at_ns: int | None = None
    tls_done_at_ns: int | None = None


class Exchange(Struct, frozen=True, gc=False):
    """Bytes and stamps of one request and its answer.

    Read r (0-based) ended when `part_marks[r]` body parts had been taken in all, arrived at
    `read_at_ns[r]` (kernel or user stamp, already on the monotonic axis) and was seen by the
    client's loop at `seen_at_ns[r]`. The three are native-endian `array` bytes ('i', 'q', 'q').
    `failure` is what the transport itself saw (refused, timeout, cancelled ...); None means that
    the decoder decides. `complete` says that the HTTP message ended as it promised.
    """

    key: TurnKey
    due_at_ns: int
    sent_at_ns: int | None = None
    written_at_ns: int | None = None
    headers_at_ns: int | None = None
    done_at_ns: int | None = None
    connection: ConnectionInfo = ConnectionInfo()
    base_url: str = ""
    stream_asked: bool = True
    http_status: int | None = None
    headers: dict[str, str] = {}
    parts: list[bytes] = []
    part_marks: bytes = b""
    read_at_ns: bytes = b""
    seen_at_ns: bytes = b""
    stamp_kind: StampKind = StampKind.USER
    clock_step_ns: int = 0
    """How far wall and monotonic clocks moved apart while the stream ran; 0 on a healthy host."""
    complete: bool = False
    failure: Outcome | None = None
    detail: str = ""
    sent_bytes: int = 0
    input_tok: int | None = None
    max_output_tok: int | None = None
    attempt: int = 1
    late_reads: bytes = b""
    """Reads whose first bytes may have lain for too long: native int64 pairs of the read's number
    and the instant since when."""
    blocks: tuple[int, ...] = ()
    """The turn's designed blocks (`Turn.blocks`)."""
