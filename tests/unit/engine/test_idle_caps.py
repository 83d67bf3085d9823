"""The idle caps by themselves: what a worker publishes, and when it decides."""

import pytest
from msgspec.structs import replace

from loadgen.engine.idle import IdleCaps
from loadgen.engine.tree import Tree
from loadgen.model.session import Session
from tests.unit.engine.replays import RULES, Board, S, chain, done, turn

BOTH = replace(RULES, system_idle_s=10.0, tree_idle_s=300.0)


def waiting(delay_s: float, since_s: float = 0.0) -> Tree:
    """A tree whose first turn ended at `since_s`; the next is due `delay_s` later."""
    tree = Tree(Session("s", chain(3, gap_s=delay_s)))
    tree.pace_from(round(since_s * S))
    tree.launch(0)
    tree.sent(0, round(since_s * S))
    tree.done(0, round(since_s * S))
    return tree


class Worker:
    """Caps over one tree on a common board."""

    def __init__(self, board: Board, tree: Tree) -> None:
        self.tree = tree
        self.board = board
        self.peers = board.peer()
        self.caps = IdleCaps(BOTH, self.peers, lambda: [tree])
        self.caps.start(0)
        self.caps.ended(tree.idle_since_ns)

    def look(self, at_s: float, active: int = 0) -> bool:
        return self.caps.look(round(at_s * S), active)

    @property
    def due_s(self) -> float:
        return (self.tree.earliest_due_ns() or 0) / S


def test_a_slower_worker_finds_the_amount_that_a_faster_one_acted_on() -> None:
    board = Board()
    fast, slow = Worker(board, waiting(100.0)), Worker(board, waiting(130.0))
    for worker in (fast, slow, fast, slow):
        worker.look(1.0)
    assert fast.look(5.0)
    assert not fast.look(5.1)
    assert not fast.look(6.0)
    assert slow.look(9.0)
    assert (fast.due_s, slow.due_s) == (10.0, 40.0)


def test_a_period_that_another_worker_ended_is_over_for_all() -> None:
    board = Board()
    first, second = Worker(board, waiting(100.0)), Worker(board, waiting(130.0))
    for worker in (first, second, first, second):
        worker.look(5.0)
    assert (first.due_s, second.due_s) == (10.0, 40.0)
    first.tree.launch(1)
    first.tree.sent(1, 10 * S)
    first.look(10.0, active=1)
    second.look(10.1)
    first.tree.done(1, 11 * S)
    first.caps.ended(11 * S)
    for worker in (first, second):
        worker.look(11.1)
    assert first.peers.idle_since_ns() == 11 * S
    assert board.rows[1]["next_due_ns"] == 40 * S
    assert second.look(16.0)
    assert first.look(17.0)
    assert (first.due_s, second.due_s) == (92.0, 21.0)


def test_nothing_is_decided_while_any_worker_is_busy() -> None:
    board = Board()
    idle, busy = Worker(board, waiting(100.0)), Worker(board, waiting(130.0))
    for at_s in (1.0, 6.0, 11.0, 16.0):
        busy.look(at_s, active=1)
        assert not idle.look(at_s)
    assert idle.due_s == 100.0


def test_a_trees_own_cap_beyond_the_idle_time_is_no_timer_of_the_run() -> None:
    worker = Worker(Board(), waiting(700.0))
    worker.look(0.1)
    assert worker.look(5.0)
    assert worker.due_s == 10.0


def test_a_trees_own_cap_within_the_idle_time_ends_it() -> None:
    board = Board()
    worker = Worker(board, waiting(700.0))
    other = Worker(board, waiting(900.0, since_s=295.0))
    for at_s in (295.1, 300.0):
        for one in (other, worker):
            assert not one.look(at_s)
    assert worker.caps.wake_ns(worker.tree) == 300 * S
    assert other.due_s == 1195.0


def test_an_idle_worker_looks_at_the_others_ten_times_a_second_a_busy_one_never() -> None:
    worker = Worker(Board(), waiting(700.0))
    worker.look(1.0)
    assert worker.caps.next_look_ns(S, 0) == 1.1 * S
    assert worker.caps.next_look_ns(round(4.95 * S), 0) == 5 * S
    assert worker.caps.next_look_ns(S, 3) is None


def test_a_run_of_which_nobody_plans_anything_moves_nothing() -> None:
    tree = Tree(Session("s", chain(1)))
    tree.launch(0)
    worker = Worker(Board(), tree)
    worker.look(1.0)
    assert not worker.look(8.0)


@pytest.mark.parametrize(("at_s", "expected"), [(50.0, ["a/1"]), (50.1, ["a/2"])])
def test_a_turn_at_the_starting_point_itself_is_still_to_come(
    at_s: float, expected: list[str]
) -> None:
    turns = (
        turn("a/0", at_s=0.0),
        turn("a/1", done("a/0"), at_s=50.0),
        turn("a/2", done("a/1"), at_s=80.0),
    )
    tree = Tree(Session("s", turns, from_ns=round(at_s * S)))
    tree.unpaced(0)
    assert [turns[number].turn_id for _, number in tree.due(0)] == expected
