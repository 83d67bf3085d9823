"""How far the server is, by every handshake that a run has seen: the floor under all its TTFTs."""

from dataclasses import dataclass

import numpy as np

from loadgen.model.table import ABSENT, Recording
from loadgen.units import NS_PER_S

PROBED = 5
"""Handshakes that the preflight's figure is the shortest of."""
HANDSHAKES_LEAST = 5
ALLOWED_FRAC = 0.2
ALLOWED_S = 0.001


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """The shortest handshake, seconds; how many there were; whether a kernel timed one of them.

    `surely_s` is what the round trip is at least, beyond doubt: handshakes timed by a client's loop
    are long by its lateness, and a few may all have been late.
    """

    least_s: float
    handshakes: int
    by_kernel: bool
    loop_lag_s: float

    @property
    def surely_s(self) -> float:
        """0 where too few handshakes were seen; else the shortest less what it may err by."""
        if self.handshakes < HANDSHAKES_LEAST and not self.by_kernel:
            return 0.0
        late_s = 0.0 if self.by_kernel else self.loop_lag_s
        return max(0.0, self.least_s - max(ALLOWED_FRAC * self.least_s, ALLOWED_S, late_s))


def round_trip(recording: Recording) -> RoundTrip | None:
    """The run's round trip; None where no handshake was timed.

    From the kernel's handshakes beside the load, the preflight's, and those of the requests.
    """
    hosts = {health.point: health.host for health in recording.health if health.host is not None}
    kernel = [host.rtt_min_ns for host in hosts.values() if host.rtt_min_ns is not None]
    probed = [] if recording.observed.rtt_ns is None else [recording.observed.rtt_ns]
    requests = _connects_ns(recording)
    found = [*kernel, *probed, *requests]
    if not found:
        return None
    lags = [health.loop_lag_p99_ns or 0 for health in recording.health]
    return RoundTrip(
        least_s=min(found) / NS_PER_S,
        handshakes=sum(host.rtt_n for host in hosts.values())
        + PROBED * len(probed)
        + len(requests),
        by_kernel=bool(kernel),
        loop_lag_s=max(lags, default=0) / NS_PER_S,
    )


def _connects_ns(recording: Recording) -> list[int]:
    """TCP handshakes of requests, DNS left out where it was timed."""
    table = recording.table
    resolved = table.conn_resolved_at_ns
    asked = np.where(resolved != ABSENT, resolved, table.conn_asked_at_ns)
    told = (asked != ABSENT) & (table.conn_connected_at_ns > asked)
    return [int(took) for took in (table.conn_connected_at_ns - asked)[told]]
