"""Idle caps: of the whole run, in one worker and in several, and of one tree."""

import asyncio
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from loadgen import clock
from loadgen.model.exchange import TurnKey
from loadgen.model.session import Session, Turn
from tests.unit.engine.replays import MS, RULES, Board, Maker, Play, S, Wire, chain, done, turn
from tests.unit.engine.virtual_time import in_virtual_time

SYSTEM = replace(RULES, system_idle_s=10.0)
TREE = replace(RULES, tree_idle_s=300.0)


def test_nothing_in_flight_lasts_ten_seconds_at_most() -> None:
    async def work() -> None:
        play = Play(Wire(), Maker([Session("s", chain(3, gap_s=120.0))], again=False), SYSTEM)
        await play.whole()
        first, second, third = play.wire.sent
        assert second.due_at_ns == first.done_at_ns + 10 * S
        assert third.due_at_ns == second.done_at_ns + 10 * S
        assert all(one.sent_at_ns - one.due_at_ns < 2 * MS for one in play.wire.sent)
        counts = play.replay.counts()
        assert (counts.system_shifts, counts.system_shift_ns) == (2, 220 * S)

    in_virtual_time(work)


def test_a_pause_within_the_cap_is_left_alone() -> None:
    async def work() -> None:
        play = Play(Wire(), Maker([Session("s", chain(3, gap_s=9.5))], again=False), SYSTEM)
        await play.whole()
        assert play.wire.sent[1].due_at_ns == play.wire.sent[0].done_at_ns + 9.5 * S
        assert play.replay.counts().system_shifts == 0

    in_virtual_time(work)


def fan(*gaps_s: float) -> tuple[Turn, ...]:
    """A root and so many children, each after its own delay."""
    children = (turn(f"c{n}/0", done("root/0", gap_s)) for n, gap_s in enumerate(gaps_s))
    return (turn("root/0"), *children)


def test_all_timers_move_by_one_amount() -> None:
    async def work() -> None:
        play = Play(Wire(), Maker([Session("s", fan(40.0, 43.0, 50.0))], again=False), SYSTEM)
        await play.whole()
        root, *children = play.wire.sent
        assert [(one.due_at_ns - root.done_at_ns) / S for one in children] == [10.0, 13.0, 20.0]

    in_virtual_time(work)


def test_while_something_is_in_flight_nothing_moves() -> None:
    async def work() -> None:
        wire = Wire(lambda key: 500.0 if key.stream == "c0" else 1.0)
        play = Play(wire, Maker([Session("s", fan(0.0, 200.0))], again=False), SYSTEM)
        await play.whole()
        assert wire.named("c1/0").due_at_ns == wire.named("root/0").done_at_ns + 200 * S

    in_virtual_time(work)


def test_a_turn_that_still_waits_keeps_no_timer_behind_and_its_wait_holds() -> None:
    async def work() -> None:
        tree = (
            turn("root/0"),
            turn("root/1", done("root/0", 30.0), done("child/0")),
            turn("child/0", done("root/0", 100.0)),
        )
        play = Play(Wire(), Maker([Session("s", tree)], again=False), SYSTEM)
        await play.whole()
        root, child, joined = play.wire.sent
        assert child.due_at_ns == root.done_at_ns + 10 * S
        assert joined.name == "root/1"
        assert joined.due_at_ns == child.done_at_ns

    in_virtual_time(work)


def answer_s(key: TurnKey) -> float:
    return 0.5 + 0.25 * int(key.session_id.split("-")[1])


def dealt(shares: Sequence[Sequence[int]]) -> dict[tuple[str, str], float]:
    """When every turn was due after the start, played by so many workers."""
    found: dict[tuple[str, str], float] = {}
    gaps_s = (70.0, 33.0, 47.5, 120.0)
    sessions = [Session(f"s{n}", chain(6, gap_s=gap_s)) for n, gap_s in enumerate(gaps_s)]

    async def work() -> None:
        board = Board()
        rules = replace(SYSTEM, tree_idle_s=60.0)
        plays = [
            Play(Wire(answer_s), Maker(sessions), rules, lanes, 4, board.peer()) for lanes in shares
        ]
        await asyncio.gather(*(play.warm_up() for play in plays))
        start_at_ns = clock.now_ns() + S
        gaps = [play.replay.first_gap_ns() or 0 for play in plays]
        running = [play.replay.run(start_at_ns, min(gaps), play.stage) for play in plays]
        halting = [asyncio.create_task(_halt(play, start_at_ns + 240 * S)) for play in plays]
        await asyncio.gather(*running, *halting)
        for play in plays:
            for one in play.wire.sent:
                found[one.key.session_id, one.name] = (one.due_at_ns - start_at_ns) / S

    in_virtual_time(work)
    return found


async def _halt(play: Play, at_ns: int) -> None:
    await asyncio.sleep((at_ns - clock.now_ns()) / S)
    play.replay.halt("interrupted")


@pytest.mark.parametrize("shares", [((0, 2), (1, 3)), ((0,), (1,), (2,), (3,)), ((0, 1, 2, 3), ())])
def test_any_number_of_workers_makes_the_same_shifts(shares: Sequence[Sequence[int]]) -> None:
    alone, shared = dealt([(0, 1, 2, 3)]), dealt(shares)
    assert alone.keys() == shared.keys()
    assert len(alone) > 20
    # Answers end when the loop gets to them, up to its resolution later.
    assert shared == pytest.approx(alone, abs=0.05)


def test_one_worker_moves_its_turns_though_another_ends_the_idle_time() -> None:
    async def work() -> None:
        board = Board()
        early, late = Session("e", chain(2, gap_s=100.0)), Session("l", chain(2, gap_s=130.0))
        plays = [
            Play(Wire(), Maker([early, late], again=False), SYSTEM, (lane,), 2, board.peer())
            for lane in (0, 1)
        ]
        await asyncio.gather(*(play.whole() for play in plays))
        one, other = (play.wire.named("root/1", lane=lane) for lane, play in enumerate(plays))
        ended_ns = max(play.wire.named("root/0", lane=n).done_at_ns for n, play in enumerate(plays))
        assert one.due_at_ns == ended_ns + 10 * S
        assert (other.due_at_ns - one.due_at_ns) / S == pytest.approx(30.0, abs=0.05)
        assert [play.replay.counts().system_shifts for play in plays] == [1, 1]

    in_virtual_time(work)


def busy_and_quiet(*quiet: Turn) -> Play:
    """Two lanes: one always has a request in flight, the other plays these turns."""
    sessions = [Session("busy", chain(500, gap_s=0.0)), Session("quiet", quiet)]
    return Play(
        Wire(lambda key: 5.0 if key.session_id.startswith("0-0") else 1.0),
        Maker(sessions, again=False),
        replace(TREE, system_idle_s=10.0, duration_s=2000.0),
        (0, 1),
        2,
    )


def test_a_tree_is_idle_for_five_minutes_at_most_though_others_are_busy() -> None:
    async def work() -> None:
        play = busy_and_quiet(*chain(3, gap_s=700.0))
        await play.whole()
        one, two, three = (play.wire.named(f"root/{n}", lane=1) for n in range(3))
        assert two.due_at_ns == one.done_at_ns + 300 * S
        assert three.due_at_ns == two.done_at_ns + 300 * S
        assert all(one.sent_at_ns - one.due_at_ns < 2 * MS for one in play.wire.sent)
        counts = play.replay.counts()
        assert (counts.tree_shifts, counts.tree_shift_ns) == (2, 800 * S)
        assert counts.system_shifts == 0

    in_virtual_time(work)


def test_a_trees_timers_keep_their_spacing_under_its_cap() -> None:
    async def work() -> None:
        play = busy_and_quiet(*fan(500.0, 520.0, 900.0))
        await play.whole()
        root = play.wire.named("root/0", lane=1)
        children = [play.wire.named(f"c{n}/0", lane=1) for n in range(3)]
        assert [(one.due_at_ns - root.done_at_ns) / S for one in children][:2] == [300.0, 320.0]
        assert children[2].due_at_ns == children[1].done_at_ns + 300 * S

    in_virtual_time(work)


def test_where_a_barrier_holds_the_trees_earliest_turn_the_next_one_goes_at_once() -> None:
    async def work() -> None:
        play = busy_and_quiet(
            turn("root/0"),
            turn("root/1", done("root/0", 400.0), done("child/0")),
            turn("child/0", done("root/0", 600.0)),
        )
        await play.whole()
        root, child, held = (
            play.wire.named(name, lane=1) for name in ("root/0", "child/0", "root/1")
        )
        assert child.due_at_ns == root.done_at_ns + 300 * S
        assert held.due_at_ns == child.done_at_ns

    in_virtual_time(work)


def test_a_tree_with_a_request_in_flight_is_not_idle() -> None:
    async def work() -> None:
        sessions = [Session("s", fan(0.0, 800.0))]
        wire = Wire(lambda key: 700.0 if key.stream == "c0" else 1.0)
        play = Play(wire, Maker(sessions, again=False), TREE)
        await play.whole()
        assert wire.named("c1/0").due_at_ns == wire.named("root/0").done_at_ns + 800 * S

    in_virtual_time(work)


def test_a_tree_is_idle_from_the_profilings_start_on_and_not_from_before() -> None:
    async def work() -> None:
        sessions = [Session(f"s{n}", chain(3, gap_s=gap_s)) for n, gap_s in enumerate((400, 900))]
        rules = replace(TREE, warmup_turns=1)
        play = Play(Wire(), Maker(sessions, again=False), rules, (0, 1), 2)
        await play.whole()
        assert play.at_s(play.wire.named("root/1", lane=0).due_at_ns) == 0.0
        assert play.at_s(play.wire.named("root/1", lane=1).due_at_ns) == 300.0

    in_virtual_time(work)


def test_the_trees_own_cap_ends_an_idle_time_of_the_run_without_moving_the_others() -> None:
    async def work() -> None:
        # The run falls idle at 294 s; lane 1 has been idle since 1 s and goes at 301 s.
        sessions = [
            Session("a", (turn("root/0"), turn("root/1", done("root/0", 400.0)))),
            Session("b", chain(2, gap_s=900.0)),
        ]
        wire = Wire(lambda key: 294.0 if key.session_id == "0-0-0" else 1.0)
        rules = replace(TREE, system_idle_s=10.0)
        play = Play(wire, Maker(sessions, again=False), rules, (0, 1), 2)
        await play.whole()
        assert wire.named("root/1", lane=1).due_at_ns == (
            wire.named("root/0", lane=1).done_at_ns + 300 * S
        )
        assert wire.named("root/1").due_at_ns == wire.named("root/1", lane=1).done_at_ns + 10 * S
        moved = play.replay.counts()
        assert moved.tree_shifts == 1
        assert moved.system_shifts == 1

    in_virtual_time(work)
