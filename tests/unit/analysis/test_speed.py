import math

import pytest

from loadgen.analysis import request_metrics, summarise
from loadgen.analysis.requests import Requests
from tests.tables import Call, call, closed_loop, recording, stream, table


def of(one: Call) -> dict[str, float]:
    return {name: float(column[0]) for name, column in request_metrics(table([one])).items()}


def test_time_per_token_and_end_to_end_per_token_have_their_own_names() -> None:
    figures = of(call(0, [(1000 + 20 * i, "c") for i in range(11)], usage=11))

    assert figures["tpot_s"] == pytest.approx(0.020)
    assert figures["tpot_norm_s"] == pytest.approx(1.2 / 11)
    assert figures["e2e_tps"] == pytest.approx(11 / 1.2)


def test_running_usage_is_a_total_and_not_a_sum() -> None:
    one = call(0, [(10, "c", 1), (20, "c", 2), (30, "c", 0), (40, "c", 3)], usage=6)

    assert of(one)["output_tok"] == 6
    assert Requests(table([one])).event_tok.tolist() == [1, 2, 0, 3]


def test_unknown_events_share_the_servers_count_after_a_first_of_one() -> None:
    one = call(0, [(120, "r"), (140, "r"), (200, "c"), (260, "c"), (320, "c")], usage=8)

    assert Requests(table([one])).event_tok.tolist() == pytest.approx([1, 1.75, 1.75, 1.75, 1.75])


def test_event_tokens_add_up_to_the_servers_count_even_when_it_is_the_smaller() -> None:
    calls = [
        call(0, [(10 + i, "c") for i in range(7)], usage=8),
        call(0, [(10 + i, "c") for i in range(7)], usage=4),
        call(0, [(10, "c")], usage=5),
        call(0, [(10, "c", 2), (20, "c", 3)], usage=6),
    ]
    requests = Requests(table(calls))

    for row, wanted in enumerate((8, 4, 5, 6)):
        assert requests.event_tok[requests.event_row == row].sum() == pytest.approx(wanted)


def test_counted_tokens_of_the_first_event_are_left_out_of_the_time_per_token() -> None:
    one = call(0, [(100, "c", 4), (140, "c", 4), (180, "c", 4)], usage=12)

    assert of(one)["tpot_s"] == pytest.approx(0.080 / 8)


@pytest.mark.parametrize(
    "one",
    [
        call(0, [(100, "c")], usage=1),
        call(0, [(100, "c"), (200, "o")], usage=0),
        call(0, [(100, "c"), (150, "c")], usage=1),
        call(0, [(100, "c"), (150, "c")], usage=2, outcome="truncated"),
        call(0, [], outcome="refused", status=None, done=3),
        call(0, [], outcome="dropped", unsent=True),
    ],
)
def test_no_speed_is_given_where_it_says_nothing(one: Call) -> None:
    assert math.isnan(of(one)["tpot_s"])
    assert math.isnan(of(one)["intvty_tps"])


def test_interactivity_percentiles_are_the_slow_tail() -> None:
    calls, at = [], 0.0
    for i in range(41):
        gap = 10.0 + i * 17 % 41
        calls.append(stream(at, 50, gap, 11))
        at += 50 + gap * 10
    figures = summarise(recording(calls, "closed:1")).points[0].measures

    for stat in ("p50", "p90"):
        speed, tpot = figures[f"intvty_tps.{stat}"], figures[f"tpot_s.{stat}"]
        assert tpot.value is not None
        assert speed.value == pytest.approx(1 / tpot.value)
        assert tpot.high is not None
        assert speed.low == pytest.approx(1 / tpot.high)
    p50, p90 = figures["intvty_tps.p50"].value, figures["intvty_tps.p90"].value
    assert p50 is not None
    assert p90 is not None
    assert p90 < p50
    assert "intvty_tps.mean" not in figures


def test_single_stream_is_said_of_concurrency_one_only() -> None:
    alone = closed_loop(1, 12, gap=10, point=0)
    four = closed_loop(4, 12, gap=20, point=1)

    one, many = summarise(recording([*alone, *four], ["closed:1", "closed:4"])).points

    assert one.measures["decode_tps_single"].value == pytest.approx(100)
    assert many.measures["decode_tps_single"].value is None
    assert many.measures["kept_frac"].value == pytest.approx(0.5)
    assert one.measures["kept_frac"].value == pytest.approx(1.0)


def test_kept_share_does_not_depend_on_the_order_of_the_points() -> None:
    four = closed_loop(4, 12, gap=20, point=0)
    alone = closed_loop(1, 12, gap=10, point=1)

    points = summarise(recording([*four, *alone], ["closed:4", "closed:1"])).points

    assert [p.measures["kept_frac"].value for p in points] == pytest.approx([0.5, 1.0])
