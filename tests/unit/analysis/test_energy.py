"""Joules over a window: by counter, by integral, whole or not at all. Hand-checked numbers."""

from typing import Any

import pytest

from loadgen.analysis import summarise
from loadgen.model.energy import PointEnergy
from loadgen.model.observed import Observed
from loadgen.model.summary import Summary
from tests.tables import closed_loop, codes, healthy, recording
from tests.telemetry import Row, told

SLOTS, TURNS, TOKENS, PROMPT = 2, 60, 20, 100
TOOK_MS = 50 + 10 * (TOKENS - 1)
"""A slot answers after 240 ms: 60 turns last 14.4 s."""


def steady(watts: float, part: str = "GPU-0", *, counter: bool = True) -> list[Row]:
    """A reading each second from 3 s before to 3 s after, all at the same power."""
    rows: list[Row] = []
    for second in range(-3, 19):
        rows.append((second * 1000.0, "power_w", part, watts))
        if counter:
            rows.append((second * 1000.0, "energy_j", part, 1e6 + watts * second))
    return rows


def summary(rows: list[Row], **given: Any) -> Summary:
    calls = closed_loop(SLOTS, TURNS, tokens=TOKENS, prompt=PROMPT)
    made = recording(
        calls,
        "closed:2",
        health=[healthy(issued=SLOTS * TURNS)],
        telemetry=told(rows, source="gpu", origin="nvml"),
        **given,
    )
    return summarise(made)


def energy(rows: list[Row], **given: Any) -> PointEnergy:
    [found] = summary(rows, **given).energy
    return found


def test_steady_power_gives_watts_times_seconds_of_the_window() -> None:
    found = summary(steady(300.0))
    [one] = found.energy
    point = found.points[0]
    window = point.window
    assert window is not None
    seconds = (window.end_at_ns - window.start_at_ns) / 1e9

    assert one.source == "counter"
    assert one.joules == pytest.approx(300.0 * seconds)
    assert one.mean_w == pytest.approx(300.0)
    assert (one.gpus_seen, one.boundary) == (1, "gpu")
    rate = point.measures["out_tps"].value
    assert rate
    assert point.measures["j_per_out_tok"].value == pytest.approx(300.0 / rate)
    assert point.measures["out_tps_per_mw"].value == pytest.approx(rate / 300.0 * 1e6)
    total = point.measures["total_tps"].value
    assert total
    assert point.measures["j_per_tok"].value == pytest.approx(300.0 / total)


def test_all_gpus_add_up() -> None:
    one = energy([*steady(300.0), *steady(100.0, "GPU-1")])

    assert one.mean_w == pytest.approx(400.0)
    assert one.gpus_seen == 2


def test_without_a_counter_samples_are_integrated_by_trapezoids() -> None:
    rows: list[Row] = [(1000.0 * s, "power_w", "GPU-0", 100.0 + 10.0 * s) for s in range(-3, 19)]
    found = summary(rows)
    [one] = found.energy
    window = found.points[0].window
    assert window is not None
    start, end = window.start_at_ns / 1e9, window.end_at_ns / 1e9

    assert one.source == "integral"
    assert one.joules == pytest.approx(100 * (end - start) + 5 * (end**2 - start**2))


def test_counter_and_samples_that_disagree_give_nothing() -> None:
    rows = [
        (at, name, part, value * (1.08 if name == "power_w" else 1.0))
        for at, name, part, value in steady(300.0)
    ]
    one = energy(rows)

    assert one.joules is None
    assert "power samples come to +8.0 % of what the counter says" in one.reason
    assert one.integral_j is not None


def test_a_gap_of_over_three_seconds_in_one_gpu_gives_nothing() -> None:
    rows = [row for row in steady(300.0, "GPU-1") if not 4000 < row[0] < 8000]
    found = summary([*steady(300.0), *rows])
    [one] = found.energy

    assert one.joules is None
    assert "a GPU's readings have a gap (4 s) in the window, allowed: 3 s" in one.reason
    assert codes(found)["energy_withheld"] == "note"
    measure = found.points[0].measures["j_per_out_tok"]
    assert measure.value is None
    assert "gap" in measure.reason


def test_readings_that_end_before_the_window_give_nothing() -> None:
    one = energy([row for row in steady(300.0) if row[0] < 9000])

    assert one.joules is None
    assert "gap (at an end)" in one.reason


def test_a_counter_that_begins_anew_leaves_the_samples() -> None:
    rows = [
        (at, name, part, 5.0 if name == "energy_j" and at >= 7000 else value)
        for at, name, part, value in steady(300.0)
    ]
    one = energy(rows)

    assert one.source == "integral"
    assert one.mean_w == pytest.approx(300.0)


def test_other_gpus_than_declared_give_nothing() -> None:
    one = energy(steady(300.0), plan={"prices": {"gpus": 4.0}})

    assert one.joules is None
    assert one.reason == "power of 1 GPUs is told, 4 are declared"


def test_a_window_under_five_seconds_gives_nothing() -> None:
    calls = closed_loop(SLOTS, 12, tokens=TOKENS, prompt=PROMPT)
    rows = told(steady(300.0), source="gpu", origin="nvml")
    [one] = summarise(recording(calls, "closed:2", telemetry=rows)).energy

    assert one.joules is None
    assert "under the 5 s that it takes" in one.reason


def test_nobody_asked_is_no_finding_and_says_so_in_the_figure() -> None:
    found = summary([])

    assert found.energy == ()
    assert "energy_withheld" not in codes(found)
    assert found.points[0].measures["j_per_out_tok"].reason == "no power readings"


def test_a_source_that_never_answered_is_told_with_its_reason() -> None:
    one = energy([(0.0, "silent", "status 404", 1.0)])

    assert one.joules is None
    assert one.reason == "no power readings: status 404"


def test_idle_power_is_told_beside_and_never_subtracted() -> None:
    rows: list[Row] = [
        (at, name, part, 80.0 if name == "power_w" and not 0 < at < TURNS * TOOK_MS else value)
        for at, name, part, value in steady(300.0, counter=False)
    ]
    one = energy(rows, plan={"idle_s": 3.0, "power_boundary": "node"})

    assert one.idle_w == pytest.approx(80.0)
    assert one.mean_w is not None
    assert one.mean_w > 280.0
    assert one.boundary == "node"


def test_provisioned_power_is_a_view_of_its_own() -> None:
    found = summary(
        steady(300.0),
        plan={"prices": {"gpus": 1.0}},
        observed=Observed(gpu_names=("NVIDIA GB300",)),
    )
    [one] = found.energy
    rate = found.points[0].measures["out_tps"].value
    assert rate

    assert one.provisioned_w is not None
    assert one.provisioned_w > 1000
    assert found.points[0].measures["out_tps_per_mw_provisioned"].value == pytest.approx(
        rate / one.provisioned_w * 1e6
    )
    assert one.mean_w == pytest.approx(300.0)
