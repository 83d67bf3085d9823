"""Designed hits: leading blocks that came before, by runs and not by single ids."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.analysis.replay.prefix_hits import SeenBlocks, designed_hit, runs_of
from loadgen.analysis.requests import Requests
from loadgen.store.tables import make_table
from tests.unit.analysis.replay.test_sessions import RECORDS, turn

RUNS = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 8)), min_size=1, max_size=6)


def test_designed_hits_count_leading_blocks_seen_before_in_the_same_play() -> None:
    requests = Requests(make_table(RECORDS))
    found = designed_hit(requests, requests.in_window_phase)
    assert found == pytest.approx((10 + 0 + 18 + 0) / (20 + 5 + 20 + 10))


def test_subagents_find_what_their_main_agent_sent() -> None:
    records = [turn("0-0-0", 0, 0, (1, 10), 0), turn("0-0-0", 0, 500, (1, 8), 0, stream="a")]
    requests = Requests(make_table(records))
    assert designed_hit(requests, requests.ok) == pytest.approx(8 / 18)


def test_without_designed_blocks_there_is_no_designed_hit() -> None:
    requests = Requests(make_table([turn("0-0-0", 0, 0, (), 0)]))
    assert designed_hit(requests, requests.ok) is None


def test_runs_come_out_of_pairs() -> None:
    assert runs_of("3,2,10,1") == [(3, 2), (10, 1)]


@given(st.lists(RUNS, max_size=12))
def test_spans_find_what_a_set_of_ids_finds(prompts: list[list[tuple[int, int]]]) -> None:
    spans, ids = SeenBlocks(), set[int]()
    for runs in prompts:
        flat = [one for first, n in runs for one in range(first, first + n)]
        leading = next((n for n, one in enumerate(flat) if one not in ids), len(flat))
        assert spans.leading(runs) == leading
        spans.add(runs)
        ids.update(flat)
