"""Exact accounting of one worker's requests in one point."""

from dataclasses import dataclass


@dataclass(slots=True)
class Tally:
    """`issued == ended + in_flight` at every moment; a skipped turn was never issued."""

    issued: int = 0
    ended: int = 0
    in_flight: int = 0
    in_flight_max: int = 0
    skipped: int = 0
    sessions_broken: int = 0
    refused_in_a_row: int = 0

    def sent(self) -> None:
        """One more request is under way."""
        self.issued += 1
        self.in_flight += 1
        self.in_flight_max = max(self.in_flight_max, self.in_flight)

    def returned(self, *, refused: bool) -> None:
        """One request has ended, in whatever way."""
        self.ended += 1
        self.in_flight -= 1
        self.refused_in_a_row = self.refused_in_a_row + 1 if refused else 0
