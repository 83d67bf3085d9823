"""Bodies are made ahead, nearest due first, and never all at once."""

import asyncio

import pytest
from msgspec.structs import replace

from loadgen import clock
from loadgen.engine import bodies
from loadgen.model.session import Session
from tests.unit.engine.replays import RULES, Maker, Play, S, Wire, chain, done, turn
from tests.unit.engine.virtual_time import in_virtual_time


def test_a_body_is_asked_for_as_soon_as_the_turn_before_is_sent() -> None:
    async def work() -> None:
        maker = Maker([Session("s", chain(4, gap_s=0.0))], again=False)
        maker.body_s = 0.8
        play = Play(Wire(1.0), maker)
        await play.whole()
        assert play.replay.counts().late_bodies == 0
        assert all(one.sent_at_ns - one.due_at_ns < 0.002 * S for one in play.wire.sent)
        second = next(asked for asked in maker.asked if asked[1] == 1)
        assert second[4] - play.wire.sent[0].sent_at_ns < 0.001 * S

    in_virtual_time(work)


def test_the_next_sessions_first_body_is_ready_when_its_lane_is_free() -> None:
    async def work() -> None:
        maker = Maker([Session("s", chain(1)), Session("t", chain(1))], again=False)
        maker.body_s = 0.8
        play = Play(Wire(1.0), maker)
        await play.whole()
        assert play.replay.counts().late_bodies == 0
        assert len(play.wire.sent) == 2

    in_virtual_time(work)


def test_a_body_far_from_due_is_not_asked_for_yet() -> None:
    async def work() -> None:
        maker = Maker([Session("s", chain(2, gap_s=100.0))], again=False)
        play = Play(Wire(1.0), maker)
        await play.whole()
        asked_ns = next(asked[4] for asked in maker.asked if asked[1] == 1)
        ahead_s = (play.wire.sent[1].due_at_ns - asked_ns) / S
        assert 9.5 < ahead_s <= 10.0

    in_virtual_time(work)


def test_a_late_body_is_counted_and_its_turn_keeps_its_due_instant() -> None:
    async def work() -> None:
        maker = Maker([Session("s", chain(2, gap_s=0.0))], again=False)
        maker.body_s = 5.0
        play = Play(Wire(1.0), maker)
        await play.whole()
        one, two = play.wire.sent
        assert two.due_at_ns == one.done_at_ns
        assert two.sent_at_ns - two.due_at_ns > 3.9 * S
        assert play.replay.counts().late_bodies == 2

    in_virtual_time(work)


def test_bodies_that_wait_stay_within_their_room_and_the_nearest_come_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bodies, "WAITING_BYTES", 2500)
    monkeypatch.setattr(bodies, "FIRST_GUESS_BYTES_PER_TOK", 10.0)

    async def work() -> None:
        children = (turn(f"c{n}/0", done("root/0", 9.0 - n)) for n in range(6))
        maker = Maker([Session("s", (turn("root/0"), *children))], again=False)
        maker.body_s = 0.1
        maker.body_bytes = 1000
        play = Play(Wire(2.0), maker)
        before: list[int] = []

        async def watch() -> None:
            await asyncio.sleep(3.5)
            before.extend(number for _, number, _, _, _ in maker.asked)

        watching = asyncio.create_task(watch())
        await play.whole()
        await watching
        assert before == [0, 6, 5]
        assert len(play.wire.sent) == 7

    in_virtual_time(work)


def test_at_most_a_few_bodies_are_asked_for_at_once() -> None:
    async def work() -> None:
        under_way, most = 0, 0

        class Counting(Maker):
            async def body(
                self,
                index: int,
                turn_no: int,
                max_output_tok: int | None,
                answers: tuple[bytes | None, ...] = (),
            ) -> bytes:
                nonlocal under_way, most
                under_way += 1
                most = max(most, under_way)
                await asyncio.sleep(0.01)
                under_way -= 1
                return b"x"

        maker = Counting([Session("s", chain(3, gap_s=5.0))] * 20, again=False)
        play = Play(Wire(1.0), maker, RULES, range(20), 20)
        await play.warm_up()
        play.start_at_ns = clock.now_ns() + 2 * S
        await play.replay.run(play.start_at_ns, 0, play.stage)
        assert most == bodies.ASKED_AT_ONCE
        assert play.replay.counts().late_bodies == 0

    in_virtual_time(work)


def test_an_idle_cap_finds_the_body_ready() -> None:
    async def work() -> None:
        maker = Maker([Session("s", chain(3, gap_s=600.0))], again=False)
        maker.body_s = 3.0
        play = Play(Wire(1.0), maker, replace(RULES, system_idle_s=10.0))
        await play.warm_up()
        play.start_at_ns = clock.now_ns() + 5 * S
        await play.replay.run(play.start_at_ns, 0, play.stage)
        assert play.replay.counts().late_bodies == 0

    in_virtual_time(work)


def test_bodies_of_an_overflowed_session_take_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "WAITING_BYTES", 1500)

    async def work() -> None:
        wire = Wire()
        wire.failing = lambda key: 400 if key.session_id == "0-0-0" else None
        sessions = [Session("s", chain(9, gap_s=0.0)), Session("t", chain(4, gap_s=0.0))]
        maker = Maker(sessions, again=False)
        maker.body_s = 0.5
        maker.body_bytes = 1000
        play = Play(wire, maker, overflowed=lambda exchange: exchange.http_status == 400)
        await play.whole()
        assert len(wire.sent) == 5
        assert play.replay.counts().late_bodies == 1  # the first one after the overflow

    in_virtual_time(work)


def test_what_an_overflowed_session_would_have_sent_is_given_up() -> None:
    async def work() -> None:
        wire = Wire()
        wire.failing = lambda key: 400 if key.turn_id == "root/1" else None
        maker = Maker([Session("s", chain(9, gap_s=0.0)), Session("t", chain(1))], again=False)
        maker.body_s = 0.5
        play = Play(wire, maker, overflowed=lambda exchange: exchange.http_status == 400)
        await play.whole()
        assert [(one.key.session_id, one.name) for one in wire.sent] == [
            ("0-0-0", "root/0"),
            ("0-0-0", "root/1"),
            ("0-0-1", "root/0"),
        ]

    in_virtual_time(work)


def test_a_maker_that_dies_ends_the_replay_with_its_error() -> None:
    async def work() -> None:
        class Dying(Maker):
            async def body(
                self,
                index: int,
                turn_no: int,
                max_output_tok: int | None,
                answers: tuple[bytes | None, ...] = (),
            ) -> bytes:
                raise ConnectionError("gone")

        play = Play(Wire(), Dying([Session("s", chain(3))]))
        await play.warm_up()
        with pytest.raises(ExceptionGroup) as caught:
            await play.profile()
        assert caught.group_contains(ConnectionError)

    in_virtual_time(work)
