"""A replay as a worker plays it: what it is given, and how it and its peers keep step."""

from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from loadgen.engine import Alarms, LaneLoad, Replay, Source, Stage
from loadgen.measure.building import BuilderClient
from loadgen.model.exchange import CONTEXT_TOO_LONG, Exchange, Outcome, Phase
from loadgen.model.observed import ReplayHealth
from loadgen.model.plan import Plan, PointPlan, Share
from loadgen.model.session import Session
from loadgen.schedule.share import own_slots
from loadgen.store.progress import Progress, WorkerRow

Meet = Callable[[int | None], Awaitable[tuple[int, int]]]
"""Tells the parent that the warm-up is over, with the own least delay, and returns when all
workers have: the profiling's start instant, and the least delay of all."""

LOOKED_AT_BYTES = 4096


class PointSource:
    """One point's sessions and bodies, from the builder."""

    def __init__(self, client: BuilderClient, point: int) -> None:
        self._client = client
        self._point = point

    async def session(self, index: int) -> Session | None:
        """Session `index` of the point."""
        return await self._client.session(self._point, index)

    async def body(
        self,
        index: int,
        turn_no: int,
        max_output_tok: int | None,
        answers: tuple[bytes | None, ...] = (),
    ) -> bytes:
        """The body of one of its turns."""
        return await self._client.body(self._point, index, turn_no, max_output_tok, answers)


class MappedPeers:
    """All workers of the run, through the progress map."""

    def __init__(self, progress: Progress, share: Share) -> None:
        self._rows = [progress.worker(index) for index in range(share.count)]
        self._own = self._rows[share.index]

    def publish(self, *, in_flight: int, next_due_ns: int, last_active_ns: int) -> None:
        """Tells this worker's part."""
        self._own.next_due_ns = next_due_ns
        self._own.last_active_ns = last_active_ns
        self._own.in_flight = in_flight  # last: who sees 0 sees what was said with it

    def idle_since_ns(self) -> int | None:
        """Since when nothing is in flight anywhere; None while something is."""
        if any(row.in_flight for row in self._rows):
            return None
        return max(row.last_active_ns for row in self._rows)

    def earliest_due_ns(self) -> int | None:
        """The earliest turn that any worker will send by itself."""
        return min((row.next_due_ns for row in self._rows if row.next_due_ns), default=None)


class ReplayPlayer:
    """A point's replay behind the face of a driver."""

    def __init__(self, replay: Replay, alarms: Alarms, meet: Meet) -> None:
        self._replay = replay
        self.alarms = alarms
        self._meet = meet

    @property
    def stop_reason(self) -> str:
        """What ended it."""
        return self._replay.stop_reason

    async def prepare(self) -> None:
        """Fetches the first session of every lane."""
        await self._replay.prepare()

    def halt(self, reason: str) -> None:
        """No turn is sent after this; what is in flight goes on."""
        self._replay.halt(reason)

    def phase_at(self, _due_at_ns: int) -> Phase:
        """The profiling's: a replay tells its phase with every turn."""
        return Phase.WINDOW

    def show(self, row: WorkerRow) -> None:
        """What the progress line tells of a replay."""
        counts = self._replay.counts()
        row.primers_left = counts.primers_left
        row.warmup_left = counts.warmup_left
        row.lanes = counts.lanes_live
        row.sessions_finished = counts.sessions_finished
        row.subagents_live = counts.subagents_live
        row.failed = counts.failed
        row.judged = counts.judged

    def health(self) -> ReplayHealth:
        """Where it left the recording's pace."""
        counts = self._replay.counts()
        return ReplayHealth(
            late_bodies=counts.late_bodies,
            system_shifts=counts.system_shifts,
            system_shift_ns=counts.system_shift_ns,
            tree_shifts=counts.tree_shifts,
            tree_shift_ns=counts.tree_shift_ns,
        )

    async def run(self, start_at_ns: int, stage: Stage) -> None:
        """Warms up, meets the other workers, then plays the profiling to its end."""
        await self._replay.warm_up(start_at_ns, stage)
        start_at_ns, least_gap_ns = await self._meet(self._replay.first_gap_ns())
        await self._replay.run(start_at_ns, least_gap_ns, stage)


def replay_of(
    plan: Plan,
    point: PointPlan,
    share: Share,
    alarms: Alarms,
    source: Source,
    progress: Progress,
    stop_sends: Callable[[Outcome], None],
) -> Replay:
    """The worker's share of a point's lanes."""
    assert plan.replay is not None
    assert point.slots is not None
    lanes = tuple(own_slots(share, point.slots))
    rules = plan.replay
    if share.count > 1:  # the parent judges over all workers
        rules = replace(rules, error_limit_frac=None)
    load = LaneLoad(lanes, point.slots, rules, point.grace_ns)
    return Replay(load, source, alarms, stop_sends, MappedPeers(progress, share))


def is_overflow(exchange: Exchange) -> bool:
    """Whether the server refused the prompt as longer than its context."""
    if (exchange.http_status or 0) < 400:
        return False
    said = b"".join(exchange.parts)[:LOOKED_AT_BYTES].lower()
    return any(words.encode() in said for words in CONTEXT_TOO_LONG)
