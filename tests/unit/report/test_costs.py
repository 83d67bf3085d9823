"""The cost section: what it says of the best point, and what stays in csv."""

from typing import Any

from loadgen.model.cost import BreakEven, CostRow, PhaseFit
from loadgen.model.summary import Summary
from loadgen.report.costs import cost_cells, cost_lines, phase_lines
from loadgen.report.headline import answers
from loadgen.report.rows import Sheet
from tests.unit.report.examples import SWEEP, plan_of, sweep_summary

LOADS = [f"closed:{c}" for c, *_ in SWEEP]


def row(method: Any, sold: float, tier: str = "declared", **more: Any) -> CostRow:
    given: dict[str, Any] = {
        "total": 0.0070 / sold, "output_all_in": 0.707 / sold, "dated": "2026-09-30",
        "in_out_ratio": 100.0, "cached_frac": 0.93, "cached_basis": "usage",
    }  # fmt: skip
    return CostRow(5, tier, 1.86, 72.0, sold, method, **(given | more))


def priced(*more: CostRow, **changes: Any) -> Summary:
    import msgspec

    rows = [row("all_in", sold) for sold in (1.0, 0.6, 0.3)]
    return msgspec.structs.replace(sweep_summary(), costs=(*rows, *more), **changes)


def split(sold: float, tier: str = "declared") -> CostRow:
    return row(
        "server_time", sold, tier, input=0.05 / sold, output=0.35 / sold, input_frac=0.5,
        reason="cached tokens take no prefill: this method puts nothing on them",
    )  # fmt: skip


def page(summary: Summary) -> str:
    lines = list(cost_lines(summary))
    assert all(len(line) <= 100 for line in lines)
    return "\n".join(lines)


def test_a_run_without_prices_has_no_section() -> None:
    assert page(sweep_summary()) == ""


def test_the_best_points_prices_stand_at_three_uses_with_what_they_count() -> None:
    text = page(priced())

    assert "at c=32 · 72 GPUs · in:out 100 · cached 93 % of the prompts (usage)" in text
    assert [line.split()[-6:] for line in text.splitlines()[2:5]] == [
        [*["100", "%", "$0.0070", "$0.71", "n/a", "n/a", "n/a"][1:]],
        [*["60", "%", "$0.012", "$1.18", "n/a", "n/a", "n/a"][1:]],
        [*["30", "%", "$0.023", "$2.36", "n/a", "n/a", "n/a"][1:]],
    ]
    assert "no capacity" in text


def test_a_method_that_splits_fills_the_columns_and_is_named() -> None:
    text = page(priced(*(split(sold) for sold in (1.0, 0.6, 0.3))))

    assert "$0.050       n/a     $0.35" in text
    assert "input and output by server_time" in text
    assert "50 % on input; cached tokens take no prefill" in " ".join(text.split())


def test_a_method_that_cannot_says_why() -> None:
    text = page(priced(row("regression", 1.0, reason="not identifiable: all prompts are alike")))

    assert "regression n/a: not identifiable: all prompts are alike" in text


def test_other_tiers_take_one_row_each_with_price_and_date() -> None:
    others = [row("all_in", sold, "retail") for sold in (1.0, 0.6, 0.3)]
    lines = [line for line in page(priced(*others)).splitlines() if "retail" in line]

    assert len(lines) == 1
    assert lines[0].split()[:4] == ["retail", "$1.86", "2026-09-30", "100"]


def test_the_break_even_is_a_sentence() -> None:
    some = BreakEven(5, "declared", "someone", 0.02, 0.01, 0.5, "list", "2026-10-27")
    never = BreakEven(5, "declared", "cheap", 0.002, 0.01, None, "list", "2026-10-27")
    text = page(priced(break_even=(some, never)))

    assert "someone (2026-10-27) would bill $72.00 an hour, declared costs $36.00" in text
    assert "cheaper once 50 % of these tokens are sold" in " ".join(text.split())
    assert "never cheaper than that bill" in " ".join(text.split())


def test_the_headline_takes_the_first_tier_where_no_price_was_declared() -> None:
    sheet = Sheet(priced(), plan_of(LOADS))
    cost = next(answer for answer in answers(sheet) if answer.label == "cost")

    assert cost.figure == "$0.71 /1M output"
    assert cost.facts == ("$0.0070 /1M in + out",)
    assert cost.meaning == "declared $1.86/GPU-h × 72, 100 % busy"


def test_a_row_of_csv_has_its_points_prices_only() -> None:
    cells = cost_cells(priced(split(0.6)), 5)

    assert cells["cost.declared.1.total"] == 0.0070
    assert cells["cost.declared.0.6.server_time.output"] == 0.35 / 0.6
    assert cost_cells(priced(), 4) == {}


def test_phases_are_told_where_they_could_be_told_apart() -> None:
    fit = PhaseFit(
        0, 90, prefill_tps=59_800.0, prefill_low_tps=58_000.0, prefill_high_tps=61_500.0,
        decode_tps=268.0, decode_low_tps=266.0, decode_high_tps=271.0, base_s=0.003,
        prefill_time_frac=0.12, decode_time_frac=0.86,
    )  # fmt: skip
    blind = PhaseFit(5, 90, reason="not identifiable: all prompts have 1,024 tokens")
    text = " ".join(" ".join(phase_lines(priced(phases=(fit, blind)))).split())

    assert "phases c=1 · prefill 59,800 tok/s (58,000 to 61,500) of one request" in text
    assert "decode 268 tok/s (266 to 271) of one request" in text
    assert "12 % of the time on prompts" in text
    assert "c=32" not in text
