"""Each rule of the catalogue on numbers that fit and numbers that don't."""

import msgspec
import pytest

from loadgen.audit import audit
from loadgen.audit.printed import read_number, read_seconds
from loadgen.errors import InputError
from loadgen.model.claim import Claim

BASE = {
    "id": "c",
    "text": "t",
    "sources": [{"id": "s", "locator": "here"}],
    "value": {"num": 100, "unit": "tok/s"},
}


def verdicts(rule: str, statement: dict[str, object], **members: object) -> list[str]:
    claim = msgspec.convert({**BASE, **members, "statements": [statement]}, Claim)
    return [ruling.verdict for ruling in audit(claim).rulings if ruling.rule == rule]


@pytest.mark.parametrize(
    ("statement", "verdict"),
    [
        ({"rule": "A1", "rate": 10, "seconds": 3600, "total": "36,000"}, "ok"),
        ({"rule": "A1", "rate": 10, "seconds": 3600, "total": "40,000"}, "contradiction"),
        ({"rule": "A2", "before": 100, "after": 150, "percent": "50 %"}, "ok"),
        ({"rule": "A2", "before": 100, "after": 150, "percent": "60 %"}, "contradiction"),
        ({"rule": "A2", "before": 10, "after": 5, "percent": "-200 %"}, "contradiction"),
        ({"rule": "A3", "tps_per_gpu": 1000, "usd_per_mtok": "$0.56", "usd_per_gpu_h": "2.00"},
         "ok"),
        ({"rule": "A3", "tps_per_gpu": 1000, "usd_per_mtok": "$0.46", "usd_per_gpu_h": "2.00"},
         "contradiction"),
        ({"rule": "A4", "per_gpu": 10, "gpus": 72, "system": 720}, "ok"),
        ({"rule": "A4", "per_gpu": 10, "gpus": 72, "system": 10000}, "contradiction"),
        ({"rule": "A5", "tpot_s": 0.02, "tps_per_user": 50}, "ok"),
        ({"rule": "A5", "tpot_s": 0.02, "tps_per_user": 90}, "contradiction"),
        ({"rule": "A5", "tpot_s": 0.02, "tps_per_user": 50, "tpot_statistic": "mean"}, "warn"),
        ({"rule": "A6", "ttft_s": 0.5, "tpot_s": 0.01, "output_tok": 101, "e2e_s": 1.5}, "ok"),
        ({"rule": "A6", "ttft_s": 0.5, "tpot_s": 0.01, "output_tok": 101, "e2e_s": 1.7}, "warn"),
        ({"rule": "A6", "ttft_s": 0.5, "tpot_s": 0.01, "output_tok": 101, "e2e_s": 5.5},
         "contradiction"),
        ({"rule": "A7", "concurrency": 64, "rate_rps": 8, "e2e_s": 8.0}, "ok"),
        ({"rule": "A7", "concurrency": 64, "rate_rps": 8, "e2e_s": 2.0}, "contradiction"),
        ({"rule": "A8", "per_stream_tps": 50, "concurrency": 10, "aggregate_tps": 490}, "ok"),
        ({"rule": "A8", "per_stream_tps": 50, "concurrency": 10, "aggregate_tps": 900},
         "contradiction"),
        ({"rule": "A9", "peak": 100}, "warn"),
        ({"rule": "A9", "peak": 100, "at": 120}, "contradiction"),
        ({"rule": "A10", "rows": [{"per_user_tps": 50, "tps_per_gpu": 10},
                                  {"per_user_tps": 100, "tps_per_gpu": 20}]}, "contradiction"),
        ({"rule": "A11", "says": 2, "listed": ["a", "b"]}, "ok"),
        ({"rule": "P5", "watts": 1000, "tps": 500, "joules_per_tok": 2}, "ok"),
        ({"rule": "P5", "watts": 1000, "tps": 500, "joules_per_tok": 5}, "contradiction"),
    ],
)  # fmt: skip
def test_a_rule_judges_its_statement(statement: dict[str, object], verdict: str) -> None:
    assert verdict in verdicts(str(statement["rule"]), statement)


def test_kilowatts_for_watts_are_named_as_the_slip() -> None:
    statement = {"rule": "P5", "watts": 1.0, "tps": "500", "joules_per_tok": "2"}
    assert verdicts("P7", statement) == ["contradiction"]


def test_a_part_left_out_of_the_denominator_is_told() -> None:
    statement = {"rule": "A4", "per_gpu": 10, "gpus": 8, "system": 80, "leaves_out": "prefill"}
    assert verdicts("A4", statement) == ["ok", "warn"]


def test_weights_that_dont_fit_contradict() -> None:
    facts = {
        "hw": {"v": {"gpu": "H100", "gpus_used": 1}, "status": "stated"},
        "params_total_b": {"v": 671, "status": "stated"},
        "precision": {"v": "FP8", "status": "stated"},
    }
    statement: dict[str, object] = {"rule": "A11", "says": 1, "listed": ["a"]}
    assert verdicts("P4", statement, facts=facts) == ["contradiction"]


def test_wording_alone_is_no_contradiction() -> None:
    claim = msgspec.convert(
        {**BASE, "value": {"num": 5, "unit": "tok/s", "statistic": "p99"}}, Claim
    )
    result = audit(claim)
    assert {"S2", "S6"} <= {ruling.rule for ruling in result.rulings}
    assert result.consistency == "ok"


@pytest.mark.parametrize(
    ("printed", "low", "high"),
    [("73,744", 73743.5, 73744.5), ("$0.007", 0.0065, 0.0075), ("1.0", 0.95, 1.05),
     (848, 847.5, 848.5), ("1 million", 500_000, 1_500_000), ("2.5k", 2450, 2550)],
)  # fmt: skip
def test_a_printed_number_spans_what_rounds_to_it(
    printed: str | int, low: float, high: float
) -> None:
    number = read_number(printed)
    assert (number.low, number.high) == pytest.approx((low, high))


def test_a_printed_duration_keeps_its_unit() -> None:
    number, unit = read_seconds("0.3 ms")
    assert unit == "ms"
    assert (number.low, number.high) == pytest.approx((0.25e-3, 0.35e-3))


@pytest.mark.parametrize("text", ["fast", "12", "3 parsecs"])
def test_a_duration_without_number_or_unit_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=text):
        read_seconds(text)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [("params_total_b", "many", "a number above 0"), ("params_total_b", -1, "a number above 0"),
     ("precision", "int3", "one of fp4, fp8, bf16"),
     ("hw", {"gpu": "H100", "gpus_used": 0.5}, "whole")],
)  # fmt: skip
def test_a_fact_that_cant_be_is_refused_with_its_path(
    name: str, value: object, expected: str
) -> None:
    facts = {name: {"v": value, "status": "stated"}}
    with pytest.raises(InputError, match=expected) as refused:
        audit(msgspec.convert({**BASE, "facts": facts}, Claim))
    assert f"$.facts.{name}.v" in str(refused.value)
