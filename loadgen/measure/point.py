"""One worker's share of one load point: prepared ahead of its start, run, accounted for."""

import asyncio
import random
import resource
from collections.abc import Callable, Iterator
from itertools import count, islice
from typing import Protocol

from loadgen import clock
from loadgen.engine import Alarms, Driver, Feed, Load, RateCeiling, Stage, Tally
from loadgen.measure.replaying import ReplayPlayer, is_overflow
from loadgen.measure.witness import LOOK_PERIOD_NS, Witness
from loadgen.model.exchange import Exchange, Phase
from loadgen.model.observed import ClientHealth
from loadgen.model.plan import Plan, PointPlan, Share
from loadgen.model.session import Session
from loadgen.schedule import SHAPES, Shape, recorded_speed
from loadgen.schedule.share import own_count, own_items, own_slots
from loadgen.specs import parse_spec
from loadgen.store.progress import WorkerRow
from loadgen.transport.call import Sender
from loadgen.transport.live import live_answer
from loadgen.transport.replicas import Replicas
from loadgen.units import NS_PER_S
from loadgen.workload import Sessions

PROGRESS_PERIOD_S = LOOK_PERIOD_NS / NS_PER_S


class Player(Protocol):
    """What keeps the schedule of one point: a driver, or a replay."""

    @property
    def alarms(self) -> Alarms:
        """Every sleep of the point, to be ended at once."""

    @property
    def stop_reason(self) -> str:
        """What ended the point."""

    async def prepare(self) -> None:
        """Makes what the start needs."""

    def halt(self, reason: str) -> None:
        """Nothing more is issued; what is in flight goes on."""

    def phase_at(self, due_at_ns: int) -> Phase:
        """The phase of a request that was due at that instant."""

    async def run(self, start_at_ns: int, stage: Stage) -> None:
        """Returns when every issued request has ended."""


def driver_of(
    plan: Plan,
    point: PointPlan,
    share: Share,
    stagger_ns: int,
    feed: Feed,
    sender: Sender | Replicas,
) -> Driver:
    """The worker's share of a load of arrivals and slots."""
    shape: Shape = parse_spec(point.load, SHAPES)
    slots = None if shape.slots is None else own_slots(share, shape.slots)
    chance = random.Random(f"{plan.seed}/arrivals/{point.index}")
    load = Load(
        arrivals=own_items(share, shape.arrivals(chance)),
        feed=feed,
        slot_offsets_ns=_slot_offsets_ns(slots, shape, stagger_ns),
        think_ns=shape.think_ns,
        warmup=own_count(share, point.warmup_requests),
        requests=None if point.requests is None else own_count(share, point.requests),
        duration_ns=point.duration_ns,
        grace_ns=point.grace_ns,
        recorded_speed=recorded_speed(shape),
    )
    return Driver(load, Alarms(), sender.stop)


class PointRun:
    """Made of a plan's point; `prepare`, then `run`, then `health`."""

    def __init__(
        self, plan: Plan, point: PointPlan, share: Share, player: Player, sender: Sender | Replicas
    ) -> None:
        shape: Shape = parse_spec(point.load, SHAPES)
        self._point = point
        self._share = share
        self._sender = sender
        self._tally = Tally()
        rate_rps = plan.max_rate_rps
        self._ceiling = None if rate_rps is None else RateCeiling(rate_rps / share.count)
        self._slots = None if shape.slots is None else own_slots(share, shape.slots)
        self._player = player
        self._before = _Before(sender)
        self._started_at_ns = 0

    @property
    def index(self) -> int:
        """The point's number in the plan."""
        return self._point.index

    async def prepare(self) -> None:
        """Makes the first bodies and opens a connection a slot, so that the start needs neither."""
        await self._player.prepare()
        if self._slots is not None:
            await self._sender.open_connections(len(self._slots))

    def halt(self, reason: str) -> None:
        """Nothing more is issued; what is in flight goes on."""
        self._player.halt(reason)

    async def run(
        self,
        start_at_ns: int,
        sink: Callable[[Exchange], None],
        row: WorkerRow,
        witness: Witness,
    ) -> None:
        """Returns when every issued request has ended and went to the sink."""
        self._started_at_ns = start_at_ns
        stage = Stage(
            point=self._point.index,
            share=self._share.index,
            send=self._sender.send,
            sink=sink,
            answer_of=live_answer,
            tally=self._tally,
            alarms=self._player.alarms,
            phase_at=self._player.phase_at,
            ceiling=self._ceiling,
            overflowed=is_overflow,
        )
        self._tally.tell = row.count
        if isinstance(self._player, ReplayPlayer):
            self._player.show(row)  # before `point`: who reads it must not find another's counts
        row.point = self._point.index
        row.count(0, 0)
        witness.start()
        showing = asyncio.create_task(self._show(row, witness))
        try:
            await self._player.run(start_at_ns, stage)
        finally:
            showing.cancel()
            witness.stop()
        self._write_progress(row, witness)

    def health(self, witness: Witness) -> ClientHealth:
        """How this worker fared, once the point has ended."""
        tally, sender, before, ceiling = self._tally, self._sender, self._before, self._ceiling
        return ClientHealth(
            share=self._share.index,
            point=self._point.index,
            started_at_ns=self._started_at_ns,
            ended_at_ns=clock.now_ns(),
            issued=tally.issued,
            ended=tally.ended,
            in_flight_max=tally.in_flight_max,
            skipped=tally.skipped,
            sessions_broken=tally.sessions_broken,
            connections_opened=sender.connections_opened - before.opened,
            connections_reused=sender.connections_reused - before.reused,
            stale_reconnects=sender.stale_reconnects - before.stale,
            reads=sender.reads - before.reads,
            cpu_ns=clock.cpu_ns() - before.cpu_ns,
            rss_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            rate_wait_ns=0 if ceiling is None else ceiling.wait_ns,
            rate_waits=0 if ceiling is None else ceiling.waits,
            stop_reason=self._player.stop_reason,
            replay=self._player.health() if isinstance(self._player, ReplayPlayer) else None,
            **witness.figures(),
        )

    async def _show(self, row: WorkerRow, witness: Witness) -> None:
        while True:
            witness.look()
            self._write_progress(row, witness)
            await asyncio.sleep(PROGRESS_PERIOD_S)

    def _write_progress(self, row: WorkerRow, witness: Witness) -> None:
        tally = self._tally
        row.skipped = tally.skipped
        row.loop_lag_max_ns = witness.pulse.lag_max_ns
        row.heartbeat_ns = clock.now_ns()
        if isinstance(self._player, ReplayPlayer):
            self._player.show(row)  # it says itself what is in flight: its peers go by that
        else:
            row.in_flight = tally.in_flight


class _Before:
    """Counters that run through all points, as they stood at the start of one."""

    def __init__(self, sender: Sender | Replicas) -> None:
        self.opened = sender.connections_opened
        self.reused = sender.connections_reused
        self.stale = sender.stale_reconnects
        self.reads = sender.reads
        self.cpu_ns = clock.cpu_ns()


def _slot_offsets_ns(own: range | None, shape: Shape, stagger_ns: int) -> tuple[int, ...] | None:
    """When each own slot first comes free: all slots of all workers spread over the stagger."""
    if own is None or shape.slots is None:
        return None
    return tuple(number * stagger_ns // shape.slots for number in own)


def own_sessions(sessions: Sessions, point: int, share: Share) -> Iterator[Session]:
    """The sessions of a point that fall to this share, in their order."""
    for index in islice(count(), share.index, None, share.count):
        session = sessions.session(point, index)
        if session is None:
            return
        yield session
