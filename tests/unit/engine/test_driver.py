import asyncio
from itertools import count, pairwise, repeat

from msgspec import structs

from loadgen.engine import Load, OwnFeed, RateCeiling
from loadgen.engine.tally import Tally
from loadgen.model.exchange import Outcome, Phase, TurnKey
from loadgen.model.session import Turn
from tests.unit.engine.stage import FakeWire, closed, drive, one_shots

MS = 1_000_000


async def at_once(key: TurnKey, turn: Turn, body: bytes) -> None:
    await asyncio.sleep(0)


async def never(key: TurnKey, turn: Turn, body: bytes) -> None:
    await asyncio.Event().wait()


async def refused(key: TurnKey, turn: Turn, body: bytes) -> Outcome:
    await asyncio.sleep(0)
    return Outcome.REFUSED


async def test_sends_exactly_the_asked_requests_and_every_one_ends() -> None:
    wire = FakeWire(at_once)
    driver, tally = await drive(wire, closed(4, requests=25))
    assert (tally.issued, tally.ended, tally.in_flight) == (25, 25, 0)
    assert len(wire.exchanges) == 25
    assert driver.stop_reason == "requests"


async def test_a_closed_loop_holds_all_its_slots_in_flight() -> None:
    wire = FakeWire(at_once)
    _, tally = await drive(wire, closed(2000, requests=4000))
    assert tally.in_flight_max == 2000
    assert tally.issued == tally.ended == 4000


async def test_a_request_is_told_of_before_it_is_sent_and_after_its_end() -> None:
    told: list[tuple[int, int]] = []
    known_at_sending: list[tuple[int, int]] = []

    async def noted(key: TurnKey, turn: Turn, body: bytes) -> None:
        known_at_sending.append(told[-1])
        await asyncio.sleep(0)

    tally = Tally(tell=lambda issued, ended: told.append((issued, ended)))
    await drive(FakeWire(noted), closed(1, requests=3), tally=tally)
    assert known_at_sending == [(1, 0), (2, 1), (3, 2)]
    assert told[-1] == (3, 3)


async def test_warm_up_is_handed_over_without_a_drain() -> None:
    gate = asyncio.Event()

    async def first_is_slow(key: TurnKey, turn: Turn, body: bytes) -> None:
        if key.seq == 0:
            await gate.wait()
        elif key.phase is Phase.WINDOW:
            gate.set()

    wire = FakeWire(first_is_slow)
    await drive(wire, closed(2, requests=3, warmup=2))
    phases = [key.phase for key, _, _ in wire.sent]
    assert phases == [Phase.WARMUP] * 2 + [Phase.WINDOW] * 3


async def test_an_interrupt_lets_what_is_in_flight_end_and_sends_nothing_more() -> None:
    gate = asyncio.Event()

    async def gated(key: TurnKey, turn: Turn, body: bytes) -> None:
        await gate.wait()

    def full(wire: FakeWire) -> bool:
        if len(wire.sent) == 8:
            asyncio.get_running_loop().call_soon(gate.set)
        return len(wire.sent) == 8

    wire = FakeWire(gated)
    driver, tally = await drive(wire, closed(8, requests=1000), halt_when=full)
    assert tally.issued == tally.ended == 8
    assert {exchange.failure for exchange in wire.exchanges} == {None}
    assert driver.stop_reason == "interrupted"


async def test_leftovers_are_ended_as_unfinished_after_the_grace() -> None:
    wire = FakeWire(never)
    _, tally = await drive(wire, closed(3, duration_ns=5 * MS, grace_ns=5 * MS))
    assert tally.issued == tally.ended == 3
    assert {exchange.failure for exchange in wire.exchanges} == {Outcome.UNFINISHED}


async def test_a_server_that_is_gone_ends_the_point_instead_of_spinning() -> None:
    wire = FakeWire(refused)
    driver, tally = await drive(wire, closed(4, duration_ns=60_000 * MS))
    assert driver.stop_reason == "endpoint_gone"
    assert 200 <= tally.issued == tally.ended < 250


async def test_a_share_without_slots_ends_at_once() -> None:
    wire = FakeWire(at_once)
    _, tally = await drive(wire, closed(0, requests=0))
    assert tally.issued == 0


async def test_runs_out_of_sessions_and_says_so() -> None:
    wire = FakeWire(at_once)
    three = (session for session, _ in zip(one_shots(), range(3), strict=False))
    load = Load(arrivals=repeat(0), feed=OwnFeed(three), slot_offsets_ns=(0, 0))
    driver, tally = await drive(wire, load)
    assert tally.issued == 3
    assert driver.stop_reason == "no_more_sessions"


async def test_open_arrivals_are_due_at_their_instants_whatever_is_in_flight() -> None:
    gate = asyncio.Event()

    async def gated(key: TurnKey, turn: Turn, body: bytes) -> None:
        if key.seq == 9:
            gate.set()
        await gate.wait()

    wire = FakeWire(gated)
    load = Load(
        arrivals=(number * MS for number in count()), feed=OwnFeed(one_shots()), requests=10
    )
    _, tally = await drive(wire, load)
    due = [due_at_ns for _, _, due_at_ns in wire.sent]
    assert [b - a for a, b in pairwise(due)] == [MS] * 9
    assert tally.in_flight_max == 10


async def test_a_rate_ceiling_counts_the_waiting_it_causes_and_keeps_due_times() -> None:
    wire = FakeWire(at_once)
    ceiling = RateCeiling(50.0)
    load = Load(
        arrivals=repeat(0), feed=OwnFeed(one_shots()), slot_offsets_ns=(0,) * 60, requests=60
    )
    await drive(wire, load, ceiling=ceiling)
    assert ceiling.waits >= 5
    assert ceiling.wait_ns > 0
    assert len({due_at_ns for _, _, due_at_ns in wire.sent}) == 1


async def test_answers_that_take_longer_than_the_grace_are_followed_to_their_end() -> None:
    async def slow(key: TurnKey, turn: Turn, body: bytes) -> None:
        await asyncio.sleep(0.03)

    wire = FakeWire(slow)
    _, tally = await drive(wire, closed(1, warmup=1, duration_ns=MS, grace_ns=MS))
    assert tally.issued == 2
    assert {exchange.failure for exchange in wire.exchanges} == {None}


async def test_recorded_sessions_are_due_when_they_arrived_so_many_times_as_fast() -> None:
    sessions = (
        structs.replace(session, arrives_at_ns=at_ns)
        for session, at_ns in zip(one_shots(), (0, 10 * MS, 40 * MS), strict=False)
    )
    wire = FakeWire(at_once)
    load = Load(repeat(0), OwnFeed(sessions), recorded_speed=2.0)
    driver, tally = await drive(wire, load)
    first = wire.sent[0][2]
    assert [due - first for _, _, due in wire.sent] == [0, 5 * MS, 20 * MS]
    assert (tally.issued, driver.stop_reason) == (3, "no_more_sessions")
