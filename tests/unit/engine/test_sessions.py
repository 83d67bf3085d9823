import asyncio
from itertools import repeat

from loadgen.engine import Load, OwnFeed
from loadgen.model.exchange import Outcome, TurnKey
from loadgen.model.session import Answer, Session, Turn, Wait
from tests.unit.engine.stage import FakeWire, drive

MS = 1_000_000


def chain(length: int, history: str, gap_ns: int = 0) -> Session:
    turns = [Turn("t0", (b"0",))]
    for number in range(1, length):
        before = f"t{number - 1}"
        turns.append(
            Turn(f"t{number}", (b"[", Answer(before), b"]"), after=(Wait(before, "done", gap_ns),))
        )
    return Session("chain", tuple(turns), history=history)  # type: ignore[arg-type]


def one(session: Session) -> Load:
    return Load(arrivals=repeat(0), feed=OwnFeed(iter([session])), slot_offsets_ns=(0,), requests=1)


async def answers(key: TurnKey, turn: Turn, body: bytes) -> None:
    await asyncio.sleep(0)


async def second_fails(key: TurnKey, turn: Turn, body: bytes) -> Outcome | None:
    await asyncio.sleep(0)
    return Outcome.HTTP_ERROR if turn.turn_id == "t1" else None


async def test_turns_follow_each_other_after_their_gap() -> None:
    wire = FakeWire(answers)
    await drive(wire, one(chain(3, "recorded", gap_ns=2 * MS)))
    assert [key.turn_id for key, _, _ in wire.sent] == ["t0", "t1", "t2"]
    done = [exchange.done_at_ns or 0 for exchange in wire.exchanges]
    due = [due_at_ns for _, _, due_at_ns in wire.sent]
    assert due[1:] == [done[0] + 2 * MS, done[1] + 2 * MS]


async def test_live_answers_stand_in_the_next_body() -> None:
    wire = FakeWire(answers)
    await drive(wire, one(chain(2, "live")))
    assert wire.sent[1][1] == b'["an answer"]'


async def test_later_turns_of_a_broken_live_session_are_skipped_not_failed() -> None:
    wire = FakeWire(second_fails)
    _, tally = await drive(wire, one(chain(5, "live")))
    assert tally.issued == tally.ended == 2
    assert tally.skipped == 3
    assert tally.sessions_broken == 1


async def test_a_recorded_session_goes_on_after_a_failed_turn() -> None:
    wire = FakeWire(second_fails)
    _, tally = await drive(wire, one(chain(5, "recorded")))
    assert tally.issued == 5
    assert tally.skipped == 0


async def test_branches_start_together_and_a_join_waits_for_the_latest() -> None:
    slow = asyncio.Event()

    async def served(key: TurnKey, turn: Turn, body: bytes) -> None:
        if turn.turn_id == "slow":
            await slow.wait()
        if turn.turn_id == "quick":
            slow.set()

    root = (Wait("root"),)
    session = Session(
        "tree",
        (
            Turn("root", (b"0",)),
            Turn("slow", (b"1",), after=root),
            Turn("quick", (b"2",), after=root),
            Turn("join", (b"3",), after=(Wait("slow"), Wait("quick"))),
        ),
    )
    wire = FakeWire(served)
    await drive(wire, one(session))
    ended = [exchange.key.turn_id for exchange in wire.exchanges]
    assert ended == ["root", "quick", "slow", "join"]


async def test_a_turn_may_start_when_another_was_sent() -> None:
    sent = asyncio.Event()

    async def served(key: TurnKey, turn: Turn, body: bytes) -> None:
        if turn.turn_id == "overlap":
            sent.set()
        await sent.wait()

    session = Session(
        "overlap",
        (Turn("first", (b"0",)), Turn("overlap", (b"1",), after=(Wait("first", "sent"),))),
    )
    wire = FakeWire(served)
    _, tally = await drive(wire, one(session))
    assert tally.in_flight_max == 2
