"""All requests of a run as columns: the one thing that the reading wing computes on."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from loadgen.model.columns import Flags as Flags
from loadgen.model.columns import Floats as Floats
from loadgen.model.columns import Ints as Ints
from loadgen.model.columns import Words as Words
from loadgen.model.imported import Imported as Imported
from loadgen.model.observed import ClientHealth, Observed
from loadgen.model.plan import Anchor, Plan
from loadgen.model.provenance import Provenance as Provenance
from loadgen.model.series import Telemetry, no_telemetry
from loadgen.model.timeline import Timeline

ABSENT = -1
"""Stands in integer columns for what was not seen. Metrics turn it into NaN."""


@dataclass(frozen=True, slots=True)
class RunTable:
    """One row a request, ordered by (point, due_at_ns). Times are monotonic ns of one axis.

    Event columns are flat: row i owns `event_*[event_start[i]:event_start[i + 1]]`, so
    `event_start` is int64[n + 1]. Words are numpy object arrays of str.
    """

    point: Ints
    share: Ints
    seq: Ints
    session_id: Words
    turn_id: Words
    turn_no: Ints
    tenant: Words
    prompt_id: Words
    phase: Words
    stream: Words
    """Which conversation of the session (an agent's name); empty where it has only one."""
    blocks: Words
    """Designed prompt blocks as comma-joined pairs (first id, how many); empty without any."""
    outcome: Words
    due_at_ns: Ints
    sent_at_ns: Ints
    written_at_ns: Ints
    headers_at_ns: Ints
    first_byte_at_ns: Ints
    done_at_ns: Ints
    reused: Flags
    stale_reconnects: Ints
    peer: Words
    base_url: Words
    conn_asked_at_ns: Ints
    conn_resolved_at_ns: Ints
    conn_connected_at_ns: Ints
    conn_tls_done_at_ns: Ints
    stream_asked: Flags
    http_status: Ints
    detail: Words
    finish_reason: Words
    flags: Words
    """Comma-joined names out of `record.FLAGS`; an empty string where there is none."""
    usage_input_tok: Ints
    usage_cached_tok: Ints
    usage_output_tok: Ints
    usage_reasoning_tok: Ints
    own_tok: Ints
    own_tok_source: Words
    input_tok: Ints
    max_output_tok: Ints
    sent_bytes: Ints
    received_bytes: Ints
    reads: Ints
    multi_event_reads: Ints
    seen_lag_max_ns: Ints
    seen_lag_sum_ns: Ints
    stamp_kind: Words
    tool_calls: Ints
    choices: Ints
    reasoning_chars: Ints
    content_chars: Ints
    tool_chars: Ints
    event_start: Ints
    event_at_ns: Ints
    event_read_no: NDArray[np.int32]
    event_kind: NDArray[np.uint8]
    event_tok: NDArray[np.int32]
    event_chars: NDArray[np.int32]
    output_text: Words = field(default_factory=lambda: np.empty(0, dtype=object))
    """Empty array when texts were not kept."""

    def __len__(self) -> int:
        return len(self.point)


@dataclass(frozen=True, slots=True)
class Recording:
    """A run folder in memory."""

    path: str
    plan: Plan
    table: RunTable
    observed: Observed
    provenance: Provenance
    health: tuple[ClientHealth, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    state: str = "complete"
    """complete | interrupted | failed (a process of the run died) | running_or_killed."""
    in_flight_at_end: int = 0
    """Requests that had been sent and left no record because the run was killed."""
    started_wall_ns: int = 0
    ended_wall_ns: int = 0
    truncated_segments: tuple[str, ...] = ()
    request_metrics: dict[str, Floats] = field(default_factory=dict)
    """Per-request metrics by name, float64[n_requests]: filled in by `review`, empty on disk."""
    telemetry: Telemetry = field(default_factory=no_telemetry)
    """What server, GPUs and host said meanwhile; no rows where nobody was asked."""
    imported: Imported | None = None
    """Set where the records come from another tool's file."""
    timeline: Timeline | None = None
    """For drawing: filled in by `review`, absent on disk."""
