"""Exact accounting of one worker's requests in one point."""

from collections.abc import Callable
from dataclasses import dataclass


def _nobody(issued: int, ended: int) -> None:
    """Where nobody wants to know."""


@dataclass(slots=True)
class Tally:
    """`issued == ended + in_flight` at every moment; a skipped turn was never issued.

    `tell` hears of both counts whenever one changes, before the request is sent: so whoever
    outlives a kill knows of every request that was under way.
    """

    issued: int = 0
    ended: int = 0
    in_flight: int = 0
    in_flight_max: int = 0
    skipped: int = 0
    sessions_broken: int = 0
    refused_in_a_row: int = 0
    tell: Callable[[int, int], None] = _nobody

    def sent(self) -> None:
        """One more request is under way."""
        self.issued += 1
        self.in_flight += 1
        self.in_flight_max = max(self.in_flight_max, self.in_flight)
        self.tell(self.issued, self.ended)

    def returned(self, *, refused: bool) -> None:
        """One request has ended, in whatever way."""
        self.ended += 1
        self.in_flight -= 1
        self.refused_in_a_row = self.refused_in_a_row + 1 if refused else 0
        self.tell(self.issued, self.ended)
