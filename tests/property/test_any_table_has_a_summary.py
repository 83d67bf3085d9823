"""Whatever was recorded, it has a summary: strict JSON, a reason for each absent figure."""

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadgen.analysis import request_metrics, summarise
from loadgen.analysis.frame import Known, whole_frame
from loadgen.analysis.littles_law import mismatch
from loadgen.analysis.requests import Requests
from loadgen.model.exchange import Outcome
from loadgen.model.summary import Summary
from tests.tables import Call, recording, table

COUNT = st.none() | st.integers(0, 40)


@st.composite
def calls(draw: st.DrawFn) -> Call:
    due = draw(st.integers(0, 5000))
    sent = draw(st.none() | st.integers(0, 300))
    gaps = draw(st.lists(st.integers(0, 200), max_size=8))
    times = np.cumsum([due + (sent or 0), *gaps])[1:].tolist()
    told = draw(st.booleans())
    events = [
        (at, draw(st.sampled_from("orct")), draw(st.integers(0, 5)))
        if told
        else (at, draw(st.sampled_from("orct")))
        for at in times
    ]
    return Call(
        due=due,
        events=events,
        sent=None if sent is None else due + sent,
        outcome=draw(st.sampled_from([str(outcome) for outcome in Outcome])),
        phase=draw(st.sampled_from(["warmup", "window", "window", "drain"])),
        point=draw(st.integers(0, 1)),
        usage=draw(COUNT),
        prompt=draw(COUNT),
        cached=draw(COUNT),
        reasoning=draw(COUNT),
        asked_prompt=draw(COUNT),
        asked_output=draw(COUNT),
        status=draw(st.sampled_from([None, 200, 500])),
        streamed=draw(st.booleans()),
        stamp=draw(st.sampled_from(["kernel", "user"])),
        multi_reads=draw(st.integers(0, 3)),
        unsent=draw(st.booleans()),
    )


LOADS = st.sampled_from(["closed:1", "closed:3", "closed:2,think=1s", "poisson:rate=4/s"])


@settings(deadline=None)
@given(st.lists(calls(), max_size=12), LOADS, LOADS)
def test_any_table_has_a_summary(rows: list[Call], first: str, second: str) -> None:
    summary = summarise(recording(rows, [first, second]))

    assert msgspec.json.decode(msgspec.json.encode(summary), type=Summary) == summary
    for point in summary.points:
        assert point.counts.issued == sum(point.counts.outcomes.values())
        for measure in [*point.measures.values(), *point.whole.values()]:
            assert (measure.value is None) == bool(measure.reason)
            assert measure.value is None or math.isfinite(measure.value)


@settings(deadline=None)
@given(st.lists(calls(), min_size=1, max_size=12))
def test_tokens_of_events_add_up_to_the_requests_output(rows: list[Call]) -> None:
    requests = Requests(table(rows))

    for row in range(len(requests)):
        tok = requests.event_tok[requests.event_row == row]
        assert (tok >= 0).all()
        wanted = requests.output_tok[row]
        if wanted > 0 and tok.sum() > 0:
            assert tok.sum() == pytest.approx(wanted)


@settings(deadline=None)
@given(st.lists(calls(), min_size=1, max_size=12))
def test_time_in_flight_adds_up_in_two_ways(rows: list[Call]) -> None:
    requests = Requests(table(rows))

    assert mismatch(whole_frame(requests, "closed:2", Known())) < 1e-6


@settings(deadline=None)
@given(st.lists(calls(), min_size=1, max_size=12))
def test_a_time_of_one_request_is_never_negative(rows: list[Call]) -> None:
    for name, column in request_metrics(table(rows)).items():
        assert not (column[~np.isnan(column)] < 0).any(), name
