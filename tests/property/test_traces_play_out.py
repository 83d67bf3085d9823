"""Any trace plays to its end from any moment of its recording, whoever answers first."""

import random
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from loadgen.engine.tree import Tree
from loadgen.model.session import Session
from loadgen.workload.tree import start_range_ms, turns_of
from tests.property.test_trace_trees import read, traces


@given(traces(), st.none() | st.floats(0, 1), st.integers(0, 99))
def test_every_turn_from_the_starting_point_on_is_played_once(
    trace: dict[str, Any], share: float | None, seed: int
) -> None:
    made = read(trace)
    turns = turns_of(made)
    from_ns = None
    if share is not None:
        low_ms, high_ms = start_range_ms(made, 0.0, 1.0)
        from_ns = round((low_ms + share * (high_ms - low_ms)) * 1e6)
    at_ns = {turn.turn_id: turn.at_ns or 0 for turn in turns}
    # Agents may outlive their recorded duration, and with it the turn that waited for them.
    assume(all(at_ns[w.turn_id] <= at_ns[turn.turn_id] for turn in turns for w in turn.after))
    chance = random.Random(seed)
    tree = Tree(Session("s", turns, from_ns=from_ns))
    tree.unpaced(0)
    played: list[str] = []
    in_flight: list[int] = []
    while (ready := [number for _, number in tree.due(0)]) or in_flight:
        if ready and (not in_flight or chance.random() < 0.5):
            number = chance.choice(ready)
            tree.launch(number)
            tree.sent(number, 0)
            in_flight.append(number)
            played.append(turns[number].turn_id)
        else:
            tree.done(in_flight.pop(chance.randrange(len(in_flight))), 0)
    assert tree.drained
    expected = [one.turn_id for one in turns if from_ns is None or (one.at_ns or 0) >= from_ns]
    assert sorted(played) == sorted(expected)
