"""Bodies by themselves: each is asked for once, and room is counted by their true sizes."""

import asyncio

import pytest

from loadgen.engine import bodies
from loadgen.engine.bodies import Bodies, Want
from tests.unit.engine.replays import Maker


class SizedMaker(Maker):
    """Bodies of as many bytes as their turn's number says."""

    async def body(
        self,
        index: int,
        turn_no: int,
        max_output_tok: int | None,
        answers: tuple[bytes | None, ...] = (),
    ) -> bytes:
        await super().body(index, turn_no, max_output_tok, answers)
        return bytes(turn_no)

    @property
    def numbers(self) -> list[int]:
        return [asked[1] for asked in self.asked]


def want(number: int, tok: int | None = 100) -> Want:
    return Want(number, (0, number), tok, None)


@pytest.fixture
def maker() -> SizedMaker:
    return SizedMaker([])


@pytest.fixture
def made(maker: SizedMaker, monkeypatch: pytest.MonkeyPatch) -> Bodies:
    monkeypatch.setattr(bodies, "WAITING_BYTES", 1000)
    monkeypatch.setattr(bodies, "FIRST_GUESS_BYTES_PER_TOK", 5.0)
    return Bodies(maker, asyncio.ensure_future, lambda: None)


async def until_made() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_an_offer_that_was_taken_before_its_turn_is_not_asked_for_again(
    made: Bodies, maker: SizedMaker
) -> None:
    made.offer(want(7))
    assert await made.take(want(7)) == bytes(7)
    made.top_up(0)
    await until_made()
    assert maker.numbers == [7]


async def test_room_counts_what_came_and_not_what_was_expected(
    made: Bodies, maker: SizedMaker
) -> None:
    made.offer(want(900, tok=20))  # expected: 100 bytes
    made.top_up(0)
    await until_made()
    made.offer(want(901, tok=4))  # expected by now: 180 bytes
    made.top_up(0)
    await until_made()
    assert maker.numbers == [900]
    await made.take(want(900))
    made.top_up(0)
    await until_made()
    assert maker.numbers == [900, 901]


async def test_a_body_larger_than_the_room_is_made_when_no_other_waits(
    made: Bodies, maker: SizedMaker
) -> None:
    made.offer(want(5000, tok=1000))
    made.top_up(0)
    assert await made.take(want(5000, tok=1000)) == bytes(5000)
    assert made.late == 1


async def test_a_prompt_of_unknown_length_has_room_too(made: Bodies, maker: SizedMaker) -> None:
    made.offer(want(3, tok=None))
    made.top_up(0)
    await until_made()
    assert maker.numbers == [3]


async def test_an_offer_moved_to_an_earlier_instant_counts_from_there(
    made: Bodies, maker: SizedMaker
) -> None:
    late = want(3)._replace(due_at_ns=bodies.HORIZON_NS + 2)
    made.offer(late)
    made.top_up(1)
    await until_made()
    assert maker.numbers == []
    made.offer(late._replace(due_at_ns=5))
    made.top_up(1)
    await until_made()
    made.top_up(bodies.HORIZON_NS)
    await until_made()
    assert maker.numbers == [3]
