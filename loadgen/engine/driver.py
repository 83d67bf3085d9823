"""The one loop that keeps a schedule's promise, closed or open, for one worker's share."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from loadgen import clock
from loadgen.engine.feed import READY_SESSIONS, Feed
from loadgen.engine.sessions import Stage, play
from loadgen.engine.waiting import Alarms, Slots
from loadgen.model.exchange import Outcome, Phase
from loadgen.model.session import Session
from loadgen.units import NS_PER_S

REFUSALS_IN_A_ROW = 200
"""A point ends when this many requests in a row (or four waves) found no server at all."""


@dataclass(frozen=True, slots=True)
class Load:
    """One worker's part of a load point: pure values and iterators, nothing of the wire.

    `arrivals` are ns after the start; `slot_offsets_ns` says when each own slot first comes free
    (None: no slots). `warmup` sessions come first, then `requests` sessions or `duration_ns`.
    """

    arrivals: Iterator[int]
    feed: Feed
    slot_offsets_ns: tuple[int, ...] | None = None
    think_ns: int = 0
    warmup: int = 0
    requests: int | None = None
    duration_ns: int | None = None
    grace_ns: int = 30 * NS_PER_S
    recorded_speed: float | None = None
    """Where set, sessions arrive by their own times, so many times as fast."""


class Driver:
    """Runs one point. `halt` ends it early; `stop_reason` says what ended it."""

    def __init__(self, load: Load, alarms: Alarms, stop_sends: Callable[[Outcome], None]) -> None:
        self._load = load
        self.alarms = alarms
        self._stop_sends = stop_sends
        self._slots: Slots | None = None
        self._window_from_ns: int | None = None
        self._window_until_ns: int | None = None
        self._running = 0
        self._longest_ns = 0
        self._all_ended = asyncio.Event()
        self._all_ended.set()
        self.stop_reason = ""

    async def prepare(self) -> None:
        """Makes the first sessions, so that the start instant finds their bodies ready."""
        slots = self._load.slot_offsets_ns
        await self._load.feed.fill(READY_SESSIONS if slots is None else len(slots))

    def phase_at(self, due_at_ns: int) -> Phase:
        """The phase of a request that was due at that instant."""
        if self._window_from_ns is None or due_at_ns < self._window_from_ns:
            return Phase.WARMUP
        if self._window_until_ns is not None and due_at_ns > self._window_until_ns:
            return Phase.DRAIN
        return Phase.WINDOW

    def halt(self, reason: str) -> None:
        """No session and no further turn starts after this; what is in flight goes on."""
        self.stop_reason = self.stop_reason or reason
        self._window_until_ns = self._window_until_ns or clock.now_ns()
        self.alarms.halt()
        if self._slots is not None:
            self._slots.close()

    async def run(self, start_at_ns: int, stage: Stage) -> None:
        """Issues and drains; returns when every issued request has ended."""
        if self._load.slot_offsets_ns is not None:
            self._slots = Slots(start_at_ns + offset for offset in self._load.slot_offsets_ns)
        async with asyncio.TaskGroup() as group:
            timer = await self._issue(start_at_ns, stage, group)
            await self._drain()
            if timer is not None:
                timer.cancel()

    async def _issue(
        self, start_at_ns: int, stage: Stage, group: asyncio.TaskGroup
    ) -> asyncio.TimerHandle | None:
        load = self._load
        timer: asyncio.TimerHandle | None = None
        for issued, arrival_ns in enumerate(load.arrivals):
            if load.requests is not None and issued >= load.warmup + load.requests:
                self.stop_reason = self.stop_reason or "requests"
                break
            due_at_ns, session = await self._next(start_at_ns + arrival_ns)
            if due_at_ns is None or session is None:
                self.stop_reason = self.stop_reason or "no_more_sessions"
                break
            if issued == load.warmup:
                self._window_from_ns = due_at_ns
                timer = self._arm_duration(due_at_ns)
            phase = Phase.WARMUP if issued < load.warmup else Phase.WINDOW
            self._running += 1
            self._all_ended.clear()
            group.create_task(self._play(session, due_at_ns, phase, stage))
            if self._slots is None or not self._slots.free_now():
                self._load.feed.top_up()
        return timer

    async def _next(self, arrival_at_ns: int) -> tuple[int | None, Session | None]:
        """When the next session is due, and that session; None once halted or played out."""
        load = self._load
        if load.recorded_speed is not None:
            session = await load.feed.take()
            recorded_ns = 0 if session is None else session.arrives_at_ns or 0
            after_ns = round(recorded_ns / load.recorded_speed)
            return await self._next_due_ns(arrival_at_ns + after_ns), session
        due_at_ns = await self._next_due_ns(arrival_at_ns)
        return due_at_ns, None if due_at_ns is None else await load.feed.take()

    async def _next_due_ns(self, arrival_at_ns: int) -> int | None:
        """When the next session is due, at or after that instant; None once halted."""
        if not await self.alarms.until(arrival_at_ns):
            return None
        if self._slots is None:
            return arrival_at_ns
        free_at_ns = await self._slots.take()
        return None if free_at_ns is None else max(arrival_at_ns, free_at_ns)

    def _arm_duration(self, from_ns: int) -> asyncio.TimerHandle | None:
        if self._load.duration_ns is None:
            return None
        left_ns = from_ns + self._load.duration_ns - clock.now_ns()
        loop = asyncio.get_running_loop()
        return loop.call_later(max(left_ns, 0) / NS_PER_S, self.halt, "duration")

    async def _play(self, session: Session, due_at_ns: int, phase: Phase, stage: Stage) -> None:
        await play(session, due_at_ns, phase, stage)
        self._longest_ns = max(self._longest_ns, clock.now_ns() - due_at_ns)
        self._running -= 1
        if self._running == 0:
            self._all_ended.set()
        waves = 4 * len(self._load.slot_offsets_ns or ())
        if stage.tally.refused_in_a_row >= max(REFUSALS_IN_A_ROW, waves):
            self.halt("endpoint_gone")
        if self._slots is not None:
            self._slots.give_back(clock.now_ns() + self._load.think_ns)

    async def _drain(self) -> None:
        """Follows what is in flight; a point that was halted leaves it no more than the grace."""
        halted = self._load.duration_ns is not None or self.alarms.halted
        while not self._all_ended.is_set():
            limit_s = self._grace_s() if halted or self.alarms.halted else None
            try:
                await asyncio.wait_for(self._all_ended.wait(), limit_s or 0.2)
            except TimeoutError:
                if limit_s is not None:
                    self.halt("grace")
                    self._stop_sends(Outcome.UNFINISHED)
                    await self._all_ended.wait()

    def _grace_s(self) -> float:
        """The plan's grace, or twice the longest session so far where answers take longer."""
        return max(self._load.grace_ns, 2 * self._longest_ns) / NS_PER_S
