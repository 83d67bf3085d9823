import pytest

from loadgen.analysis import summarise
from loadgen.model.summary import PointSummary
from tests.tables import Call, call, closed_loop, recording, stream


def point(calls: list[Call], load: str = "closed:1", **given: object) -> PointSummary:
    return summarise(recording(calls, load, **given)).points[0]  # type: ignore[arg-type]


def test_prompt_tokens_are_counted_once() -> None:
    calls = [stream(1000 * i, 20, 20, 50, prompt=100) for i in range(10)]

    figures = point(calls).whole

    assert figures["out_tps"].value == pytest.approx(500 / 10, rel=1e-6)
    assert figures["total_tps"].value == pytest.approx(150, rel=1e-6)
    assert figures["in_out_ratio"].value == pytest.approx(2)


def test_latencies_are_of_the_good_ones_and_failures_have_their_own_time() -> None:
    good = [stream(0, 100, 9.0909, 100, done=1000), stream(0, 100, 9.0909, 100, done=1000)]
    bad = call(0, [], outcome="timeout_total", done=60_000, status=None)

    figures = point([*good, bad], "closed:3").whole

    assert figures["e2e_s.mean"].value == pytest.approx(1.0, rel=0.001)
    assert figures["e2e_s.mean"].n == 2
    assert figures["fail_s.mean"].value == pytest.approx(60)
    assert figures["error_frac"].value == pytest.approx(1 / 3)


def test_tokens_of_failed_answers_are_in_no_throughput() -> None:
    bad = call(0, [(100, "c"), (200, "c")], outcome="error_in_stream")
    good = stream(0, 100, 100, 10)

    assert point([bad, good], "closed:2").whole["out_tps"].value == pytest.approx(10, rel=1e-6)


def test_a_request_that_was_never_sent_has_no_time_to_failure_and_no_rate() -> None:
    calls = [*closed_loop(1, 4), call(100, [], outcome="dropped", status=None, unsent=True)]

    figures = point(calls).whole

    assert figures["fail_s.mean"].value is None
    assert figures["rps"].n == 4


def test_undefined_ratios_are_none_and_the_report_is_made() -> None:
    calls = closed_loop(1, 8)
    calls[2] = call(calls[2].due, [], outcome="refused", status=None, done=calls[2].due)
    calls[3] = call(calls[3].due, [], usage=0, flags="empty_output", done=calls[3].due + 1)

    figures = point(calls).measures

    assert figures["tpot_s.mean"].n == 5
    assert figures["out_tps"].value is not None


def test_a_run_of_refusals_gives_reasons_instead_of_zero_divisions() -> None:
    calls = [
        call(i, [], outcome="refused", status=None, done=i + 1, unsent=True) for i in range(10)
    ]

    summary = summarise(recording(calls, "closed:1"))

    assert summary.verdict == "invalid"
    assert summary.points[0].whole["error_frac"].value == 1.0
    for measure in summary.points[0].measures.values():
        assert measure.value is not None or measure.reason


def test_cached_tokens_that_nobody_reported_are_unknown_and_not_zero() -> None:
    figures = point(closed_loop(1, 10, prompt=100)).measures

    assert figures["in_tps_total"].value is not None
    assert figures["in_tps_uncached"].value is None
    assert "cached tokens not reported" in figures["in_tps_uncached"].reason
    assert figures["cached_frac"].value is None


def test_cached_tokens_leave_the_uncached_rate() -> None:
    figures = point(closed_loop(1, 10, prompt=100, cached=75)).measures

    total, uncached = figures["in_tps_total"].value, figures["in_tps_uncached"].value
    assert total is not None
    assert uncached == pytest.approx(total / 4)
    assert figures["cached_frac"].value == pytest.approx(0.75)


def test_answers_without_a_stream_are_spread_from_sent_to_end() -> None:
    calls = [call(1000 * i, [(1000 * (i + 1), "c")], usage=50, streamed=False) for i in range(10)]

    summary = summarise(recording(calls, "closed:1"))

    assert summary.points[0].measures["out_tps"].value == pytest.approx(50)
    assert "not_streamed" in {f.code for f in summary.findings}


def test_two_series_tell_a_wait_for_a_slot_from_the_servers_time() -> None:
    calls, free = [], [0.0] * 4
    for i in range(40):
        slot = i % 4
        sent = max(25.0 * i, free[slot])
        free[slot] = sent + 190
        calls.append(stream(25.0 * i, 0, 10, 20, sent=sent))
    late = [
        call(c.due, [((c.sent or 0) + 10 * (j + 1), "c") for j in range(19)], sent=c.sent, usage=19)
        for c in calls
    ]

    summary = summarise(recording(late, "constant:rate=40/s"))
    figures = summary.points[0].measures

    due, sent_at = figures["ttft_s.p50"].value, figures["ttft_send_s.p50"].value
    assert sent_at == pytest.approx(0.01)
    assert due is not None
    assert due > 0.4
    lag = figures["send_lag_s.p50"].value
    assert lag is not None
    assert lag > 0.1
    assert figures["asked_rps"].value == pytest.approx(40, rel=0.1)
    assert summary.points[0].whole["sent_rps"].value == pytest.approx(21, rel=0.05)
    assert "rate_not_reached" in {f.code for f in summary.findings}


def test_totals_add_up_and_errors_have_classes() -> None:
    calls = closed_loop(1, 80)
    end = calls[-1].due + 1000
    calls += [call(end + i, [], outcome="http_error", status=500, done=end + i) for i in range(10)]
    calls += [
        call(end + i, [], outcome="timeout_total", status=None, done=end + 100) for i in range(10)
    ]

    counts = point(calls).counts

    assert counts.issued == sum(counts.outcomes.values()) == 100
    assert counts.outcomes == {"ok": 80, "http_error": 10, "timeout_total": 10}
    assert counts.errors_by_class == {"http_500": 10, "timeout_total": 10}


def test_a_price_gives_dollars_for_a_million_tokens() -> None:
    prices = {"gpu_usd_per_h": 3.6, "gpus": 2}

    figures = point(closed_loop(1, 12, prompt=100), plan={"prices": prices}).measures

    out, total = figures["out_tps"].value, figures["total_tps"].value
    assert out is not None
    assert total is not None
    assert figures["usd_per_1m_out"].value == pytest.approx(0.002 * 1e6 / out)
    assert figures["usd_per_1m_total"].value == pytest.approx(0.002 * 1e6 / total)
    assert point(closed_loop(1, 12)).measures["usd_per_1m_out"].reason == "no price was given"


def test_a_few_cold_outliers_show_in_the_tail_and_not_in_the_median() -> None:
    def calls(n: int) -> list[Call]:
        cold = [call(0, [(100_000, "c")], usage=1) for _ in range(4)]
        return cold + [
            call(100_000 + 1000 * i, [(101_000 + 1000 * i, "c")], usage=1) for i in range(n)
        ]

    few, many = point(calls(4)).whole, point(calls(36)).whole

    assert few["ttft_s.p50"].value == pytest.approx(1.0)
    assert many["ttft_s.p50"].value == pytest.approx(1.0)
    assert few["ttft_s.max"].value == many["ttft_s.max"].value == pytest.approx(100)
    assert many["ttft_s.mean"].n == 40


def test_a_long_window_carries_an_interval_round_its_own_rate() -> None:
    measure = point(closed_loop(2, 40), "closed:2").measures["out_tps"]

    assert measure.value is not None
    assert measure.low is not None
    assert measure.high is not None
    assert measure.low <= measure.value <= measure.high
    assert "batch means" in measure.interval


def test_a_short_window_has_a_rate_without_an_interval() -> None:
    measure = point(closed_loop(2, 8), "closed:2").measures["out_tps"]

    assert measure.value is not None
    assert measure.low is None
