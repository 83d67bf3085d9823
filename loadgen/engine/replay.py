"""Replays recorded sessions in lanes: primers, warm-up, and profiling after one start instant."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from loadgen.engine.bodies import Source
from loadgen.engine.idle import Peers
from loadgen.engine.sessions import Stage
from loadgen.engine.waiting import Alarms
from loadgen.model.exchange import Outcome
from loadgen.model.plan import ReplayRules
from loadgen.units import NS_PER_S


@dataclass(frozen=True, slots=True)
class LaneLoad:
    """One worker's lanes, by number, of `n_lanes` in the whole run; and the rules they keep."""

    lanes: tuple[int, ...]
    n_lanes: int
    rules: ReplayRules
    grace_ns: int = 30 * NS_PER_S
    """How long requests in flight are followed after the end of profiling, or after `halt`."""


class Counts(NamedTuple):
    """How far a replay is, for the progress line and the client's health."""

    primers_left: int = 0
    warmup_left: int = 0
    """Warm-up requests that are still to be sent."""
    lanes_live: int = 0
    sessions_finished: int = 0
    """Sessions that ended while profiling, root and all subagents."""
    sessions_recycled: int = 0
    """Sessions begun in the place of an ended one, warm-up included."""
    subagents_live: int = 0
    overflows: int = 0
    """Sessions ended because the server's context was too short for a request."""
    late_bodies: int = 0
    """Requests whose body was not there when they were due."""
    system_shifts: int = 0
    system_shift_ns: int = 0
    """By how much all timers were moved, since nothing was in flight for too long."""
    tree_shifts: int = 0
    tree_shift_ns: int = 0
    """The same for single sessions, all of them added up."""


class Replay:
    """One worker's lanes of one point. `halt` ends it early; `stop_reason` says what ended it.

    `stop_reason`: `duration`, `no_more_sessions`, `primer_failed`, `error_limit`,
    `endpoint_gone`, or what `halt` was given.
    """

    def __init__(
        self,
        load: LaneLoad,
        source: Source,
        alarms: Alarms,
        stop_sends: Callable[[Outcome], None],
        peers: Peers,
    ) -> None:
        self.alarms = alarms
        self.stop_reason = ""

    async def prepare(self) -> None:
        """Fetches the first session of every lane; `warm_up` does it where nobody did."""
        raise NotImplementedError

    async def warm_up(self, start_at_ns: int, stage: Stage) -> None:
        """Primers, then `rules.warmup_turns` requests a lane; returns when nothing is in flight."""
        raise NotImplementedError

    def first_gap_ns(self) -> int | None:
        """The least delay before which a turn can be sent next; None without a live lane."""
        raise NotImplementedError

    async def run(self, start_at_ns: int, least_gap_ns: int, stage: Stage) -> None:
        """Profiling: next turns are due at start + delay - least_gap; drains at the end."""
        raise NotImplementedError

    def halt(self, reason: str) -> None:
        """Nothing more is sent; what is in flight goes on for the grace."""
        raise NotImplementedError

    def counts(self) -> Counts:
        """How far it is."""
        raise NotImplementedError
