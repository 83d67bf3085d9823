from typing import Any

import pytest
from msgspec.structs import replace

from loadgen.analysis import summarise
from loadgen.analysis.comparison.gates import checked, gates_of, parse_gates, regressions
from loadgen.analysis.comparison.goodput import goodput_of
from loadgen.model.comparison import GateResult, ReviewedRun
from loadgen.model.summary import Measure
from loadgen.specs.gates import Limit
from tests.reviewed import Figure, measure, run, runs
from tests.tables import Call, closed_loop, recording, stream

NOTHING = recording([])


def held(text: str, told: ReviewedRun, *, sure: bool = False) -> list[GateResult]:
    return list(gates_of(parse_gates([text]), "run", told.summary, NOTHING, sure=sure))


def one(text: str, key: str, figure: Figure, *, sure: bool = False) -> GateResult:
    (result,) = held(text, run({"closed:1": {key: figure}}), sure=sure)
    return result


@pytest.mark.parametrize(
    ("figure", "status", "is_sure"),
    [
        ((0.3, 0.2, 0.4), "pass", True),
        ((0.3, 0.2, 0.6), "pass", False),
        (0.3, "pass", False),
        ((0.6, 0.55, 0.7), "fail", True),
        ((0.6, 0.4, 0.7), "fail", False),
        (None, "unknown", False),
    ],
)
def test_the_value_decides_and_the_interval_says_how_surely(
    figure: Figure, status: str, is_sure: bool
) -> None:
    result = one("ttft.p99<500ms", "ttft_s.p99", figure)
    assert (result.status, result.sure) == (status, is_sure)


def test_a_sure_pass_needs_the_whole_interval() -> None:
    assert one("ttft.p99<500ms", "ttft_s.p99", (0.3, 0.2, 0.6), sure=True).status == "unknown"
    assert one("ttft.p99<500ms", "ttft_s.p99", 0.3, sure=True).status == "unknown"
    assert one("ttft.p99<500ms", "ttft_s.p99", (0.3, 0.2, 0.4), sure=True).status == "pass"
    assert one("ttft.p99<500ms", "ttft_s.p99", (0.6, 0.4, 0.7), sure=True).status == "fail"


def test_a_certified_bound_makes_sure() -> None:
    told = run({"closed:1": {}})
    certain = replace(measure("ttft_s.p99", 0.3), certified=0.45)
    point = replace(told.summary.points[0], measures={"ttft_s.p99": certain})
    told = replace(told, summary=replace(told.summary, points=(point,)))
    assert held("ttft.p99<500ms", told)[0].sure


def test_unknown_says_why_and_how_many_more_requests_it_takes() -> None:
    told = run({"closed:1": {}})
    few = Measure("ttft_s", "p99", "s", "lower", None, 48, reason="n=48 < 299", needs_more=251)
    point = replace(told.summary.points[0], measures={"ttft_s.p99": few})
    told = replace(told, summary=replace(told.summary, points=(point,)))
    assert held("ttft.p99<1", told)[0].text == "n=48 < 299; 251 more requests would give it"


def test_every_point_is_asked_unless_one_load_is_named() -> None:
    told = run({"closed:1": {"out_tps": 100.0}, "closed:8": {"out_tps": 500.0}})
    assert [r.status for r in held("out_tps>=300", told)] == ["fail", "pass"]
    assert [r.point for r in held("out_tps>=300 @c=8", told)] == ["closed:8"]
    (missing,) = held("out_tps>=300 @c=2", told)
    assert missing.status == "unknown"
    assert "closed:1, closed:8" in missing.text


def test_the_worst_status_is_that_of_the_check() -> None:
    results = [one("out_tps>1", "out_tps", value) for value in (2.0, None, 0.5)]
    assert checked(results).status == "fail"
    assert checked(results[:2]).status == "unknown"
    assert checked(results[:1]).status == "pass"


QUIET = [100.0, 100.4, 99.7, 100.2, 99.8]


@pytest.mark.parametrize(
    ("times", "status"), [(1.0, "pass"), (1.2, "pass"), (0.99, "pass"), (0.9, "fail")]
)
def test_what_got_slower_for_certain_fails(times: float, status: str) -> None:
    new = runs("out_tps", [value * times for value in QUIET], first_s=50)
    (result,) = regressions(runs("out_tps", QUIET), new, {"": 0.03})
    assert result.status == status


def test_a_difference_within_the_noise_is_unknown_and_says_how_many_runs_would_tell() -> None:
    noisy = [90.0, 110.0, 100.0]
    (result,) = regressions(runs("out_tps", noisy), runs("out_tps", noisy, first_s=50), {"": 0.03})
    assert result.status == "unknown"
    assert "more runs a side would tell" in result.text


def test_a_time_that_grows_is_a_regression() -> None:
    base, new = runs("tpot_s.p50", [0.010, 0.01001, 0.00999]), runs("tpot_s.p50", [0.02] * 3)
    (result,) = regressions(base, new, {"": 0.03})
    assert result.status == "fail"
    (back,) = regressions(new, base, {"": 0.03})
    assert back.status == "pass"


def test_unlike_runs_are_unknown_even_where_they_look_slower() -> None:
    fast, slow = {"out_tps": (100.0, 99.0, 101.0)}, {"out_tps": (50.0, 49.0, 51.0)}
    sides: list[Any] = [[run({"c": fast})], [run({"c": slow}, workload="other")]]
    (result,) = regressions(sides[0], sides[1], {"": 0.03})
    assert result.status == "unknown"
    assert "workload" in result.text


def test_figures_that_are_named_are_held_too_and_no_common_point_is_unknown() -> None:
    told = run({"c": {"e2e_s.p90": (1.0, 0.99, 1.01)}})
    (result,) = regressions([told], [told], {"": 0.03, "e2e_s.p90": 0.1})
    assert (result.gate, result.status) == ("e2e_s.p90 not 10% worse", "pass")
    (nothing,) = regressions([told], [run({"d": {}})], {"": 0.03})
    assert nothing.status == "unknown"


def goodput(calls: list[Call], *limits: Limit) -> tuple[float | None, float | None]:
    told = recording(calls, "closed:2")
    rate, share = goodput_of(told, summarise(told).points[0], limits)
    return rate.value, share.value


FIRST = Limit("ttft_s", "<", 0.1, "s")


def test_every_request_that_meets_its_limits_counts_once() -> None:
    calls = closed_loop(2, 20, ttft=50, gap=10, tokens=20)
    assert goodput(calls, FIRST)[1] == 1.0
    rate, share = goodput(calls, FIRST, Limit("tpot_s", "<", 0.009, "s"))
    assert (rate, share) == (0.0, 0.0)


def test_slow_and_failed_requests_are_attempted_and_not_good() -> None:
    calls = closed_loop(2, 20, ttft=50, gap=10, tokens=20)
    failed = [stream(500.0 + n, 50, 10, 20, outcome="truncated") for n in range(10)]
    slow = [stream(700.0 + n, 300, 10, 20) for n in range(10)]
    _, share = goodput([*calls, *failed], FIRST)
    assert share is not None
    assert share < 1.0
    _, less = goodput([*calls, *failed, *slow], FIRST)
    assert less is not None
    assert less < share


def test_an_answer_of_one_token_has_no_pace_to_miss() -> None:
    calls = closed_loop(2, 20, ttft=50, gap=0, tokens=1)
    assert goodput(calls, FIRST, Limit("tpot_s", "<", 0.001, "s"))[1] == 1.0
