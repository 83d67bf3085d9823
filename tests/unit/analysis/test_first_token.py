import math

import pytest

from loadgen.analysis import request_metrics, summarise
from tests.tables import Call, call, recording, table


def of(one: Call) -> dict[str, float]:
    """Every per-request metric of one request."""
    return {name: float(column[0]) for name, column in request_metrics(table([one])).items()}


def test_a_role_only_event_does_not_stop_the_clock() -> None:
    figures = of(call(0, [(5, "o"), (300, "c")]))

    assert figures["ttft_s"] == pytest.approx(0.300)
    assert figures["ttfb_s"] == pytest.approx(0.005)


def test_reasoning_stops_the_clock_and_the_answer_has_its_own() -> None:
    thoughts = [(100 + 20 * i, "r") for i in range(51)]

    figures = of(call(0, [*thoughts, (1120, "c"), (1140, "c")], usage=53))

    assert figures["ttft_s"] == pytest.approx(0.100)
    assert figures["ttfr_s"] == pytest.approx(0.100)
    assert figures["ttfa_s"] == pytest.approx(1.120)
    assert figures["tpot_s"] == pytest.approx(0.020)
    assert figures["reasoning_frac"] == pytest.approx(51 / 53)


def test_a_tool_call_is_a_first_token_and_an_answer() -> None:
    figures = of(call(0, [(80, "t"), (90, "t")], usage=2))

    assert figures["ttft_s"] == pytest.approx(0.080)
    assert figures["ttfa_s"] == pytest.approx(0.080)


def test_an_answer_that_never_began_has_no_answer_time() -> None:
    figures = of(call(0, [(80, "r"), (90, "r")], usage=2))

    assert math.isnan(figures["ttfa_s"])


def test_an_empty_answer_is_out_of_the_first_token_statistics_and_counted() -> None:
    calls = [call(0, [(40, "o")], done=41, usage=1, flags="empty_output")]
    calls += [call(100 * (i + 1), [(100 * (i + 1) + 50, "c")], usage=1) for i in range(9)]

    summary = summarise(recording(calls, "closed:1"))
    whole = summary.points[0].whole

    assert whole["ttft_s.mean"].n == 9
    assert whole["ttft_s.mean"].value == pytest.approx(0.05)
    assert math.isnan(of(calls[0])["ttft_s"])
    assert [f.text for f in summary.findings if f.code == "empty_outputs"] == [
        "1 of 10 requests (10.0 %) came without text (no TTFT, no TPOT)"
    ]


def test_running_usage_shows_tokens_before_the_first_visible_text() -> None:
    held = [(100, "o", 1), (120, "o", 1), (140, "o", 1)]

    figures = of(call(0, [*held, (160, "c", 1), (180, "c", 2)], usage=6))

    assert figures["first_token_s"] == pytest.approx(0.100)
    assert figures["ttft_s"] == pytest.approx(0.160)
    assert figures["tpot_s"] == pytest.approx(0.020 / 2)


def test_without_running_usage_the_first_text_is_the_first_evidence() -> None:
    figures = of(call(0, [(100, "o"), (160, "c"), (180, "c")], usage=5))

    assert figures["first_token_s"] == figures["ttft_s"] == pytest.approx(0.160)


def test_the_usage_event_does_not_move_the_first_token() -> None:
    figures = of(call(0, [(100, "c"), (2000, "o")], usage=1))

    assert figures["ttft_s"] == pytest.approx(0.100)
    assert figures["e2e_s"] == pytest.approx(0.100)
    assert figures["done_s"] == pytest.approx(2.0)


def test_time_to_first_token_counts_from_due_and_from_send() -> None:
    figures = of(call(0, [(500, "c")], sent=400))

    assert figures["ttft_s"] == pytest.approx(0.5)
    assert figures["ttft_send_s"] == pytest.approx(0.1)
    assert figures["send_lag_s"] == pytest.approx(0.4)


def test_a_whole_completion_has_no_first_token_but_an_end() -> None:
    figures = of(call(0, [(900, "c")], usage=30, streamed=False))

    assert math.isnan(figures["ttft_s"])
    assert math.isnan(figures["tpot_s"])
    assert figures["e2e_s"] == pytest.approx(0.9)
    assert figures["tpot_norm_s"] == pytest.approx(0.03)


def test_connection_and_tls_are_told_apart_from_the_first_token() -> None:
    figures = of(call(0, [(200, "c")], connect=(1, 51), tls_done=151))

    assert figures["connect_s"] == pytest.approx(0.05)
    assert figures["tls_s"] == pytest.approx(0.1)


def test_prefill_speed_needs_cached_counts_and_a_single_stream() -> None:
    calls = [call(i * 1000, [(i * 1000 + 500, "c")], prompt=1000, usage=1) for i in range(8)]

    unknown = summarise(recording(calls, "closed:1")).points[0].measures["prefill_tps"]
    crowded = summarise(recording(calls, "closed:4")).points[0].measures["prefill_tps"]

    assert (unknown.value, unknown.reason) == (None, "cached tokens not reported")
    assert (crowded.value, crowded.reason) == (None, "only at concurrency 1")
