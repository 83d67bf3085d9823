"""Programs against each other: rounds in which each does the same job once, and ratios by round."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from loadgen.store.recording import read_recording
from parts.machine import cores
from parts.programs import (
    ENVIRONMENT,
    LOADGEN,
    Job,
    Program,
    forget,
    reported_ttfts_ns,
    scratch,
)
from parts.server import Log, running_server
from parts.watch import ProgramError, Watched, run_watched

STEADY_FROM = 0.5
"""CPU an event is taken from this share of all events on: connections and imports are past."""


@dataclass
class Outcome:
    """One run of one program: what was watched and what the server logged."""

    watched: Watched
    log: Log
    reported_ttfts_ns: list[int] = field(default_factory=list)

    @property
    def steady_us(self) -> float:
        """CPU us of the whole process tree an event, in the steady part."""
        written = self.log.written_ns()
        first = int(len(written) * STEADY_FROM)
        spent_s = self.watched.cpu_between_s(written[first], written[-1])
        return spent_s * 1e6 / (len(written) - first)

    @property
    def busiest_us(self) -> float:
        """CPU us of the busiest process alone an event, in the steady part."""
        written = self.log.written_ns()
        first = int(len(written) * STEADY_FROM)
        spent_s = self.watched.busiest_between_s(written[first], written[-1])
        return spent_s * 1e6 / (len(written) - first)

    @property
    def job_us(self) -> float:
        """CPU us of the tree an event, from the first request to the program's end."""
        spent_s = self.watched.cpu_s - self.watched.cpu_between_s(0, self.log.first_received_ns)
        return spent_s * 1e6 / self.log.chunks

    @property
    def rate(self) -> float:
        """Events a second, from the first request's receipt to the last event's write."""
        last_ns: int = max(r.events[-1].after_ns for r in self.log.requests if r.events)
        return self.log.chunks * 1e9 / (last_ns - self.log.first_received_ns)

    @property
    def start_s(self) -> float:
        """From the program's start to its first request at the server."""
        return (self.log.first_received_ns - self.watched.started_ns) / 1e9

    @property
    def wall_s(self) -> float:
        """From the program's start to its end."""
        return (self.watched.ended_ns - self.watched.started_ns) / 1e9

    @property
    def cpu_s(self) -> float:
        """CPU of the whole tree, start and end included."""
        return self.watched.cpu_s

    @property
    def peak_mb(self) -> float:
        """Most resident memory of the tree at one look; shared pages count in each process."""
        return self.watched.peak_rss_bytes / 1e6

    @property
    def ttft_excess_ms(self) -> float:
        """Reported less true TTFT p99."""
        true = self.log.true_ttfts_ns()
        return (_p99(self.reported_ttfts_ns) - _p99(true)) / 1e6


def _p99(ordered: Sequence[int]) -> int:
    return ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]


def run_once(program: Program, job: Job, *server_words: str) -> Outcome:
    """The program does the job against a fresh server. Raises: ProgramError."""
    folder = scratch()
    try:
        with running_server(*server_words) as server:
            watched = run_watched(
                program.command(job, server.port, folder),
                on_cores={cores()[1]},
                folder=folder.parent,
                is_first=program.is_first,
                environment=ENVIRONMENT,
            )
            outcome = Outcome(watched, server.log())
        if program is LOADGEN:
            outcome.reported_ttfts_ns = _loadgen_ttfts_ns(folder)
        elif (folder / "stamps").exists():
            outcome.reported_ttfts_ns = reported_ttfts_ns(folder)
        return outcome
    finally:
        forget(folder)


def _loadgen_ttfts_ns(folder: Path) -> list[int]:
    """TTFT as the report has it: first event with text less the instant of sending."""
    (run,) = folder.iterdir()
    table = read_recording(run).table
    found = []
    for row in range(len(table)):
        events = slice(int(table.event_start[row]), int(table.event_start[row + 1]))
        at_ns = table.event_at_ns[events][table.event_kind[events] != 0]
        if len(at_ns):
            found.append(int(at_ns[0]) - int(table.sent_at_ns[row]))
    return sorted(found)


@dataclass
class Race:
    """Outcomes by program, in rounds; a program that failed is out, with the reason."""

    title: str
    outcomes: dict[str, list[Outcome]]
    failed: dict[str, str]

    def figure(self, program: str, what: Callable[[Outcome], float]) -> "Spread":
        """Median and range of a figure."""
        return Spread([what(outcome) for outcome in self.outcomes[program]])

    def ratio(self, program: str, to: str, what: Callable[[Outcome], float]) -> "Spread":
        """Median and range of the ratio within each round."""
        pairs = zip(self.outcomes[program], self.outcomes[to], strict=False)
        return Spread([what(one) / what(other) for one, other in pairs])


@dataclass(frozen=True)
class Spread:
    """Values of repeated runs."""

    values: list[float]

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.values)

    def text(self, digits: int = 2) -> str:
        """`1.23 (1.10-1.31)`."""
        low, high = min(self.values), max(self.values)
        return f"{self.median:,.{digits}f} ({low:,.{digits}f}-{high:,.{digits}f})"


def race(
    title: str, programs: Sequence[Program], job: Job, rounds: int, *server_words: str
) -> Race:
    """All programs, one after the other, `rounds` times."""
    found = Race(title, {program.name: [] for program in programs}, {})
    for _ in range(rounds):
        for program in programs:
            if program.missing or program.name in found.failed:
                found.failed.setdefault(program.name, program.missing)
                continue
            try:
                found.outcomes[program.name].append(run_once(program, job, *server_words))
            except (ProgramError, OSError, ValueError) as error:
                found.failed[program.name] = str(error).strip().splitlines()[-1][:160]
    return found
