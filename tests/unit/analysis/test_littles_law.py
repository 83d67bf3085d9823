from dataclasses import replace

import numpy as np
import pytest

from loadgen.analysis import summarise
from loadgen.analysis.frame import Frame, Known, window_frame
from loadgen.analysis.littles_law import decode_balance, in_flight_balance
from loadgen.analysis.requests import Requests
from loadgen.model.table import RunTable
from tests.simulations import Server, drift, level, served
from tests.tables import closed_loop, codes, recording, stream, table


def frame_of(rows: RunTable, load: str) -> Frame:
    return window_frame(Requests(rows), load, Known())[0]


@pytest.mark.parametrize("slots", [4, 16, 64])
def test_a_level_point_balances_in_both_ways(slots: int) -> None:
    frame = frame_of(served(Server(slots=slots), level, 1), f"closed:{slots}")

    stays, decode = in_flight_balance(frame), decode_balance(frame)

    assert stays is not None
    assert stays.seen == pytest.approx(slots, rel=0.01)
    assert stays.expected == pytest.approx(stays.seen, rel=0.03)
    assert stays.holds
    assert decode is not None
    assert decode.expected == pytest.approx(decode.seen, rel=0.03)
    assert decode.holds


def test_slots_that_run_in_step_balance_though_whole_answers_straddle_the_edges() -> None:
    """64 slots, ten waves of answers of one length, 16 of them begun in each millisecond."""
    calls = [
        stream(wave * 850 + slot // 16, 30, 20, 40) for wave in range(10) for slot in range(64)
    ]

    found = in_flight_balance(frame_of(table(calls), "closed:64"))

    assert found is not None
    assert found.off_frac > 0.1
    assert found.holds


def test_a_queue_that_grows_does_not_balance() -> None:
    rows = served(Server(slots=16), level, 1)
    rows = replace(rows, due_at_ns=rows.due_at_ns * 9 // 10, sent_at_ns=rows.due_at_ns * 9 // 10)

    summary = summarise(replace(recording([], "poisson:rate=18/s"), table=rows))

    assert codes(summary)["in_flight_unbalanced"] == "doubt"
    text = next(f.text for f in summary.findings if f.code == "in_flight_unbalanced")
    assert "requests in flight at `poisson:rate=18/s` where rate times stay gives" in text


def test_a_rate_that_the_speed_of_its_requests_does_not_bear_out_is_seen() -> None:
    """Only requests of the fast first third vouch for a run that slows down to half its speed."""
    frame = frame_of(served(Server(slots=16), drift(1.0, 60), 2), "closed:16")
    early = frame.chosen & (np.arange(len(frame.chosen)) < len(frame.chosen) // 3)

    found = decode_balance(replace(frame, chosen=early))

    assert found is not None
    assert not found.holds
    assert found.off_frac > 0.1


def test_short_or_cut_points_are_not_weighed() -> None:
    short = frame_of(table(closed_loop(4, 10)), "closed:4")
    cut = served(Server(slots=16), level, 1)
    outcome = cut.outcome.copy()
    outcome[-100:-80] = "unfinished"

    assert in_flight_balance(short) is None
    assert decode_balance(short) is None
    assert in_flight_balance(frame_of(replace(cut, outcome=outcome), "closed:16")) is None
