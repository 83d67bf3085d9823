"""The articles' claims, audited from the shipped files: exact values."""

from pathlib import Path

import pytest

from loadgen.audit import audit
from loadgen.model.claim import AuditResult, Claim, Ruling
from loadgen.specs import load_yaml

CLAIMS = Path(__file__).parents[3] / "workloads" / "claims"


def result_of(name: str) -> AuditResult:
    return audit(load_yaml(CLAIMS / f"{name}.yaml", Claim))


def rulings(result: AuditResult, rule: str) -> list[Ruling]:
    return [ruling for ruling in result.rulings if ruling.rule == rule]


def told(result: AuditResult, rule: str) -> str:
    return "\n".join(ruling.text for ruling in rulings(result, rule))


def test_848_tokens_a_second_make_the_hours_days_and_answers_that_were_printed() -> None:
    result = result_of("dsv41-flash-gb300-848")
    text = told(result, "A1")
    assert "3,052,800 tokens an hour" in text
    assert "73,267,200 tokens a day" in text
    assert "146,534.4 answers of 500" in text
    assert "73,267.2 answers of 1,000" in text
    assert {ruling.verdict for ruling in rulings(result, "A1")} == {"ok"}


def test_596_to_848_is_252_more_or_42_3_percent() -> None:
    result = result_of("dsv41-flash-gb300-848")
    assert [(ruling.verdict, ruling.text) for ruling in rulings(result, "A2")] == [
        ("ok", "596 to 848 is +252"),
        ("note", "596 to 848 is +42.3 %"),
    ]


def test_the_rack_aggregate_falls_with_its_arithmetic_and_a_stream_survives_with_its_needs() -> (
    None
):
    result = result_of("dsv41-flash-gb300-848")
    rack = next(r for r in result.readings if r.name == "aggregate of 72 GPUs")
    assert not rack.survives
    assert rack.by == ("P5", "A3")
    for figure in ("11.8 tok/s per GPU", "142 J per token", "$43.87 per 1M at $1.86/GPU-h"):
        assert figure in rack.text
    stream = next(r for r in result.readings if r.name == "one stream's decode speed, FP4")
    assert stream.survives
    assert "at least 2 GPUs: the weights take 310 GB, one holds 288" in stream.needs
    assert "2 tokens a step by speculation" in stream.needs
    assert "one stream's decode speed" in result.verdict
    assert result.consistency != "contradiction"


def test_seven_missing_variables_are_ten() -> None:
    (ruling,) = rulings(result_of("dsv41-flash-gb300-848"), "A11")
    assert ruling.verdict == "warn"
    assert ruling.text.startswith("7 are announced, 10 are listed")


@pytest.mark.parametrize(
    ("tps", "made"),
    [
        ("73,744", "0.007006"),
        ("58,204", "0.008877"),
        ("45,519", "0.01135"),
        ("27,723", "0.01864"),
        ("18,841", "0.02742"),
    ],
)
def test_each_row_of_the_ladder_follows_from_its_price(tps: str, made: str) -> None:
    result = result_of("dsv41-flash-gb200-ladder")
    row = next(r for r in rulings(result, "A3") if r.text.startswith(f"{tps} tok/s"))
    assert row.verdict == "ok"
    assert f"cost ${made} per 1M" in row.text


def test_the_retail_row_follows_from_four_dollars() -> None:
    texts = [r for r in rulings(result_of("dsv41-flash-gb200-ladder"), "A3") if "$4 a" in r.text]
    assert [(r.verdict, "$0.01507 per 1M" in r.text) for r in texts] == [("ok", True)]


def test_the_blank_row_of_the_ladder_is_explained() -> None:
    text = told(result_of("dsv41-flash-gb200-ladder"), "A10")
    assert "no value at 30 tok/s a user: no point was measured that slow" in text
    assert "peak of 78,100 a GPU lies between 30 and 50" in text


def test_fastest_latencies_are_a_probable_slip_of_seconds_and_minima_of_configurations() -> None:
    result = result_of("dsv41-flash-gb200-ladder")
    slips = told(result, "P7")
    assert "TTFT 0.3 ms: probable slip of s for ms (0.3 s)" in slips
    assert "TPOT 0.0 ms: probable slip of s for ms" in slips
    assert "0.005 to 0.02 s a token" in slips
    assert rulings(result, "S1")
    assert result.consistency == "warn"


def test_a_million_a_gpu_at_a_fifth_of_a_cent_needs_720_an_hour_and_mostly_cached_prompts() -> None:
    result = result_of("dsv41-flash-gb300-1m-per-gpu")
    (cost,) = rulings(result, "A3")
    assert cost.verdict == "contradiction"
    assert "would need $7.20 a GPU-hour" in cost.text
    (compute,) = rulings(result, "P3")
    assert compute.verdict == "warn"
    assert "at most 937,500" in compute.text
    assert "62% at 40% of the peak, 53% if all were decoded" in compute.text
    assert result.consistency == "contradiction"


@pytest.mark.parametrize("path", sorted(CLAIMS.glob("*.yaml")), ids=lambda path: path.stem)
def test_what_to_publish_is_ranked_by_weight_and_adds_up(path: Path) -> None:
    result = result_of(path.stem)
    points = [lack.points for lack in result.lacking]
    assert points == sorted(points, reverse=True)
    assert result.disclosure + sum(points) == pytest.approx(100, abs=1)
    assert result.grade in ("D", "E")
