"""Lanes: places that each always hold one tree, and what each of them wants next."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from loadgen.engine.bodies import Want
from loadgen.engine.tree import Tree
from loadgen.model.exchange import Phase, TurnKey
from loadgen.model.plan import ReplayRules
from loadgen.model.session import Session
from loadgen.units import NS_PER_S

ONE_TOKEN = 1
"""Output limit of primers and warm-up requests."""


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
    judged: int = 0
    """Requests of the profiling that ended, of which `failed`."""
    failed: int = 0
    late_bodies: int = 0
    """Requests whose body was not there when they were due."""
    system_shifts: int = 0
    system_shift_ns: int = 0
    """By how much all timers were moved, since nothing was in flight for too long."""
    tree_shifts: int = 0
    tree_shift_ns: int = 0
    """The same for single sessions, all of them added up."""


@dataclass(slots=True, eq=False)
class Lane:
    """Pass k of lane l of n plays session k x n + l. Without a tree it has ended for good."""

    number: int
    n_lanes: int
    passes: int = 0
    tree: Tree | None = None
    primers: dict[int, int] = field(default_factory=dict)
    """Turns whose one-token requests are still to be sent before all others, and when."""
    primers_out: int = 0
    """Primers sent and not ended."""
    warmup_left: int = 0
    upcoming: "asyncio.Task[Session | None] | None" = None
    """The next session, asked for when nothing of the tree is left to send."""
    wake_ns: int | None = None
    """When it has something to send, as its scheduler knows."""
    answers: dict[int, bytes | None] = field(default_factory=dict)
    """Live answers by turn, for live history."""

    @property
    def index(self) -> int:
        """The number of the session that it plays."""
        return self.passes * self.n_lanes + self.number

    @property
    def next_index(self) -> int:
        """The number of the session that comes after it."""
        return self.index + self.n_lanes

    @property
    def primed(self) -> bool:
        """Whether all its primers have ended."""
        return not self.primers and not self.primers_out

    @property
    def warming(self) -> bool:
        """Whether its warm-up has something left to send."""
        return self.tree is not None and (not self.primed or self.warmup_left > 0)

    def take(self, tree: Tree | None) -> None:
        """From now on it plays this tree."""
        self.tree = tree
        self.upcoming = None
        self.answers = {}

    def longest_lead_ns(self, most_ns: int) -> int:
        """How long before the start the earliest primer lay in the recording, `most_ns` at most."""
        leads = self.tree.primers() if self.tree is not None else ()
        return min(max((lead_ns for _, lead_ns in leads), default=0), most_ns)

    def plan_primers(self, start_at_ns: int, longest_ns: int) -> None:
        """A primer `lead` before the start of the play goes out `longest - lead` after `start`."""
        leads = self.tree.primers() if self.tree is not None else ()
        self.primers = {
            number: start_at_ns + longest_ns - min(max(lead_ns, 0), longest_ns)
            for number, lead_ns in leads
        }

    def due(self, now_ns: int, phase: Phase) -> list[tuple[int, int]]:
        """Turns to send by now as (due instant, number), primers apart."""
        if self.tree is None or not self.primed:
            return []
        ready = self.tree.due(now_ns)
        return ready[: self.warmup_left] if phase is Phase.WARMUP else ready

    def wants(self, now_ns: int, phase: Phase) -> Iterator[Want]:
        """Bodies that may be sent soon."""
        tree = self.tree
        if tree is None:
            return
        if not self.primed:
            for number, due_at_ns in self.primers.items():
                yield self.want(number, due_at_ns, phase)
            return
        live = tree.session.history == "live"
        near = [(at, n) for at, n in tree.near(now_ns) if not live or tree.is_ready(n)]
        if phase is Phase.WARMUP:
            near = sorted(near)[: self.warmup_left]
        for due_at_ns, number in near:
            yield self.want(number, due_at_ns, phase)
        if tree.all_sent and (phase is not Phase.WARMUP or self.warmup_left):
            yield from self._wants_upcoming(now_ns, phase)

    def _wants_upcoming(self, now_ns: int, phase: Phase) -> Iterator[Want]:
        """The first body of the next session, once that session is there."""
        if self.upcoming is None or not self.upcoming.done() or self.upcoming.cancelled():
            return
        session = self.upcoming.result()
        if session is not None and session.turns and session.from_ns is None:
            limit = ONE_TOKEN if phase is Phase.WARMUP else None
            yield Want(now_ns, (self.next_index, 0), session.turns[0].input_tok, limit)

    def want(self, number: int, due_at_ns: int, phase: Phase) -> Want:
        """The body of one of its turns."""
        assert self.tree is not None
        return Want(
            due_at_ns,
            (self.index, number),
            self.tree.session.turns[number].input_tok,
            ONE_TOKEN if phase is Phase.WARMUP else None,
            self._answers_before(number),
        )

    def _answers_before(self, number: int) -> tuple[bytes | None, ...]:
        """Live answers to the stream's earlier turns, in order; empty with recorded history."""
        tree = self.tree
        assert tree is not None
        if tree.session.history != "live":
            return ()
        answers = []
        earlier = tree.earlier[number]
        while earlier is not None:
            answers.append(self.answers.get(earlier))
            earlier = tree.earlier[earlier]
        return tuple(reversed(answers))

    def key(self, number: int, phase: Phase, *, point: int, share: int, seq: int) -> TurnKey:
        """What names a request of one of its turns."""
        assert self.tree is not None
        session = self.tree.session
        turn = session.turns[number]
        return TurnKey(
            point=point,
            share=share,
            seq=seq,
            session_id=f"{point}-{self.number}-{self.passes}",
            turn_id=turn.turn_id,
            turn_no=self.tree.turn_no[number],
            tenant=session.tenant,
            prompt_id=session.prompt_id,
            phase=phase,
            stream=turn.stream,
        )
