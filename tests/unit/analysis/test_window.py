import pytest

from loadgen.analysis import summarise
from loadgen.analysis.requests import Requests
from loadgen.analysis.window import plateau, slots_of
from tests.tables import Call, call, closed_loop, codes, ns, recording, stream, table
from tests.unit.analysis.step_loop import simulate


@pytest.mark.parametrize("slots", [16, 64])
def test_throughput_of_ten_requests_a_slot_is_that_of_the_long_run(slots: int) -> None:
    """Single runs scatter by 1 % (they draw other lengths); four together leave no bias."""
    truth = simulate(slots, 120 * slots, seed=1, keep=False).second_half_tps
    inside, whole = [], []
    for seed in (2, 3, 4, 5):
        calls = simulate(slots, 10 * slots, seed).calls()
        point = summarise(recording(calls, f"closed:{slots}")).points[0]
        inside.append((point.measures["out_tps"].value or 0) / truth)
        whole.append((point.whole["out_tps"].value or 0) / truth)

    assert sum(inside) / 4 == pytest.approx(1, abs=0.01)
    assert all(one == pytest.approx(1, abs=0.03) for one in inside)
    assert sum(one == pytest.approx(1, abs=0.02) for one in inside) >= 3
    assert max(whole) < 0.95


def test_throughput_of_ten_requests_a_slot_holds_at_256_slots() -> None:
    truth = simulate(256, 12_000, seed=1, keep=False).second_half_tps

    point = summarise(recording(simulate(256, 2560, 2).calls(), "closed:256")).points[0]

    assert (point.measures["out_tps"].value or 0) / truth == pytest.approx(1, abs=0.02)
    assert (point.whole["out_tps"].value or 0) / truth < 0.95


def test_a_long_last_answer_leaves_the_plateau_rate_alone() -> None:
    calls = [stream(1000 * wave, 10, 10, 100) for wave in range(9) for _ in range(10)]
    calls += [stream(9000, 10, 10, 100) for _ in range(9)] + [stream(9000, 10, 10, 2100)]
    calls[-1] = call(9000, [(9000 + 10 * (i + 1), "c") for i in range(2100)], usage=2100)

    point = summarise(recording(calls, "closed:10")).points[0]

    assert point.measures["out_tps"].value == pytest.approx(1000, rel=0.01)
    assert point.whole["out_tps"].value == pytest.approx(12_000 / 30, rel=0.01)
    assert point.window is not None
    assert (point.window.end_at_ns - point.window.start_at_ns) >= ns(7_900)


def test_answers_cut_by_the_time_limit_count_with_the_tokens_that_came() -> None:
    first = [stream(0, 100, 100, 500) for _ in range(10)]
    cut = [
        call(50_000, [(50_000 + 100 * (i + 1), "c") for i in range(100)], outcome="unfinished")
        for _ in range(10)
    ]

    point = summarise(recording(first + cut, "closed:10")).points[0]

    assert point.whole["out_tps"].value == pytest.approx(6000 / 60, rel=0.001)


def test_late_finishers_count_by_the_arrival_of_their_tokens() -> None:
    early = [stream(0, 290, 290, 100) for _ in range(5)]
    late = [stream(0, 450, 450, 100) for _ in range(5)]
    ticks = [stream(i * 1000, 500, 1, 1) for i in range(31)]
    point = summarise(recording(early + late + ticks, "constant:rate=1/s")).points[0]
    window = point.window
    assert window is not None
    inside = [
        event[0]
        for one in early + late + ticks
        for event in one.events
        if window.start_at_ns <= ns(event[0]) < window.end_at_ns
    ]
    span_s = (window.end_at_ns - window.start_at_ns) / 1e9

    assert point.measures["out_tps"].value == pytest.approx(len(inside) / span_s)


def test_hand_over_from_the_warmup_leaves_no_burst_of_prefills_in_the_figures() -> None:
    calls: list[Call] = []
    for slot in range(16):
        at = 0.0
        for turn in range(11):
            ttft = 50.0 * (slot + 1) if turn == 0 else 50.0
            phase = "warmup" if turn == 0 else "window"
            calls.append(stream(at, ttft, 20, 100, phase=phase))
            at += ttft + 1980

    summary = summarise(recording(calls, "closed:16"))

    point = summary.points[0]
    assert point.measures["ttft_s.max"].value == pytest.approx(0.05)
    assert point.whole["ttft_s.max"].value == pytest.approx(0.8)
    assert point.counts.warmup == 16
    assert point.counts.issued == 160
    assert codes(summary)["first_wave_cold"] == "note"


def test_samples_begin_after_the_warmup() -> None:
    warm = [stream(i * 1000, 100, 100, 9, phase="warmup") for i in range(12)]
    rest = [stream(12_000 + i * 1000, 100, 100, 9) for i in range(48)]

    point = summarise(recording(warm + rest, "closed:1")).points[0]

    assert point.window is not None
    assert point.window.start_at_ns >= ns(12_000)
    assert point.measures["ttft_s.p50"].n == 48
    assert point.counts.warmup == 12


def test_single_stream_rate_has_whole_cycles_only() -> None:
    point = summarise(recording(closed_loop(1, 4, ttft=500, gap=10, tokens=51), "closed:1"))

    assert point.points[0].measures["out_tps"].value == pytest.approx(51.0)


def test_without_a_plateau_figures_are_of_the_whole_point_and_say_so() -> None:
    calls = [stream(0, 50, 10, 10) for _ in range(3)]

    summary = summarise(recording(calls, "closed:8"))

    assert summary.points[0].window is None
    assert codes(summary)["no_plateau"] == "doubt"
    assert summary.points[0].measures["ttft_s.max"].value == pytest.approx(0.05)


def test_warmup_stays_out_of_figures_without_a_plateau() -> None:
    calls = [stream(0, 4000, 10, 10, phase="warmup"), stream(5000, 50, 10, 10)]

    point = summarise(recording(calls, "closed:8")).points[0]

    assert point.measures["ttft_s.max"].value == pytest.approx(0.05)
    assert point.measures["ttft_s.max"].n == 1


def test_a_slow_first_token_of_one_slot_delays_the_window() -> None:
    calls = [stream(0, 3000, 10, 10), *(stream(500 * i, 50, 10, 46) for i in range(12))]

    window = plateau(Requests(table(calls)), "closed:2")

    assert window is not None
    assert window.start_at_ns >= ns(3000)


@pytest.mark.parametrize(
    ("load", "slots"),
    [
        ("closed:16", 16),
        ("closed:16,think=2s", 16),
        ("closed:slots=4", 4),
        ("poisson:rate=4/s", None),
    ],
)
def test_concurrency_is_read_from_the_load(load: str, slots: int | None) -> None:
    assert slots_of(load) == slots
