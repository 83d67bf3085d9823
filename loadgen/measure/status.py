"""What the progress line shows while a run goes on."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Status:
    """One look at a running point; None where nothing is known yet."""

    point_no: int
    points: int
    load: str
    phase: str
    elapsed_s: float
    planned_s: float | None
    in_flight: int
    issued: int
    ok: int
    failed: int
    out_tps: float | None
    ttft_p50_s: float | None
    eta_s: float | None
    client_ok: bool
    sessions: str = ""
    """A replay's own figures: primers and warm-up requests left, lanes, sessions, subagents."""
    draining: bool = False
    """The user asked for the end: nothing more is sent, what is in flight is followed."""
