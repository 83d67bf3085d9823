"""How a replay ends: duration, halt, too many failures, no server; and that it counts right."""

import asyncio
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from loadgen.model.exchange import Outcome, Phase, TurnKey
from loadgen.model.session import Session
from tests.unit.engine.replays import RULES, Maker, Play, S, Wire, chain, done, turn
from tests.unit.engine.virtual_time import in_virtual_time

ENDLESS = Session("s", chain(50, gap_s=1.0))


def test_at_the_duration_nothing_more_is_sent_and_what_is_in_flight_counts() -> None:
    async def work() -> None:
        wire = Wire(lambda key: 20.0 if key.turn_id == "root/5" else 1.0)
        play = Play(wire, Maker([ENDLESS]), replace(RULES, duration_s=12.0))
        await play.whole()
        assert play.replay.stop_reason == "duration"
        assert [one.name for one in wire.sent] == [f"root/{n}" for n in range(6)]
        assert play.at_s(wire.sent[-1].done_at_ns) > 30.0
        assert wire.exchanges[-1].failure is None
        assert wire.exchanges[-1].key.phase is Phase.WINDOW

    in_virtual_time(work)


def test_at_the_end_leftovers_are_stopped_after_the_grace() -> None:
    async def work() -> None:
        wire = Wire(lambda key: 9999.0 if key.turn_id == "root/2" else 1.0)
        play = Play(wire, Maker([ENDLESS]), replace(RULES, duration_s=10.0), grace_ns=25 * S)
        await play.whole()
        assert wire.exchanges[-1].failure is Outcome.UNFINISHED
        assert play.at_s(wire.sent[-1].done_at_ns) == pytest.approx(35.0, abs=0.5)

    in_virtual_time(work)


def test_an_answer_that_takes_long_is_given_twice_the_longest_so_far() -> None:
    async def work() -> None:
        wire = Wire(100.0)
        play = Play(wire, Maker([ENDLESS]), replace(RULES, duration_s=150.0), grace_ns=S)
        await play.whole()
        assert [exchange.failure for exchange in wire.exchanges] == [None, None]

    in_virtual_time(work)


async def halt_after(play: Play, delay_s: float) -> None:
    await asyncio.sleep(delay_s)
    play.replay.halt("interrupted")


@pytest.mark.parametrize("delay_s", [0.0, 0.5, 2.0, 5.0, 9.1, 30.0, 100.0])
def test_a_halt_at_any_moment_drains_and_sends_nothing_more(delay_s: float) -> None:
    async def work() -> None:
        wire = Wire(3.0)
        session = Session("s", chain(90, gap_s=1.0), from_ns=31 * S)
        play = Play(wire, Maker([session]), replace(RULES, warmup_turns=2), (0, 1), 2)
        halting = asyncio.create_task(halt_after(play, delay_s))
        await play.whole()
        await halting
        assert play.replay.stop_reason == "interrupted"
        halted_at_ns = max((one.sent_at_ns for one in wire.sent), default=0)
        assert all(one.done_at_ns - halted_at_ns <= 3.1 * S for one in wire.sent)
        assert not any(exchange.failure for exchange in wire.exchanges)

    in_virtual_time(work)


def test_a_body_that_comes_after_the_end_is_not_sent() -> None:
    async def work() -> None:
        maker = Maker([ENDLESS])
        maker.body_s = 30.0
        play = Play(Wire(), maker, replace(RULES, duration_s=10.0))
        await play.whole()
        assert play.wire.sent == []
        assert play.tally.issued == 0

    in_virtual_time(work)


def every(period: int) -> Callable[[TurnKey], int | None]:
    return lambda key: 500 if key.seq % period == period - 1 else None


def test_more_than_the_allowed_share_of_failures_ends_the_replay() -> None:
    async def work() -> None:
        wire = Wire()
        wire.failing = every(4)
        play = Play(wire, Maker([ENDLESS]), replace(RULES, duration_s=600.0))
        await play.whole()
        assert play.replay.stop_reason == "error_limit"
        assert len(wire.exchanges) == 20

    in_virtual_time(work)


def test_as_many_failures_as_allowed_or_no_limit_end_nothing() -> None:
    async def work(period: int, limit: float | None) -> str:
        wire = Wire()
        wire.failing = every(period)
        rules = replace(RULES, duration_s=300.0, error_limit_frac=limit)
        play = Play(wire, Maker([ENDLESS]), rules)
        await play.whole()
        return play.replay.stop_reason

    async def both() -> None:
        assert await work(11, 0.1) == "duration"
        assert await work(2, None) == "duration"

    in_virtual_time(both)


def test_failures_of_the_warm_up_are_not_judged() -> None:
    async def work() -> None:
        wire = Wire()
        wire.failing = lambda key: 500 if key.phase is Phase.WARMUP else None
        play = Play(wire, Maker([ENDLESS]), replace(RULES, warmup_turns=30, duration_s=60.0))
        await play.whole()
        assert play.replay.stop_reason == "duration"

    in_virtual_time(work)


def test_a_server_that_is_gone_ends_the_replay_instead_of_spinning() -> None:
    async def work() -> None:
        wire = Wire(0.001)
        wire.failing = lambda _: Outcome.REFUSED
        play = Play(wire, Maker([Session("s", chain(1))]), replace(RULES, error_limit_frac=None))
        await play.whole()
        assert play.replay.stop_reason == "endpoint_gone"
        assert len(wire.sent) == 200

    in_virtual_time(work)


def test_counts_tell_lanes_subagents_and_primers() -> None:
    async def work() -> None:
        tree = (*chain(20), turn("c/0", done("root/0")), turn("c/1", done("c/0", 500.0)))
        play = Play(Wire(), Maker([Session("s", tree)]), RULES, (0, 1), 2)
        await play.warm_up()
        assert play.replay.counts().lanes_live == 2
        assert play.replay.counts().subagents_live == 0
        running = asyncio.create_task(play.profile())
        await asyncio.sleep(4.5)
        assert play.replay.counts().subagents_live == 2
        play.replay.halt("interrupted")
        await running

    in_virtual_time(work)


def test_a_workers_share_without_lanes_ends_at_once() -> None:
    async def work() -> None:
        play = Play(Wire(), Maker([ENDLESS]), RULES, (), 4)
        await play.warm_up()
        assert play.replay.first_gap_ns() is None
        await play.profile()
        assert play.tally.issued == 0

    in_virtual_time(work)
