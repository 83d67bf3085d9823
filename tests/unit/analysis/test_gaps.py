import math
from dataclasses import replace

import numpy as np
import pytest

from loadgen.analysis import request_metrics, summarise
from loadgen.analysis.gaps import icl_s, itl_s
from loadgen.analysis.requests import Requests
from loadgen.model.summary import PointSummary
from tests.tables import Call, call, codes, recording, table


def of(one: Call) -> dict[str, float]:
    return {name: float(column[0]) for name, column in request_metrics(table([one])).items()}


def point(calls: list[Call]) -> PointSummary:
    return summarise(recording(calls, "closed:1")).points[0]


def test_the_first_token_time_is_no_gap() -> None:
    one = call(0, [(1000, "c"), (1020, "c"), (1040, "c")], usage=3)

    assert icl_s(Requests(table([one]))).values.tolist() == pytest.approx([0.02, 0.02])
    assert point([one]).whole["itl_s.mean"].value == pytest.approx(0.02)


def test_gaps_do_not_cross_from_one_request_to_the_next() -> None:
    calls = [call(0, [(10, "c"), (30, "c")]), call(100, [(110, "c"), (130, "c")])]

    assert icl_s(Requests(table(calls))).values.tolist() == pytest.approx([0.02, 0.02])


def test_itl_and_tpot_agree_where_each_event_holds_one_token() -> None:
    figures = point([call(0, [(100 + 20 * i, "c") for i in range(10)], usage=10)]).whole

    assert figures["icl_s.mean"].n == 9
    assert figures["itl_s.mean"].value == pytest.approx(figures["tpot_s.mean"].value)


def test_events_of_four_tokens_have_a_token_gap_and_a_chunk_gap() -> None:
    one = call(0, [(100 + 40 * i, "c", 4) for i in range(25)], usage=100)

    figures = point([one]).whole

    assert figures["itl_s.mean"].value == pytest.approx(0.010)
    assert figures["itl_s.p50"].value == pytest.approx(0.010)
    assert figures["icl_s.mean"].value == pytest.approx(0.040)
    assert figures["tok_per_event.mean"].value == pytest.approx(4)
    assert figures["tpot_s.mean"].value == pytest.approx(0.010)


def test_the_peak_rate_is_never_under_the_average() -> None:
    calls = [
        call(1000 * j, [(1000 * j + 40 * (i + 1), "c", 4) for i in range(24)], usage=96)
        for j in range(20)
    ]
    for figures in (point(calls).whole, point(calls).measures):
        peak, mean = figures["out_peak_tps"].value, figures["out_tps"].value
        assert peak is not None
        assert mean is not None
        assert peak >= mean * (1 - 1e-9)


def test_gaps_inside_one_read_are_zero_and_never_a_speed() -> None:
    together: list[tuple[float, str]] = [(100, "c"), (100, "c")]
    spaced: list[tuple[float, str]] = [(120 + 20 * i, "c") for i in range(8)]
    one = call(0, [(100, "o"), *together, *spaced], usage=10, multi_reads=1, reads=9)

    figures = of(one)
    summary = summarise(recording([one], "closed:1"))

    assert icl_s(Requests(table([one]))).values[0] == 0
    assert figures["tpot_s"] == pytest.approx(0.160 / 9)
    assert "1 read brought several events" in next(
        f.text for f in summary.findings if f.code == "coalesced"
    )


def test_an_answer_in_one_write_keeps_its_request_and_loses_its_rate() -> None:
    one = call(0, [(100, "c")] * 20, usage=20, reads=1, multi_reads=1)

    figures = of(one)
    summary = summarise(recording([one], "closed:1"))

    assert math.isnan(figures["tpot_s"])
    assert math.isnan(figures["intvty_tps"])
    assert figures["output_tok"] == 20
    assert "1 answer came at one instant" in next(
        f.text for f in summary.findings if f.code == "coalesced"
    )
    assert summary.points[0].counts.outcomes == {"ok": 1}


def test_time_of_an_event_without_tokens_of_its_own_goes_to_the_next() -> None:
    one = call(0, [(100, "c", 1), (120, "c", 2), (140, "c", 0), (160, "c", 3)], usage=6)

    pool = itl_s(Requests(table([one])))

    assert pool.values.tolist() == pytest.approx([0.01, 0.04 / 3])
    assert pool.weights is not None
    assert pool.weights.tolist() == [2, 3]


def test_a_stall_survives_where_the_mean_hides_it() -> None:
    at = np.arange(1000) * 10.0 + 100
    at[500:] += 2000
    one = call(0, [(t, "c") for t in at.tolist()], usage=1000)

    figures = of(one)

    assert figures["tpot_s"] < 0.0121
    assert figures["stall_s"] == pytest.approx(2.010)
    assert figures["stall_frac"] == pytest.approx(2.010 / 11.99)


def test_a_buffering_proxy_takes_latency_away_and_leaves_throughput() -> None:
    lumps = [(2000 + 0.001 * i, "c") for i in range(64)]
    calls = [
        call(2001 * j, [(2001 * j + at, kind) for at, kind in lumps], usage=64, reads=4)
        for j in range(20)
    ]

    summary = summarise(recording(calls, "closed:1"))
    figures = summary.points[0].measures

    for name in ("tpot_s.p50", "itl_s.mean", "ttft_s.p50", "intvty_tps.p50", "decode_tps_single"):
        assert figures[name].value is None
        assert figures[name].reason == "not_measurable: buffered"
    assert figures["e2e_s.p50"].value == pytest.approx(2.0, rel=0.01)
    assert figures["out_tps"].value == pytest.approx(64 / 2.001, rel=0.01)
    assert codes(summary)["buffered"] == "doubt"


def test_blocks_of_a_proxy_that_flushes_now_and_then_are_seen_too() -> None:
    events = [(1000 + 500 * block, "c") for block in range(4) for _ in range(20)]
    one = call(0, events, usage=80, reads=4, multi_reads=4)

    assert bool(Requests(table([one])).buffered[0])


@pytest.mark.parametrize(
    ("counts", "piles"),
    [
        ([4, 4, 5, 4, 5] * 4, True),  # nginx: blocks of 4 KiB cut through events of 925 bytes
        ([5] * 18, False),  # steps of five tokens, an event each
        ([5, 5, 5, 2, 3] * 4, False),  # the same, now and then cut in two
        ([3, 5, 1, 4, 2, 5, 4, 3, 5, 5] * 2, False),  # steps of as many tokens as were accepted
    ],
)
def test_few_long_events_a_read_are_buffered_only_where_their_bytes_fill_blocks(
    counts: list[int], piles: bool
) -> None:
    reads = np.repeat(np.arange(len(counts)), counts)
    events = [(1000 + 100.0 * int(read), "c") for read in reads]
    size = {"received_bytes": 925 * len(events)}
    one = call(0, events, usage=len(events), reads=len(counts), columns=size)
    made = replace(table([one]), event_read_no=reads.astype(np.int32))

    assert bool(Requests(made).buffered[0]) is piles


def test_a_long_prefill_before_quick_tokens_is_no_buffering() -> None:
    one = call(0, [(60_000 + 5 * i, "c") for i in range(64)], usage=64)

    assert not Requests(table([one])).buffered[0]


def test_speculative_decoding_is_no_buffering() -> None:
    one = call(0, [(100 + 30 * i, "c", 4) for i in range(32)], usage=128)

    assert not Requests(table([one])).buffered[0]
