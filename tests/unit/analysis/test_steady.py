from dataclasses import replace

import msgspec
import numpy as np
import pytest

from loadgen.analysis import summarise
from loadgen.analysis.steady import judge_series, warmup_ends
from loadgen.model.summary import PointSummary, Summary
from tests.simulations import Law, Server, drift, level, served, step, warming
from tests.tables import closed_loop, codes, recording

MATERIAL = 0.05
MINE = {
    "drifting", "anomaly", "warmup_cut", "floor_missed", "steadiness_unknown",
    "in_flight_unbalanced", "rate_unbalanced", "below_strict",
}  # fmt: skip


def run(server: Server, law: Law, seed: int, floor: str = "quick") -> Summary:
    empty = recording([], f"closed:{server.slots}", plan={"floor": floor})
    return summarise(replace(empty, table=served(server, law, seed)))


def point(server: Server, law: Law, seed: int) -> PointSummary:
    return run(server, law, seed).points[0]


def verdict(found: PointSummary) -> str:
    assert found.steady is not None
    return found.steady.verdict


@pytest.mark.parametrize("seed", range(20))
def test_healthy_runs_long_and_short_fire_nothing(seed: int) -> None:
    chance = np.random.default_rng(seed)
    server = Server(
        slots=int(chance.choice([1, 2, 4, 16, 64])),
        lasts_s=float(chance.choice([2, 4, 8, 30, 60])),
        mean_tok=float(chance.choice([10, 25, 50])),
        wander=0.01,
    )

    summary = run(server, level, seed)

    found = {code: severity for code, severity in codes(summary).items() if code in MINE}
    assert found in ({}, {"steadiness_unknown": "note"})
    for one in summary.points:
        assert one.steady is not None
        assert one.steady.cut_s == 0


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("slots", [4, 64])
def test_a_warm_up_is_cut_where_it_ends(slots: int, seed: int) -> None:
    for law in (warming(12, 1.4, sudden=True), warming(15, 1.6, sudden=False)):
        found = point(Server(slots=slots), law, seed)

        assert verdict(found) == "steady"
        assert found.window is not None
        ends_s = 12 if law(0) == 1.4 else 15
        assert found.window.start_at_ns / 1e9 == pytest.approx(ends_s, abs=6)
        assert "cut as warm-up (MSER-5)" in found.window.rule


def test_figures_after_a_warm_up_are_those_of_the_level() -> None:
    server = Server(slots=16)
    truth = point(server, level, 1).measures["tpot_s.p50"].value

    summary = run(server, warming(15, 1.5, sudden=True), 1)

    assert summary.points[0].measures["tpot_s.p50"].value == pytest.approx(truth, rel=0.01)
    assert summary.points[0].whole["tpot_s.mean"].value > 1.05 * (truth or 0)  # type: ignore[operator]
    assert codes(summary)["warmup_cut"] == "note"


@pytest.mark.parametrize(("by", "wanted"), [(0.2, "drifting_up"), (-0.2, "drifting_down")])
@pytest.mark.parametrize("slots", [16, 64])
def test_a_drift_is_named_by_its_direction(slots: int, by: float, wanted: str) -> None:
    summary = run(Server(slots=slots), drift(by, 60), 3)

    assert verdict(summary.points[0]) == wanted
    assert codes(summary)["drifting"] == "doubt"
    assert summary.verdict == "suspect"
    assert "tpot_s.p50" in next(f.text for f in summary.findings if f.code == "drifting")


@pytest.mark.parametrize(("by", "at"), [(0.15, 20.0), (0.15, 40.0), (-0.15, 40.0)])
def test_a_change_of_level_is_an_anomaly_and_the_first_level_is_reported(
    by: float, at: float
) -> None:
    summary = run(Server(slots=16), step(by, at), 2)
    found = summary.points[0]

    assert verdict(found) == "anomaly"
    assert codes(summary)["anomaly"] == "doubt"
    assert found.window is not None
    assert found.window.end_at_ns / 1e9 == pytest.approx(at - 3, abs=4)
    assert found.measures["tpot_s.p50"].value == pytest.approx(0.04, rel=0.02)


def test_a_point_too_short_to_judge_says_so_once_and_without_a_doubt() -> None:
    calls = closed_loop(1, 12) + closed_loop(2, 6, point=1)

    summary = summarise(recording(calls, ["closed:1", "closed:2"]))

    assert codes(summary)["steadiness_unknown"] == "note"
    assert [f.code for f in summary.findings].count("steadiness_unknown") == 1
    assert "c=1, c=2 (11 requests in the window, 80 are needed)" in next(
        f.text for f in summary.findings if f.code == "steadiness_unknown"
    )


def test_strict_doubts_what_quick_only_notes() -> None:
    short = Server(slots=2, lasts_s=4)

    strict, quick = run(short, level, 1, "strict"), run(short, level, 1)

    assert codes(strict)["steadiness_unknown"] == "doubt"
    assert codes(strict)["floor_missed"] == "doubt"
    assert "floor_missed" not in codes(quick)
    assert quick.points[0].steady is not None
    assert any(text.endswith("of 600 s") for text in quick.points[0].steady.floors_missed)


def test_a_window_of_ten_minutes_meets_the_strict_floor() -> None:
    long = Server(slots=4, lasts_s=620, tpot_s=0.1, mean_tok=20, ttft_s=0.2)

    summary = run(long, level, 5, "strict")

    assert summary.points[0].steady is not None
    assert summary.points[0].steady.floors_missed == ()
    assert "floor_missed" not in codes(summary)


def test_scatter_of_the_blocks_raises_the_strict_floor() -> None:
    rough = Server(slots=2, lasts_s=60, scatter=0.5)
    found = point(rough, level, 1).steady

    assert found is not None
    assert any("blocks of" in text for text in found.floors_missed)


def test_a_level_run_too_short_for_its_scatter_is_noted_without_asking_for_strict() -> None:
    rough = run(Server(slots=2, lasts_s=60, scatter=0.5), level, 1)

    assert verdict(rough.points[0]) == "steady"
    assert codes(rough)["below_strict"] == "note"
    said = next(one.text for one in rough.findings if one.code == "below_strict")
    assert "blocks of" in said
    assert "600 s" not in said
    strict = run(Server(slots=2, lasts_s=60, scatter=0.5), level, 1, "strict")
    assert "below_strict" not in codes(strict)


def test_the_blocks_can_be_drawn_and_stored() -> None:
    found = point(Server(slots=16), warming(12, 1.4, sudden=True), 1)
    steady = found.steady

    assert steady is not None
    assert found.window is not None
    n = len(steady.block_edges_ns) - 1
    assert {len(one.values) for one in steady.series} == {n}
    assert steady.block_edges_ns[steady.judged_from] == pytest.approx(
        found.window.start_at_ns, abs=2
    )
    assert steady.block_edges_ns[-1] == found.window.end_at_ns == steady.plateau_end_at_ns
    assert steady.judged_from > 0
    assert [one.name for one in steady.series if one.weighs] == [
        "tpot_s.p50", "tpot_s.p90", "out_tps",
    ]  # fmt: skip
    assert msgspec.json.decode(msgspec.json.encode(found), type=PointSummary) == found


def test_an_open_load_over_capacity_drifts_by_its_requests_in_flight() -> None:
    table = served(Server(slots=16), level, 1)
    order = np.argsort(table.due_at_ns, kind="stable")
    earlier = table.due_at_ns[order] // 2
    queued = replace(table, due_at_ns=earlier, sent_at_ns=earlier, written_at_ns=earlier)
    open_run = replace(recording([], "poisson:rate=30/s"), table=queued)

    summary = summarise(open_run)

    steady = summary.points[0].steady
    assert steady is not None
    assert steady.verdict == "drifting_up"
    assert "in_flight rises" in steady.reason


def test_a_series_of_few_or_empty_blocks_is_not_judged() -> None:
    assert judge_series(np.arange(7.0), MATERIAL).verdict == "not_found"
    assert judge_series(np.full(20, np.nan), MATERIAL).verdict == "not_found"
    assert judge_series(np.zeros(20), MATERIAL).verdict == "not_found"


def test_a_sure_but_tiny_trend_is_no_drift() -> None:
    assert judge_series(100 + 0.1 * np.arange(30.0), MATERIAL).verdict == "steady"
    assert judge_series(100 + 0.3 * np.arange(30.0), MATERIAL).verdict == "drifting_up"


def test_a_few_blocks_show_a_plain_step() -> None:
    noise = np.random.default_rng(1).normal(0, 0.5, 10)
    found = judge_series(100 + noise + np.where(np.arange(10) < 5, 0, 10), MATERIAL)

    assert found.verdict == "anomaly"
    assert found.at == 5
    assert found.change_frac == pytest.approx(0.1, abs=0.02)


def test_a_warm_up_under_a_twentieth_is_left_in() -> None:
    noise = np.random.default_rng(2).normal(0, 0.1, 200)
    small = 100 + noise + np.where(np.arange(200) < 40, 3.0, 0.0)
    large = 100 + noise + np.where(np.arange(200) < 40, 8.0, 0.0)

    assert warmup_ends([small]) == 0
    assert warmup_ends([small, large]) == pytest.approx(40, abs=5)
    assert warmup_ends([]) == 0
