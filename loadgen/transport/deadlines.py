"""When a request has taken too long, by phase. Pure: the sender asks every 50 ms."""

from typing import NamedTuple

from loadgen.model.exchange import Outcome
from loadgen.model.plan import Deadlines
from loadgen.units import NS_PER_S

NEVER_NS = 1 << 62


class Progress(NamedTuple):
    """How far a request has come.

    `connecting_since_ns` is None unless a connection is being made now; `last_body_at_ns` is
    None until a byte of the body came (headers alone start no stall clock).
    """

    asked_at_ns: int
    connecting_since_ns: int | None = None
    sent_at_ns: int | None = None
    has_token: bool = False
    last_body_at_ns: int | None = None


class Limit(NamedTuple):
    """A deadline that is running: when it passes, and what the request's failure is then."""

    at_ns: int
    outcome: Outcome
    detail: str


def next_limit(deadlines: Deadlines, progress: Progress) -> Limit | None:
    """The earliest deadline that is running, or None.

    connect: from asking for a connection until it stands, name and TLS included.
    first token: from the first send until the first byte of the body that is not an SSE comment.
    stall: between two reads of the body, comments included, once it has begun.
    total: from the call of send until the end.
    """
    running = []
    if deadlines.total_ns is not None:
        text = f"not done after {_seconds(deadlines.total_ns)}"
        at_ns = progress.asked_at_ns + deadlines.total_ns
        running.append(Limit(at_ns, Outcome.TIMEOUT_TOTAL, text))
    if progress.connecting_since_ns is not None:
        if deadlines.connect_ns is not None:
            text = f"no connection after {_seconds(deadlines.connect_ns)}"
            at_ns = progress.connecting_since_ns + deadlines.connect_ns
            running.append(Limit(at_ns, Outcome.TIMEOUT_CONNECT, text))
        return min(running, default=None)
    awaits_token = progress.sent_at_ns is not None and not progress.has_token
    if awaits_token and deadlines.first_token_ns is not None:
        text = f"no first token after {_seconds(deadlines.first_token_ns)}"
        at_ns = (progress.sent_at_ns or 0) + deadlines.first_token_ns
        running.append(Limit(at_ns, Outcome.TIMEOUT_FIRST_TOKEN, text))
    if progress.last_body_at_ns is not None and deadlines.stall_ns is not None:
        text = f"no byte for {_seconds(deadlines.stall_ns)}"
        at_ns = progress.last_body_at_ns + deadlines.stall_ns
        running.append(Limit(at_ns, Outcome.TIMEOUT_STALL, text))
    return min(running, default=None)


def holds_token(parts: list[bytes]) -> bool:
    """Whether a body holds anything but SSE comments and empty lines so far."""
    lines = b"".join(parts).splitlines()
    return any(line and not line.startswith(b":") for line in lines)


def _seconds(duration_ns: int) -> str:
    return f"{duration_ns / NS_PER_S:g} s"
