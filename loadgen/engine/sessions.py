"""Plays one session: sends each turn when the turns that it waits for allow it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from loadgen import clock
from loadgen.engine.ceiling import RateCeiling
from loadgen.engine.tally import Tally
from loadgen.engine.waiting import Alarms
from loadgen.model.exchange import Exchange, Outcome, Phase, TurnKey
from loadgen.model.session import Answer, Session, Turn

Send = Callable[[TurnKey, Turn, bytes, int], Awaitable[Exchange]]
"""One turn with its body and due instant to what the wire gave; raises nothing but cancellation."""

AnswerOf = Callable[[Exchange], bytes | None]
"""A live answer as the JSON string that later bodies hold; None where there is no usable one."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What every session of one point shares: where turns go and where their exchanges end up."""

    point: int
    share: int
    send: Send
    sink: Callable[[Exchange], None]
    answer_of: AnswerOf
    tally: Tally
    alarms: Alarms
    phase_at: Callable[[int], Phase]
    ceiling: RateCeiling | None = None
    overflowed: Callable[[Exchange], bool] = lambda _exchange: False
    """Whether the server refused the prompt as longer than its context: a replay ends that tree."""


@dataclass(slots=True)
class _Turnout:
    """How far one turn has come; the futures hold the instant, or None when it never happened."""

    sent: "asyncio.Future[int | None]"
    done: "asyncio.Future[int | None]"
    answer: bytes | None = None
    broken: bool = False

    def never_sent(self, *, broken: bool) -> None:
        self.broken = broken
        self.sent.set_result(None)
        self.done.set_result(None)


async def play(session: Session, due_at_ns: int, phase: Phase, stage: Stage) -> None:
    """Sends the session's turns; returns when the last has ended or the point was halted.

    With live history a turn whose predecessor gave no usable answer is skipped, and so are those
    after it; with recorded history the session goes on, since its bodies need no answer.
    """
    if len(session.turns) == 1:
        turn = session.turns[0]
        await _send_turn(session, 0, phase, _body(turn, {}), due_at_ns, stage)
        return
    loop = asyncio.get_running_loop()
    turnouts = {
        turn.turn_id: _Turnout(loop.create_future(), loop.create_future()) for turn in session.turns
    }
    async with asyncio.TaskGroup() as group:
        for number in range(len(session.turns)):
            first = phase if number == 0 else None
            group.create_task(_play_turn(session, number, first, due_at_ns, turnouts, stage))
    if any(turnout.broken for turnout in turnouts.values()):
        stage.tally.sessions_broken += 1


async def _play_turn(
    session: Session,
    number: int,
    phase: Phase | None,
    start_at_ns: int,
    turnouts: dict[str, _Turnout],
    stage: Stage,
) -> None:
    turn = session.turns[number]
    own = turnouts[turn.turn_id]
    due_at_ns = await _due_at_ns(turn, start_at_ns, turnouts)
    live = session.history == "live"
    if live and any(turnouts[wait.turn_id].broken for wait in turn.after):
        stage.tally.skipped += 1
        own.never_sent(broken=True)
        return
    if due_at_ns is None or not await stage.alarms.until(due_at_ns):
        own.never_sent(broken=False)
        return
    own.sent.set_result(clock.now_ns())
    body = _body(turn, {turn_id: turnout.answer for turn_id, turnout in turnouts.items()})
    phase = phase or stage.phase_at(due_at_ns)
    exchange = await _send_turn(session, number, phase, body, due_at_ns, stage)
    if live:
        own.answer = stage.answer_of(exchange)
        own.broken = own.answer is None
    own.done.set_result(exchange.done_at_ns or clock.now_ns())


async def _due_at_ns(turn: Turn, start_at_ns: int, turnouts: dict[str, _Turnout]) -> int | None:
    """The latest of the turn's waits; None when a turn that it waits for was never sent."""
    due_at_ns = start_at_ns
    for wait in turn.after:
        turnout = turnouts[wait.turn_id]
        at_ns = await (turnout.sent if wait.on == "sent" else turnout.done)
        if at_ns is None:
            return None
        due_at_ns = max(due_at_ns, at_ns + wait.gap_ns)
    return due_at_ns


async def _send_turn(
    session: Session, number: int, phase: Phase, body: bytes, due_at_ns: int, stage: Stage
) -> Exchange:
    tally = stage.tally
    turn = session.turns[number]
    key = TurnKey(
        point=stage.point,
        share=stage.share,
        seq=tally.issued,
        session_id=session.session_id,
        turn_id=turn.turn_id,
        turn_no=number,
        tenant=session.tenant,
        prompt_id=session.prompt_id,
        phase=phase,
    )
    tally.sent()
    if stage.ceiling is not None:
        await stage.ceiling.passed()
    exchange = await stage.send(key, turn, body, due_at_ns)
    tally.returned(refused=exchange.failure is Outcome.REFUSED)
    stage.sink(exchange)
    return exchange


def _body(turn: Turn, answers: dict[str, bytes | None]) -> bytes:
    if len(turn.body) == 1 and not isinstance(turn.body[0], Answer):
        return turn.body[0]
    return b"".join(
        (answers[part.turn_id] or b'""') if isinstance(part, Answer) else part for part in turn.body
    )
