"""How long nothing may be in flight: the caps on idle time of the whole run and of one session.

A cap never skips a wait: it moves timers earlier, all of them by one amount, so that their order
and spacing stay. Source: agentic replay, docs/workloads.md#agentx.
"""

from typing import Protocol


class Peers(Protocol):
    """What is known of all workers of the run together, the own one included."""

    def publish(self, *, in_flight: int, next_due_ns: int, last_active_ns: int) -> None:
        """Says what the own worker does; `next_due_ns` 0: it plans nothing.

        `in_flight` must become visible last: who sees 0 must see the other two as given with it.
        """

    def idle_since_ns(self) -> int | None:
        """The latest `last_active_ns`; None while any worker has a request in flight."""

    def earliest_due_ns(self) -> int | None:
        """The least `next_due_ns`; None where nobody plans anything."""


class OwnPeers:
    """A run of one worker."""

    def __init__(self) -> None:
        self._in_flight = 0
        self._next_due_ns = 0
        self._last_active_ns = 0

    def publish(self, *, in_flight: int, next_due_ns: int, last_active_ns: int) -> None:
        """Keeps what was said."""
        self._in_flight = in_flight
        self._next_due_ns = next_due_ns
        self._last_active_ns = last_active_ns

    def idle_since_ns(self) -> int | None:
        """When the last request ended; None while one is in flight."""
        return None if self._in_flight else self._last_active_ns

    def earliest_due_ns(self) -> int | None:
        """The next instant at which a request is due; None: none is planned."""
        return self._next_due_ns or None
