"""What is drawn over time adds up to what was measured."""

import numpy as np
import pytest

from loadgen.analysis import summarise, timeline
from loadgen.analysis.timeline import timeline_of
from loadgen.model.table import Recording
from loadgen.model.timeline import Timeline
from tests.tables import call, closed_loop, recording, stream


def drawn(told: Recording) -> Timeline:
    line = timeline_of(told, summarise(told))
    assert line is not None
    return line


def test_no_requests_are_no_timeline() -> None:
    told = recording([])
    assert timeline_of(told, summarise(told)) is None


def test_tokens_of_all_bins_are_the_tokens_of_all_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "EVENTS_A_SLICE", 30)
    told = recording(closed_loop(3, 10, tokens=20))
    line = drawn(told)
    assert line.out_tps.sum() * line.bin_s == pytest.approx(30 * 20)


def test_tokens_of_a_failed_request_are_not_drawn() -> None:
    told = recording([stream(0, 10, 10, 50, outcome="truncated"), stream(0, 10, 10, 30)])
    line = drawn(told)
    assert line.out_tps.sum() * line.bin_s == pytest.approx(30)
    assert line.failed.sum() == 1


def test_requests_in_flight_are_the_mean_of_each_bin() -> None:
    told = recording([stream(0, 500, 100, 16), stream(1000, 500, 100, 6)])
    line = drawn(told)
    assert line.in_flight.max() == pytest.approx(2.0)
    assert line.in_flight.sum() * line.bin_s == pytest.approx(2.0 + 1.0)


def test_first_tokens_are_drawn_when_their_request_was_due() -> None:
    told = recording([stream(0, 200, 10, 5), stream(3000, 400, 10, 5)])
    line = drawn(told)
    seen = np.flatnonzero(np.isfinite(line.ttft_max_s))
    assert line.ttft_max_s[seen].tolist() == pytest.approx([0.2, 0.4])
    assert seen[1] * line.bin_s == pytest.approx(3.0, abs=line.bin_s)


def test_curves_end_at_the_highest_value_and_at_all() -> None:
    told = recording([stream(1000 * i, 100 + i, 10, 5) for i in range(500)])
    line = drawn(told)
    curve = next(curve for curve in line.curves if curve.metric == "ttft_s")
    assert len(curve.value) <= timeline.CURVE_POINTS
    assert curve.frac[-1] == 1.0
    assert curve.value[-1] == pytest.approx(0.599, abs=0.002)
    assert (np.diff(curve.frac) > 0).all()


def test_a_run_without_any_answer_has_a_time_line() -> None:
    told = recording([call(0, [], outcome="refused", unsent=True)])
    line = drawn(told)
    assert line.failed.sum() == 1
    assert line.curves == ()
