"""Replays recorded sessions in lanes: primers, warm-up, and profiling after one start instant.

A lane always holds one tree and takes the next at its end. The two phases play the same trees:
the profiling goes on from where the warm-up left every stream. Nothing is sent twice. Source of
the rules: docs/howto-agentx.md.
"""

import asyncio
import heapq
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from msgspec.structs import replace

from loadgen import clock
from loadgen.engine.bodies import Bodies, Source
from loadgen.engine.driver import REFUSALS_IN_A_ROW
from loadgen.engine.idle import IdleCaps, Peers
from loadgen.engine.lanes import ONE_TOKEN, Counts, Lane, LaneLoad
from loadgen.engine.sessions import Stage
from loadgen.engine.tree import Tree
from loadgen.engine.waiting import Alarms, Bell
from loadgen.model.exchange import Exchange, Outcome, Phase
from loadgen.model.plan import LEAST_JUDGED
from loadgen.model.session import Session
from loadgen.units import NS_PER_MS, ns_from_s

NAP_NS = 200 * NS_PER_MS
"""The longest sleep: whoever halts the alarms directly is noticed by then."""
FAR_NS = 1 << 62

T = TypeVar("T")


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
        self._load = load
        self._rules = load.rules
        self._source = source
        self._stop_sends = stop_sends
        self._lanes = [Lane(number, load.n_lanes) for number in load.lanes]
        self._caps = IdleCaps(load.rules, peers, self._trees)
        self._bell = Bell()
        self._touched: set[Lane] = set()
        """Lanes that changed since they were last looked at."""
        self._wakes: list[tuple[int, int, Lane]] = []
        """A heap of lanes by wake-up, number; one whose lane says otherwise is void."""
        self._bodies = Bodies(source, self._start, self._bell.ring)
        self._group: asyncio.TaskGroup | None = None
        self._stage: Stage | None = None
        self._phase = Phase.WARMUP
        self._prepared = False
        self._active = 0
        """Turns taken in hand and not ended, and lanes that wait for their next session."""
        self._last_issue_ns = 0
        self._longest_ns = 0
        self._end_at_ns = FAR_NS
        self._judged = self._failed = 0
        self._finished = self._recycled = self._overflows = 0

    async def prepare(self) -> None:
        """Fetches the first session of every lane; `warm_up` does it where nobody did."""
        if self._prepared:
            return
        self._prepared = True
        sessions = await asyncio.gather(*(self._source.session(lane.index) for lane in self._lanes))
        for lane, session in zip(self._lanes, sessions, strict=True):
            lane.take(None if session is None else Tree(session))

    async def warm_up(self, start_at_ns: int, stage: Stage) -> None:
        """Primers, then `rules.warmup_turns` requests a lane; returns when nothing is in flight."""
        await self.prepare()
        self._phase = Phase.WARMUP
        self._last_issue_ns = start_at_ns
        self._plan_warm_up(start_at_ns)
        await self._play_phase(stage)

    def first_gap_ns(self) -> int | None:
        """The least delay before which a turn can be sent next; None without a live lane."""
        delays = (tree.first_delay_ns() for tree in self._trees())
        return min((delay for delay in delays if delay is not None), default=None)

    async def run(self, start_at_ns: int, least_gap_ns: int, stage: Stage) -> None:
        """Profiling: next turns are due at start + delay - least_gap; drains at the end.

        `least_gap_ns` is the least of all workers' `first_gap_ns`. May be called ahead of the
        start, so that bodies are there in time.
        """
        await self.prepare()
        self._phase = Phase.WINDOW
        self._bodies.late = 0
        self._end_at_ns = start_at_ns + ns_from_s(self._rules.duration_s)
        for tree in self._trees():
            tree.pace_from(start_at_ns - least_gap_ns)
            tree.idle_since_ns = start_at_ns
        self._caps.start(start_at_ns)
        await self._play_phase(stage)

    def halt(self, reason: str) -> None:
        """Nothing more is sent; what is in flight goes on for the grace."""
        self.stop_reason = self.stop_reason or reason
        self.alarms.halt()
        self._bell.ring()

    def counts(self) -> Counts:
        """How far it is."""
        return Counts(
            primers_left=sum(len(lane.primers) + lane.primers_out for lane in self._lanes),
            warmup_left=sum(lane.warmup_left for lane in self._lanes),
            lanes_live=len(self._trees()),
            sessions_finished=self._finished,
            sessions_recycled=self._recycled,
            subagents_live=sum(tree.subagents_live for tree in self._trees()),
            overflows=self._overflows,
            judged=self._judged,
            failed=self._failed,
            late_bodies=self._bodies.late,
            system_shifts=self._caps.system_shifts,
            system_shift_ns=self._caps.system_shift_ns,
            tree_shifts=self._caps.tree_shifts,
            tree_shift_ns=self._caps.tree_shift_ns,
        )

    def _trees(self) -> list[Tree]:
        return [lane.tree for lane in self._lanes if lane.tree is not None]

    def _plan_warm_up(self, start_at_ns: int) -> None:
        """Primers go out as their turns lay before the recording's start point, the last first."""
        longest_ns = ns_from_s(self._rules.primer_lead_s)
        longest_ns = max((lane.longest_lead_ns(longest_ns) for lane in self._lanes), default=0)
        for lane in self._lanes:
            lane.plan_primers(start_at_ns, longest_ns)
            lane.warmup_left = self._rules.warmup_turns
            if lane.tree is not None and lane.primed:
                lane.tree.unpaced(start_at_ns)

    # one phase

    async def _play_phase(self, stage: Stage) -> None:
        self._stage = stage
        self._touched.update(self._lanes)
        async with asyncio.TaskGroup() as group:
            self._group = group
            while self._goes_on(clock.now_ns()):
                now_ns = clock.now_ns()
                self._look(now_ns)
                await self._bell.until(self._next_look_ns(now_ns))
            await self._drain()
            self._bodies.forget()
            for lane in self._lanes:
                if self.alarms.halted and lane.upcoming is not None:
                    lane.upcoming.cancel()

    def _goes_on(self, now_ns: int) -> bool:
        """Whether the phase has more to send; ends it where its time is over."""
        if self._phase is Phase.WARMUP:
            if now_ns - self._last_issue_ns > ns_from_s(self._rules.warmup_grace_s):
                self._end_warm_up()
            return not self.alarms.halted and any(lane.warming for lane in self._lanes)
        if now_ns >= self._end_at_ns:
            self.halt("duration")
        if all(lane.tree is None for lane in self._lanes):
            self.halt("no_more_sessions")
        return not self.alarms.halted

    def _end_warm_up(self) -> None:
        for lane in self._lanes:
            lane.primers = {}
            lane.warmup_left = 0
        self._stop_sends(Outcome.UNFINISHED)

    async def _drain(self) -> None:
        """Follows what is in flight; stops it when the grace is over."""
        until_ns = self._drained_by_ns()
        while self._active:
            now_ns = clock.now_ns()
            until_ns = min(until_ns, self._drained_by_ns())
            if now_ns >= until_ns:
                self._stop_sends(Outcome.UNFINISHED)
            await self._bell.until(now_ns + NAP_NS if now_ns >= until_ns else until_ns)

    def _drained_by_ns(self) -> int:
        """Twice the longest answer so far, at least the grace, or what the warm-up allows."""
        if self._phase is Phase.WARMUP and not self.alarms.halted:
            return self._last_issue_ns + ns_from_s(self._rules.warmup_grace_s)
        return clock.now_ns() + max(self._load.grace_ns, 2 * self._longest_ns)

    def _look(self, now_ns: int) -> None:
        """Sends what is due and asks for what will be."""
        if self._phase is Phase.WARMUP:
            self._caps.publish(self._active)
        elif self._caps.look(now_ns, self._active):
            self._touched.update(self._lanes)
        self._settle(now_ns)
        before = self._active
        while self._wakes and self._wakes[0][0] <= now_ns:
            wake_ns, _, lane = heapq.heappop(self._wakes)
            if lane.wake_ns == wake_ns:
                lane.wake_ns = None
                self._launch_due(lane, now_ns)
        if self._active > before:
            self._caps.publish(self._active)
        self._settle(now_ns)
        self._bodies.top_up(now_ns)

    def _settle(self, now_ns: int) -> None:
        """Notes when the lanes that changed wake next, and which bodies they will want."""
        for lane in self._touched:
            if lane.tree is not None and lane.tree.all_sent and lane.upcoming is None:
                lane.upcoming = self._start(self._fetch_session(lane))
            for want in lane.wants(now_ns, self._phase):
                self._bodies.offer(want)
            wake_ns = self._wake_ns(lane)
            if wake_ns is not None and wake_ns != lane.wake_ns:
                heapq.heappush(self._wakes, (wake_ns, lane.number, lane))
            lane.wake_ns = wake_ns
        self._touched.clear()

    def _wake_ns(self, lane: Lane) -> int | None:
        if lane.primers:
            return min(lane.primers.values())
        if lane.tree is None or not lane.primed:
            return None
        if self._phase is Phase.WINDOW:
            return self._caps.wake_ns(lane.tree)
        return lane.tree.earliest_due_ns() if lane.warmup_left else None

    def _launch_due(self, lane: Lane, now_ns: int) -> None:
        tree = lane.tree
        assert tree is not None
        self._touched.add(lane)
        for number in [n for n, due_at_ns in lane.primers.items() if due_at_ns <= now_ns]:
            lane.primers_out += 1
            self._begin(self._prime(lane, number, lane.primers.pop(number)))
        if self._phase is Phase.WINDOW:
            self._caps.move_if_idle(tree, now_ns)
        for due_at_ns, number in lane.due(now_ns, self._phase):
            tree.launch(number)
            lane.warmup_left -= self._phase is Phase.WARMUP
            self._begin(self._play(lane, tree, number, due_at_ns))

    def _next_look_ns(self, now_ns: int) -> int:
        looks = [now_ns + NAP_NS, self._end_at_ns]
        if self._wakes:
            looks.append(self._wakes[0][0])
        if self._phase is Phase.WINDOW:
            looks.append(self._caps.next_look_ns(now_ns, self._active) or FAR_NS)
        return min(looks)

    def _changed(self, lane: Lane) -> None:
        self._touched.add(lane)
        self._bell.ring()

    def _start(self, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        assert self._group is not None
        return self._group.create_task(work)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        self._active += 1
        self._start(work)

    def _end(self, lane: Lane) -> None:
        self._active -= 1
        self._changed(lane)

    # one turn

    async def _prime(self, lane: Lane, number: int, due_at_ns: int) -> None:
        """Sends a turn that counts as played, for one token: its prompt fills the cache."""
        tree = lane.tree
        assert tree is not None
        exchange = await self._send(lane, number, due_at_ns)
        lane.primers_out -= 1
        if lane.primed:
            tree.unpaced(clock.now_ns())
        is_root = tree.session.turns[number].stream == tree.root
        if exchange is not None and is_root and has_failed(exchange):
            self.halt("primer_failed")
        self._end(lane)

    async def _play(self, lane: Lane, tree: Tree, number: int, due_at_ns: int) -> None:
        exchange = await self._send(lane, number, due_at_ns)
        if exchange is None:
            tree.called_off(number)
        else:
            at_ns = exchange.done_at_ns or clock.now_ns()
            tree.done(number, at_ns)
            self._take_in(lane, tree, number, exchange)
        if tree.drained and not self.alarms.halted:
            await self._recycle(lane, tree)
        self._end(lane)

    def _take_in(self, lane: Lane, tree: Tree, number: int, exchange: Exchange) -> None:
        """What an answer means for the turns to come."""
        stage = self._stage
        assert stage is not None
        if stage.overflowed(exchange) and not tree.closed:
            self._overflows += 1
            tree.close()
            self._bodies.forget(lane.index)
        if self._phase is Phase.WINDOW:
            self._caps.ended(tree.idle_since_ns)
            self._judge(exchange)
            if tree.session.history == "live":
                lane.answers[number] = stage.answer_of(exchange)

    def _judge(self, exchange: Exchange) -> None:
        """Ends the replay where too many have failed, if the rules leave that to each worker."""
        self._judged += 1
        self._failed += has_failed(exchange)
        limit = self._rules.error_limit_frac
        if limit is None or self._judged < LEAST_JUDGED:
            return
        if self._failed > limit * self._judged:
            self.halt("error_limit")

    async def _recycle(self, lane: Lane, tree: Tree) -> None:
        """The lane's next session, from its first turn on, due at the end of the last one."""
        self._finished += self._phase is Phase.WINDOW and not tree.closed
        if lane.upcoming is None:
            lane.upcoming = self._start(self._fetch_session(lane))
        session = await lane.upcoming
        if self.alarms.halted:
            return
        following = None if session is None else Tree(session)
        if following is not None:
            lane.passes += 1
            self._recycled += 1
            pace = following.unpaced if self._phase is Phase.WARMUP else following.pace_from
            pace(tree.idle_since_ns)
        lane.take(following)

    async def _fetch_session(self, lane: Lane) -> Session | None:
        session = await self._source.session(lane.next_index)
        asyncio.get_running_loop().call_soon(self._changed, lane)  # once this task has ended
        return session

    async def _send(self, lane: Lane, number: int, due_at_ns: int) -> Exchange | None:
        """What the wire gave; None where the turn was called off before it could be sent."""
        stage, phase, tree = self._stage, self._phase, lane.tree
        assert stage is not None
        assert tree is not None
        body = await self._bodies.take(lane.want(number, due_at_ns, phase))
        if self.alarms.halted or tree.closed:
            return None
        tally, turn = stage.tally, tree.session.turns[number]
        if phase is Phase.WARMUP:
            turn = replace(turn, max_output_tok=ONE_TOKEN)
        key = lane.key(number, phase, point=stage.point, share=stage.share, seq=tally.issued)
        tally.sent()
        if stage.ceiling is not None:
            await stage.ceiling.passed()
        self._last_issue_ns = clock.now_ns()
        if not tree.is_done(number):
            tree.sent(number, self._last_issue_ns)
            self._changed(lane)
        exchange = await stage.send(key, turn, body, due_at_ns)
        tally.returned(refused=exchange.failure is Outcome.REFUSED)
        stage.sink(exchange)
        self._longest_ns = max(self._longest_ns, clock.now_ns() - due_at_ns)
        if tally.refused_in_a_row >= max(REFUSALS_IN_A_ROW, 4 * len(self._lanes)):
            self.halt("endpoint_gone")
        return exchange


def has_failed(exchange: Exchange) -> bool:
    """As far as the transport tells; errors inside a stream are found when it is decoded."""
    status = exchange.http_status or 0
    return exchange.failure is not None or not exchange.complete or status >= 400
