"""A fake wire, a fake maker of sessions and bodies, and replays driven on them."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from loadgen import clock
from loadgen.engine import Alarms, LaneLoad, OwnPeers, Peers, Replay, Stage, Tally
from loadgen.model.exchange import Exchange, Outcome, Phase, TurnKey
from loadgen.model.plan import ReplayRules
from loadgen.model.session import Session, Turn, Wait

S = 1_000_000_000
MS = 1_000_000


def turn(turn_id: str, *after: Wait, at_s: float | None = None, input_tok: int = 100) -> Turn:
    """A turn `stream/number` without a body."""
    return Turn(
        turn_id,
        (),
        input_tok=input_tok,
        max_output_tok=50,
        after=after,
        stream=turn_id.split("/")[0],
        at_ns=None if at_s is None else round(at_s * S),
    )


def done(turn_id: str, gap_s: float = 0.0) -> Wait:
    """Due so long after that turn's end."""
    return Wait(turn_id, "done", round(gap_s * S))


def issued(turn_id: str, gap_s: float = 0.0) -> Wait:
    """Due so long after that turn was sent."""
    return Wait(turn_id, "sent", round(gap_s * S))


def chain(length: int, gap_s: float = 1.0, stream: str = "root") -> tuple[Turn, ...]:
    """A stream of turns, each `gap_s` after the one before."""
    first = turn(f"{stream}/0", at_s=0.0)
    rest = (
        turn(f"{stream}/{n}", done(f"{stream}/{n - 1}", gap_s), at_s=n * (gap_s + 1.0))
        for n in range(1, length)
    )
    return (first, *rest)


@dataclass
class Sent:
    """One request as the fake wire saw it."""

    key: TurnKey
    turn: Turn
    body: bytes
    due_at_ns: int
    sent_at_ns: int
    done_at_ns: int = 0

    @property
    def name(self) -> str:
        return self.key.turn_id


class Wire:
    """Answers every request after `answer_s`, or as `failing` says; keeps what it saw."""

    def __init__(self, answer_s: float | Callable[[TurnKey], float] = 1.0) -> None:
        self._answer_s = answer_s
        self.failing: Callable[[TurnKey], int | Outcome | None] = lambda _: None
        self.sent: list[Sent] = []
        self.exchanges: list[Exchange] = []
        self.tallies: list[Tally] = []
        self._in_flight: dict[int, asyncio.Future[Outcome]] = {}

    async def send(self, key: TurnKey, turn: Turn, body: bytes, due_at_ns: int) -> Exchange:
        self.check_tallies()
        one = Sent(key, turn, body, due_at_ns, clock.now_ns())
        self.sent.append(one)
        answer_s = self._answer_s(key) if callable(self._answer_s) else self._answer_s
        stopped: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._in_flight[id(one)] = stopped
        failure = self.failing(key)
        try:
            outcome = await asyncio.wait_for(stopped, answer_s)
        except TimeoutError:
            outcome = failure if isinstance(failure, Outcome) else None  # type: ignore[assignment]
        del self._in_flight[id(one)]
        one.done_at_ns = clock.now_ns()
        return Exchange(
            key,
            due_at_ns,
            sent_at_ns=one.sent_at_ns,
            done_at_ns=one.done_at_ns,
            http_status=failure if isinstance(failure, int) else 200,
            complete=True,
            failure=outcome,
        )

    def stop(self, outcome: Outcome) -> None:
        for future in self._in_flight.values():
            if not future.done():
                future.set_result(outcome)

    def sink(self, exchange: Exchange) -> None:
        self.exchanges.append(exchange)
        self.check_tallies()

    def check_tallies(self) -> None:
        for tally in self.tallies:
            assert tally.issued == tally.ended + tally.in_flight

    def of(self, phase: Phase) -> list[Sent]:
        return [one for one in self.sent if one.key.phase is phase]

    def named(self, turn_id: str, *, lane: int = 0, play: int = 0) -> Sent:
        """The only request of that name in one play."""
        session_id = f"0-{lane}-{play}"
        (one,) = (o for o in self.sent if o.name == turn_id and o.key.session_id == session_id)
        return one


class Maker:
    """Sessions by number, the last one for ever; bodies at once or after `body_s`."""

    def __init__(self, sessions: Iterable[Session], *, again: bool = True) -> None:
        self._sessions = tuple(sessions)
        self._again = again
        self.session_s = 0.0
        self.body_s = 0.0
        self.body_bytes = 0
        """Bodies are filled up to this."""
        self.asked: list[tuple[int, int, int | None, tuple[bytes | None, ...], int]] = []
        self.asked_sessions: list[int] = []

    async def session(self, index: int) -> Session | None:
        self.asked_sessions.append(index)
        await asyncio.sleep(self.session_s)
        if index >= len(self._sessions) and not self._again:
            return None
        return self._sessions[min(index, len(self._sessions) - 1)]

    async def body(
        self,
        index: int,
        turn_no: int,
        max_output_tok: int | None,
        answers: tuple[bytes | None, ...] = (),
    ) -> bytes:
        self.asked.append((index, turn_no, max_output_tok, answers, clock.now_ns()))
        await asyncio.sleep(self.body_s)
        return f"{index}/{turn_no}/{max_output_tok}".encode().ljust(self.body_bytes)


RULES = ReplayRules(warmup_turns=0, duration_s=100_000.0, system_idle_s=None, tree_idle_s=None)


@dataclass
class Play:
    """One replay on a wire: `warm_up` and `profile`, or both."""

    wire: Wire
    maker: Maker
    rules: ReplayRules = RULES
    lanes: Sequence[int] = (0,)
    n_lanes: int = 1
    peers: Peers = field(default_factory=OwnPeers)
    grace_ns: int = 30 * S
    overflowed: Callable[[Exchange], bool] = lambda _: False
    start_at_ns: int = 0

    def __post_init__(self) -> None:
        self.tally = Tally()
        self.wire.tallies.append(self.tally)
        alarms = Alarms()
        load = LaneLoad(tuple(self.lanes), self.n_lanes, self.rules, self.grace_ns)
        self.replay = Replay(load, self.maker, alarms, self.wire.stop, self.peers)
        self.stage = Stage(
            point=0,
            share=0,
            send=self.wire.send,
            sink=self.wire.sink,
            answer_of=lambda exchange: f'"{exchange.key.turn_id}"'.encode(),
            tally=self.tally,
            alarms=alarms,
            phase_at=lambda _: Phase.WINDOW,
            overflowed=self.overflowed,
        )

    async def warm_up(self) -> None:
        await self.replay.warm_up(clock.now_ns(), self.stage)

    async def profile(self, least_gap_ns: int | None = None) -> None:
        if least_gap_ns is None:
            least_gap_ns = self.replay.first_gap_ns() or 0
        self.start_at_ns = clock.now_ns() + S
        await self.replay.run(self.start_at_ns, least_gap_ns, self.stage)

    async def whole(self) -> None:
        await self.warm_up()
        await self.profile()
        assert self.tally.issued == self.tally.ended == len(self.wire.exchanges)

    def at_s(self, instant_ns: int) -> float:
        """Seconds since the profiling's start."""
        return (instant_ns - self.start_at_ns) / S


class Board:
    """What several workers publish, for tests."""

    def __init__(self) -> None:
        self.rows: list[dict[str, int]] = []

    def peer(self) -> "BoardPeers":
        self.rows.append({"in_flight": 0, "next_due_ns": 0, "last_active_ns": 0})
        return BoardPeers(self, self.rows[-1])


class BoardPeers:
    """One worker's view of the board."""

    def __init__(self, board: Board, own: dict[str, int]) -> None:
        self._board = board
        self._own = own

    def publish(self, *, in_flight: int, next_due_ns: int, last_active_ns: int) -> None:
        self._own.update(
            in_flight=in_flight, next_due_ns=next_due_ns, last_active_ns=last_active_ns
        )

    def idle_since_ns(self) -> int | None:
        if any(row["in_flight"] for row in self._board.rows):
            return None
        return max(row["last_active_ns"] for row in self._board.rows)

    def earliest_due_ns(self) -> int | None:
        return min(
            (row["next_due_ns"] for row in self._board.rows if row["next_due_ns"]), default=None
        )
