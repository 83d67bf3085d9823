"""Lanes that replay recorded sessions: each always plays one tree, and takes the next at its end.

A replay is two phases on the same trees: a warm-up (a primer for each stream under way, then
one-token requests without delays, then quiet) and the profiling, which goes on from where the
warm-up left every stream. Source of all rules: docs/howto-agentx.md.
"""

import asyncio
import heapq
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from loadgen import clock
from loadgen.engine.bodies import Source
from loadgen.engine.caps import IdleCaps
from loadgen.engine.idle import Peers
from loadgen.engine.sessions import Stage
from loadgen.engine.tree import Node, Tree
from loadgen.engine.waiting import COARSE_NS, Alarms
from loadgen.model.exchange import Exchange, Outcome, Phase, TurnKey
from loadgen.model.plan import ReplayRules
from loadgen.model.session import Turn
from loadgen.units import NS_PER_S

LOOKAHEAD_NS = 2 * NS_PER_S
"""Bodies are asked for this long before they are due, or when nothing else is known of them."""
LEAST_JUDGED = 20
"""Requests that must have ended before their failures end a replay."""


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


@dataclass(slots=True, eq=False)
class Lane:
    """A place for one tree. Pass k of lane l plays session k x lanes + l."""

    number: int
    passes: int = 0
    index: int = 0
    tree: Tree | None = None
    warmup_left: int = 0
    bodies: dict[int, "asyncio.Future[bytes]"] = field(default_factory=dict)
    """Asked for ahead, by the turn's number."""
    answers: dict[tuple[str, int], bytes | None] = field(default_factory=dict)
    """Live answers by stream and depth, for live history."""


class Replay:
    """Plays one point's share of lanes. `halt` ends it early; `stop_reason` says what ended it."""

    def __init__(
        self,
        load: LaneLoad,
        source: Source,
        alarms: Alarms,
        stop_sends: Callable[[Outcome], None],
        peers: Peers,
    ) -> None:
        self._lanes = [Lane(number) for number in load.lanes]
        self._n_lanes = load.n_lanes
        self._rules = load.rules
        self._grace_s = load.grace_ns / NS_PER_S
        self._source = source
        self._alarms = alarms
        self._stop_sends = stop_sends
        self._caps = IdleCaps(load.rules, peers)
        self._changed = asyncio.Event()
        self._heap: list[tuple[int, int, Lane, Tree, Node]] = []
        self._order = count()
        self._tasks: set[asyncio.Task[None]] = set()
        self._phase = Phase.WARMUP
        self._in_flight = 0
        self._ended = 0
        self._failed = 0
        self.stop_reason = ""
        self._primers_left = 0
        self._finished = 0
        self._recycled = 0
        self._overflows = 0
        self._late_bodies = 0

    def counts(self) -> Counts:
        """How far it is."""
        trees = [lane.tree for lane in self._lanes if lane.tree is not None]
        return Counts(
            primers_left=self._primers_left,
            warmup_left=self._warmup_left,
            lanes_live=len(trees),
            sessions_finished=self._finished,
            sessions_recycled=self._recycled,
            subagents_live=sum(tree.subagents_live for tree in trees),
            overflows=self._overflows,
            late_bodies=self._late_bodies,
            system_shifts=self._caps.system_moves,
            system_shift_ns=self._caps.system_moved_ns,
            tree_shifts=self._caps.tree_moves,
            tree_shift_ns=self._caps.tree_moved_ns,
        )

    @property
    def _warmup_left(self) -> int:
        return sum(lane.warmup_left for lane in self._lanes)

    def halt(self, reason: str) -> None:
        """No turn is sent after this; what is in flight goes on."""
        self.stop_reason = self.stop_reason or reason
        self._alarms.halt()
        self._changed.set()

    # the two phases

    async def prepare(self) -> None:
        """Fetches the first session of every lane."""
        await asyncio.gather(*(self._load(lane) for lane in self._lanes if lane.tree is None))

    async def warm_up(self, start_at_ns: int, stage: Stage) -> None:
        """Primers, then one-token requests without delays, then nothing in flight."""
        await self.prepare()
        if not await self._alarms.until(start_at_ns):
            return
        await self._prime(start_at_ns, stage)
        for lane in self._lanes:
            lane.warmup_left = self._rules.warmup_turns
            self._push_armed(lane, clock.now_ns())
        while not self._alarms.halted and (self._warmup_left or self._in_flight):
            self._launch_due(stage)
            if not self._in_flight and not self._heap:
                break
            await self._wait()
        await self._quiet(self._rules.warmup_grace_s)
        for lane in self._lanes:
            lane.warmup_left = 0
            lane.bodies.clear()

    def first_gap_ns(self) -> int | None:
        """The least delay among the turns that come next; None where no turn is left."""
        trees = (lane.tree for lane in self._lanes if lane.tree is not None)
        return min((node.gap_ns for tree in trees for node in tree.armed), default=None)

    async def run(self, start_at_ns: int, least_gap_ns: int, stage: Stage) -> None:
        """Profiling: every stream goes on after its full delay, less what all have in common."""
        self._phase = Phase.WINDOW
        self._heap.clear()
        for lane in self._lanes:
            if lane.tree is not None:
                for node in lane.tree.armed:
                    node.queued_at_ns = -1
                lane.tree.restart_clock(start_at_ns - least_gap_ns)
                self._push_armed(lane, start_at_ns)
        self._caps.start(start_at_ns)
        if await self._alarms.until(start_at_ns):
            loop = asyncio.get_running_loop()
            left_s = start_at_ns / NS_PER_S + self._rules.duration_s - clock.now_ns() / NS_PER_S
            timer = loop.call_later(max(left_s, 0.0), self.halt, "duration")
            await self._profile(stage)
            timer.cancel()
        await self._quiet(self._grace_s)

    async def _profile(self, stage: Stage) -> None:
        while not self._alarms.halted:
            self._launch_due(stage)
            if not self.counts().lanes_live and not self._in_flight and not self._tasks:
                self.halt("no_more_sessions")
                return
            now_ns = clock.now_ns()
            for tree, by_ns in self._caps.moves(
                now_ns, [lane.tree for lane in self._lanes if lane.tree], self._in_flight
            ):
                tree.move(by_ns, now_ns)
                self._push_tree(tree)
            await self._wait()

    async def _quiet(self, grace_s: float) -> None:
        """Returns when nothing is in flight; after the grace what still is ends unfinished."""
        if not self._tasks:
            return
        _, late = await asyncio.wait(self._tasks, timeout=grace_s)
        if late:
            self.halt("grace")
            self._stop_sends(Outcome.UNFINISHED)
            await asyncio.wait(late)

    # sessions

    async def _load(self, lane: Lane) -> None:
        lane.index = lane.passes * self._n_lanes + lane.number
        session = await self._source.session(lane.index)
        lane.bodies.clear()
        lane.answers.clear()
        lane.tree = None if session is None else Tree(session)
        if lane.tree is not None:
            lane.tree.skip_played()

    async def _recycle(self, lane: Lane) -> None:
        """The next session, from its first turn on."""
        self._finished += self._phase is Phase.WINDOW
        self._recycled += 1
        lane.tree = None
        lane.passes += 1
        await self._load(lane)
        self._push_armed(lane, clock.now_ns())
        self._changed.set()

    async def _prime(self, start_at_ns: int, stage: Stage) -> None:
        """One token for each stream under way, spread as they lay before the starting point."""
        primers = []
        most_ns = round(self._rules.primer_lead_s * NS_PER_S)
        for lane in self._lanes:
            for node in lane.tree.primers() if lane.tree is not None else ():
                assert lane.tree is not None
                lead_ns = (lane.tree.session.from_ns or 0) - (node.turn.at_ns or 0)
                primers.append((min(lead_ns, most_ns), lane, lane.tree, node))
        self._primers_left = len(primers)
        longest_ns = max((lead_ns for lead_ns, *_ in primers), default=0)
        for lead_ns, lane, tree, node in sorted(primers, key=lambda primer: -primer[0]):
            due_at_ns = start_at_ns + longest_ns - lead_ns
            self._ask_ahead(lane, node)
            if not await self._alarms.until(due_at_ns):
                return
            self._start(self._primer(lane, tree, node, due_at_ns, stage))
        await self._quiet(self._rules.warmup_grace_s)

    async def _primer(
        self, lane: Lane, tree: Tree, node: Node, due_at_ns: int, stage: Stage
    ) -> None:
        exchange = await self._send(lane, tree, node, due_at_ns, stage)
        self._primers_left -= 1
        is_root = next(iter(tree.streams.values()))[node.depth] is node
        if is_root and _has_failed(exchange):
            self.halt("primer_failed")

    # turns

    def _push_armed(self, lane: Lane, now_ns: int) -> None:
        """Every turn of the lane that may be sent, at its due instant (at once in the warm-up)."""
        if lane.tree is None:
            return
        for node in lane.tree.armed:
            if self._phase is Phase.WARMUP:
                node.due_at_ns = now_ns
            self._push(lane, lane.tree, node)

    def _push_tree(self, tree: Tree) -> None:
        lane = next(lane for lane in self._lanes if lane.tree is tree)
        for node in tree.armed:
            self._push(lane, tree, node)

    def _push(self, lane: Lane, tree: Tree, node: Node) -> None:
        if node.queued_at_ns == node.due_at_ns:
            return
        node.queued_at_ns = node.due_at_ns
        heapq.heappush(self._heap, (node.due_at_ns, next(self._order), lane, tree, node))
        if node.due_at_ns - clock.now_ns() < LOOKAHEAD_NS:
            self._ask_ahead(lane, node)

    def _ask_ahead(self, lane: Lane, node: Node) -> None:
        if node.number in lane.bodies:
            return
        limit = 1 if self._phase is Phase.WARMUP else node.turn.max_output_tok
        stream = node.turn.stream
        answers = tuple(lane.answers.get((stream, depth)) for depth in range(node.depth))
        asked = self._source.body(lane.index, node.number, limit, answers)
        lane.bodies[node.number] = asyncio.ensure_future(asked)

    def _launch_due(self, stage: Stage) -> None:
        now_ns = clock.now_ns()
        while self._heap and self._heap[0][0] <= now_ns and not self._alarms.halted:
            due_at_ns, _, lane, tree, node = heapq.heappop(self._heap)
            if lane.tree is not tree or node not in tree.armed or due_at_ns != node.due_at_ns:
                continue
            if self._phase is Phase.WARMUP:
                if not lane.warmup_left:
                    continue
                lane.warmup_left -= 1
            tree.note_sent(node, now_ns)
            self._in_flight += 1
            self._start(self._play(lane, tree, node, due_at_ns, stage))
            self._push_new(lane, tree)
        ahead_ns = now_ns + LOOKAHEAD_NS
        for due_at_ns, _, lane, tree, node in self._heap[:64]:
            if due_at_ns < ahead_ns and lane.tree is tree and node in tree.armed:
                self._ask_ahead(lane, node)

    def _push_new(self, lane: Lane, tree: Tree) -> None:
        """Turns that have just been armed."""
        for node in tree.armed:
            if self._phase is Phase.WARMUP:
                node.due_at_ns = min(node.due_at_ns, clock.now_ns())
            self._push(lane, tree, node)

    async def _play(self, lane: Lane, tree: Tree, node: Node, due_at_ns: int, stage: Stage) -> None:
        stream = tree.streams[node.turn.stream]
        if tree.session.history == "recorded" and node.depth + 1 < len(stream):
            follower = stream[node.depth + 1]
            if follower.missing == 1 and not follower.done:
                self._ask_soon(lane, tree, follower)
        exchange = await self._send(lane, tree, node, due_at_ns, stage)
        now_ns = exchange.done_at_ns or clock.now_ns()
        self._in_flight -= 1
        tree.note_done(node, now_ns)
        if tree.session.history == "live":
            lane.answers[node.turn.stream, node.depth] = stage.answer_of(exchange)
        self._judge(exchange)
        if stage.overflowed(exchange):
            self._overflows += 1
            tree.give_up()
        if tree.is_over and lane.tree is tree and not self._alarms.halted:
            await self._recycle(lane)
        elif lane.tree is tree:
            self._push_new(lane, tree)
        self._changed.set()

    def _ask_soon(self, lane: Lane, tree: Tree, follower: Node) -> None:
        """A follower that comes without delay finds its body ready."""
        gaps = [wait.gap_ns for wait in follower.turn.after]
        if self._phase is Phase.WARMUP or max(gaps, default=0) < LOOKAHEAD_NS:
            self._ask_ahead(lane, follower)

    async def _send(
        self, lane: Lane, tree: Tree, node: Node, due_at_ns: int, stage: Stage
    ) -> Exchange:
        self._ask_ahead(lane, node)
        asked = lane.bodies.pop(node.number)
        self._late_bodies += not asked.done()
        body = await asked
        tally, turn = stage.tally, node.turn
        if self._phase is Phase.WARMUP:
            turn = _with_limit(turn, 1)
        key = TurnKey(
            point=stage.point,
            share=stage.share,
            seq=tally.issued,
            session_id=tree.session.session_id,
            turn_id=turn.turn_id,
            turn_no=node.depth,
            tenant=tree.session.tenant,
            prompt_id=tree.session.prompt_id,
            phase=self._phase,
            stream=turn.stream,
        )
        tally.sent()
        if stage.ceiling is not None:
            await stage.ceiling.passed()
        exchange = await stage.send(key, turn, body, due_at_ns)
        tally.returned(refused=exchange.failure is Outcome.REFUSED)
        stage.sink(exchange)
        return exchange

    def _judge(self, exchange: Exchange) -> None:
        """Ends the replay where too many have failed."""
        if self._phase is Phase.WARMUP:
            return
        self._ended += 1
        self._failed += _has_failed(exchange)
        limit = self._rules.error_limit_frac
        if limit is not None and self._ended >= LEAST_JUDGED and self._failed > limit * self._ended:
            self.halt("error_limit")

    # the loop

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _wait(self) -> None:
        """Until the next turn is due, an idle cap runs out, or something has ended."""
        now_ns = clock.now_ns()
        trees = [lane.tree for lane in self._lanes if lane.tree is not None]
        self._caps.note(now_ns, trees, self._in_flight)
        at_ns = self._caps.next_look_ns(now_ns, trees, self._in_flight)
        if self._heap:
            at_ns = min(at_ns, self._heap[0][0])
        left_ns = at_ns - clock.now_ns()
        if left_ns <= COARSE_NS:
            await asyncio.sleep(0)
            return
        self._changed.clear()
        try:
            async with asyncio.timeout((left_ns - COARSE_NS // 2) / NS_PER_S):
                await self._changed.wait()
        except TimeoutError:
            return


def _has_failed(exchange: Exchange) -> bool:
    status = exchange.http_status or 0
    return exchange.failure is not None or not exchange.complete or status >= 400


def _with_limit(turn: Turn, max_output_tok: int) -> Turn:
    from msgspec.structs import replace

    return replace(turn, max_output_tok=max_output_tok)
