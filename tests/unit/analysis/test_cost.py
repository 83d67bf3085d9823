"""Prices of tokens by tier, use and method, against figures worked by hand."""

from datetime import date
from typing import Any

import pytest

from loadgen.analysis import summarise
from loadgen.analysis.cost import UTILISATIONS, rates_of, rows_at, with_costs
from loadgen.analysis.tiers import DECLARED, OWNED, apis_of, tiers_of
from loadgen.model.cost import CostRow, PhaseFit
from loadgen.model.observed import Observed
from loadgen.model.plan import Plan, PointPlan, TargetPlan, WorkloadPlan
from loadgen.model.prices import ApiPrice, ApiRatio, GpuPrices, OwnCost, PriceTable, PriceTier
from loadgen.model.summary import (
    Counts,
    Headline,
    Measure,
    PointSummary,
    ReplaySummary,
    Summary,
)
from loadgen.model.system import DeclaredGpu, DeclaredModel, DeclaredSystem
from loadgen.model.telemetry import ServerView
from tests.tables import closed_loop, recording

OUT, PROMPT, UNCACHED = 1_000.0, 15_000.0, 5_000.0
PRICED = {"gpus": 8.0, "gpu_usd_per_h": 4.5}
"""8 x $4.50 an hour: one cent a second."""


def plan_of(**changes: Any) -> Plan:
    given: dict[str, Any] = {
        "prices": PRICED,
        "target": TargetPlan("http://h/v1", "tiny"),
    } | changes
    return Plan(
        run_id="r", workload=given.pop("workload", WorkloadPlan(turns="2")),
        points=(PointPlan(0, "closed:8"),), **given,
    )  # fmt: skip


def point(**figures: float | None) -> PointSummary:
    rates: dict[str, float | None] = {
        "out_tps": OUT,
        "in_tps_total": PROMPT,
        "in_tps_uncached": UNCACHED,
    }
    measures = {
        name: Measure(name, "value", "tok/s", "higher", value, 9, reason="" if value else "untold")
        for name, value in (rates | figures).items()
    }
    return PointSummary(0, "closed:8", 8, Counts(9, {"ok": 9}), None, measures, {})


def summary_of(one: PointSummary, **more: Any) -> Summary:
    return Summary("r", "valid", "A", (), (one,), Headline(), "complete", **more)


def costs(plan: Plan, one: PointSummary | None = None, **more: Any) -> Summary:
    return with_costs(summary_of(one or point(), **more), plan)


def row(summary: Summary, method: Any, sold: float = 1.0, tier: str = DECLARED) -> CostRow:
    return rows_at(summary.costs, 0, tier, sold)[method]


def table(**parts: Any) -> PriceTable:
    return PriceTable(date(2026, 11, 30), "a quote", **parts)


def system(gpu: str) -> DeclaredSystem:
    return DeclaredSystem(
        DeclaredModel(8, 2), DeclaredGpu(gpu, 80, 3, {"bf16": 900}), gpus_per_replica=8
    )


def test_all_in_puts_a_cent_a_second_on_all_tokens_or_on_output_alone() -> None:
    made = row(costs(plan_of()), "all_in")

    assert made.total == pytest.approx(0.01 * 1e6 / 16_000)
    assert made.output_all_in == pytest.approx(10.0)
    assert (made.input, made.cached, made.output) == (None, None, None)
    assert "no split" in made.reason
    assert made.in_out_ratio == pytest.approx(15.0)
    assert made.cached_frac == pytest.approx(2 / 3)
    assert made.cached_basis == "usage"


@pytest.mark.parametrize(("sold", "output"), [(1.0, 10.0), (0.6, 16.6667), (0.3, 33.3333)])
def test_less_use_costs_more(sold: float, output: float) -> None:
    made = row(costs(plan_of()), "all_in", sold)

    assert made.output_all_in == pytest.approx(output, abs=1e-4)
    assert made.utilisation == sold


def test_server_time_splits_by_the_servers_seconds() -> None:
    view = ServerView(0, ("m",), 9, prefill_sum_s=25.0, decode_sum_s=75.0)
    made = row(costs(plan_of(), server=(view,)), "server_time")

    assert made.input == pytest.approx(0.5)
    assert made.output == pytest.approx(7.5)
    assert made.cached is None
    assert made.input_frac == pytest.approx(0.25)
    assert "cached tokens take no prefill" in made.reason


def test_regression_splits_by_the_fitted_shares_without_the_base() -> None:
    fit = PhaseFit(0, 90, prefill_time_frac=0.2, decode_time_frac=0.6)
    made = row(costs(plan_of(), phases=(fit,)), "regression")

    assert made.input == pytest.approx(0.5)
    assert made.output == pytest.approx(7.5)


def test_api_ratio_splits_by_the_declared_ratio() -> None:
    ratio = ApiRatio(output=4.0, cached=0.1)
    made = row(costs(plan_of(price_table=table(api_ratio=ratio))), "api_ratio")

    # p (5,000 + 0.1 x 10,000 + 4 x 1,000) = p 10,000 tokens/s: p = $1 per 1M
    assert made.input == pytest.approx(1.0)
    assert made.cached == pytest.approx(0.1)
    assert made.output == pytest.approx(4.0)
    assert made.input_frac == pytest.approx(0.5)
    assert "output = 4 x input" in made.source


def test_api_ratio_comes_from_the_list_price_of_the_served_model() -> None:
    target = TargetPlan("http://h/v1", "deepseek-ai/DeepSeek-V4.1-Flash")
    made = row(costs(plan_of(target=target)), "api_ratio")

    assert made.output is not None
    assert made.input is not None
    assert made.output / made.input == pytest.approx(0.60 / 0.15)
    assert "deepseek-flash off-peak, 2026-10-27" in made.source


@pytest.mark.parametrize(
    ("method", "says"),
    [
        ("server_time", "not measured: the server's own prefill and decode seconds"),
        ("regression", "not identifiable"),
        ("api_ratio", "no API lists `tiny`"),
    ],
)
def test_a_method_without_its_input_says_why(method: str, says: str) -> None:
    made = row(costs(plan_of()), method)

    assert (made.input, made.cached, made.output) == (None, None, None)
    assert says in made.reason
    assert made.output_all_in == pytest.approx(10.0)


def test_a_server_that_tells_no_seconds_is_said_so() -> None:
    made = row(costs(plan_of(), server=(ServerView(0, ("m",), 9),)), "server_time")

    assert made.reason == "not measured: the server tells no prefill and decode seconds"


def test_unknown_cached_tokens_leave_output_priced_and_input_not() -> None:
    view = ServerView(0, ("m",), 9, prefill_sum_s=25.0, decode_sum_s=75.0)
    priced = costs(plan_of(), point(in_tps_uncached=None), server=(view,))

    assert row(priced, "server_time").output == pytest.approx(7.5)
    assert row(priced, "server_time").input is None
    assert row(priced, "server_time").reason == "untold"
    assert row(priced, "all_in").cached_frac is None


def test_the_servers_counters_tell_the_cached_share_where_usage_does_not() -> None:
    view = ServerView(0, ("m",), 9, input_tok=300.0, cached_tok=100.0)
    rates = rates_of(point(in_tps_uncached=None), plan_of(), view)

    assert rates.basis == "server"
    assert rates.uncached == pytest.approx(10_000.0)


def test_prompts_that_share_nothing_by_design_have_no_cached_tokens() -> None:
    alone = rates_of(point(in_tps_uncached=None), plan_of(workload=WorkloadPlan()))
    shared = rates_of(
        point(in_tps_uncached=None), plan_of(workload=WorkloadPlan(shared_prefix_tok=100))
    )

    assert (alone.basis, alone.cached) == ("design", 0.0)
    assert (shared.basis, shared.cached) == ("", None)


@pytest.mark.parametrize(("computed", "basis"), [(4_000.0, "usage"), (None, "")])
def test_a_replay_is_priced_by_its_own_rates(computed: float | None, basis: str) -> None:
    played = ReplaySummary(
        point=0, requests=9, span_s=60.0, itl_s={}, intvty_tps={}, e2e_norm_tps={},
        input_tok=None, cached_tok=None, output_tok=None, hit_designed=None, hit_measured=None,
        drift_frac=None, depths=(), agents=(), fan_out_mean=1.0, fan_out_most=1, idle_frac=0.0,
        sessions=1, recycled=0, finished=1, usd_per_session=None, traces=1, coverage_frac=None,
        not_comparable=(), total_tps=21_000.0, computed_tps=computed, output_tps=1_000.0,
    )  # fmt: skip
    rates = rates_of(point(), plan_of(), replay=played)

    assert (rates.total, rates.output, rates.prompt) == (21_000.0, 1_000.0, 20_000.0)
    assert (rates.uncached, rates.basis) == (computed, basis)


def test_without_gpus_or_a_price_nothing_is_priced() -> None:
    assert costs(plan_of(prices={})).costs == ()
    assert costs(plan_of(prices={"gpus": 8.0})).costs == ()


def test_a_price_alone_means_one_gpu() -> None:
    made = row(costs(plan_of(prices={"gpu_usd_per_h": 36.0})), "all_in")

    assert made.gpus == 1.0
    assert made.output_all_in == pytest.approx(10.0)


def test_every_tier_of_the_declared_gpu_is_priced_after_the_declared_one() -> None:
    plan = plan_of(system=system("GB200"))
    found = tiers_of(plan)

    assert [tier.name for tier in found] == [
        DECLARED, "own-at-hyperscale", "neocloud", "3-year", "retail", "on-demand",
    ]  # fmt: skip
    assert all(tier.source and (tier.dated or tier.name == DECLARED) for tier in found)
    assert len(costs(plan).costs) == len(found) * len(UTILISATIONS) * 4


def test_the_published_ladders_prices_come_out_of_the_table() -> None:
    plan = plan_of(prices={"gpus": 1.0}, system=system("GB200"))
    one = point(out_tps=730.0, in_tps_total=73_014.0)
    made = costs(plan, one)

    assert f"{row(made, 'all_in', tier='own-at-hyperscale').total:.4f}" == "0.0070"
    assert f"{row(made, 'all_in', tier='retail').total:.4f}" == "0.0151"
    # with in:out of 100:1, all of it on output
    assert f"{row(made, 'all_in', tier='own-at-hyperscale').output_all_in:.2f}" == "0.71"


def test_the_users_row_comes_before_the_tables_and_the_rest_stays() -> None:
    own = {"H200": GpuPrices({"neocloud": PriceTier(9.0), "lease": PriceTier(2.0, "mine")})}
    plan = plan_of(prices={"gpus": 8.0}, price_table=table(gpus=own), system=system("H200"))
    by_name = {tier.name: tier for tier in tiers_of(plan)}

    assert by_name["neocloud"].usd_per_gpu_h == 9.0
    assert by_name["neocloud"].source == "a quote"
    assert by_name["neocloud"].dated == "2026-11-30"
    assert by_name["lease"].source == "mine"
    assert by_name["own-at-hyperscale"].usd_per_gpu_h == 1.22


def test_a_users_only_gpu_needs_no_naming() -> None:
    own = {"card": GpuPrices({"lease": PriceTier(2.0)})}
    two = own | {"other": GpuPrices({"lease": PriceTier(3.0)})}

    assert [t.name for t in tiers_of(plan_of(prices={}, price_table=table(gpus=own)))] == ["lease"]
    assert tiers_of(plan_of(prices={}, price_table=table(gpus=two))) == ()
    observed = tiers_of(plan_of(prices={}), ("NVIDIA H200",))
    assert observed[0].usd_per_gpu_h == 1.22


def test_owning_is_a_tier_of_its_own() -> None:
    tco = OwnCost(45_000, 5, 1.0, 0.08, interest_frac=0.1, opex_usd_per_gpu_year=1_500, pue=1.3)
    own = {"H200": GpuPrices(tco=tco)}
    tiers = tiers_of(plan_of(prices={"gpus": 1.0}, price_table=table(gpus=own)))

    assert [tier.name for tier in tiers] == [OWNED]
    assert tiers[0].usd_per_gpu_h == pytest.approx(1.630357, abs=1e-5)


def test_break_even_is_own_price_over_the_bill() -> None:
    api = {"someone": ApiPrice(1.0, 10.0, ("tiny",), cached=0.5)}
    made = costs(plan_of(price_table=table(api=api))).break_even

    # (5,000 x 1 + 10,000 x 0.5 + 1,000 x 10) / 1e6 = 2 cents a second against one
    assert len(made) == 1
    assert made[0].api_usd == pytest.approx(0.02)
    assert made[0].own_usd == pytest.approx(0.01)
    assert made[0].utilisation == pytest.approx(0.5)
    assert made[0].tier == DECLARED


def test_a_bill_below_the_own_price_is_never_beaten() -> None:
    api = {"cheap": ApiPrice(0.1, 1.0, ("tiny",), cached=0.05)}
    made = costs(plan_of(price_table=table(api=api))).break_even[0]

    assert made.api_usd == pytest.approx(0.002)
    assert made.utilisation is None


def test_an_unknown_cached_share_is_billed_in_full_and_says_so() -> None:
    api = {"someone": ApiPrice(1.0, 10.0, ("tiny",), cached=0.5)}
    plan = plan_of(price_table=table(api=api))
    made = costs(plan, point(in_tps_uncached=None)).break_even[0]

    assert made.api_usd == pytest.approx(0.025)
    assert "every prompt token billed" in made.assumes


def test_an_api_for_another_model_is_no_comparison() -> None:
    api = {"someone": ApiPrice(1.0, 10.0, ("other",))}

    assert apis_of(plan_of(price_table=table(api=api))) == ()
    assert apis_of(plan_of(target=TargetPlan("http://h/v1", ""))) == ()


def test_an_observed_gpu_brings_its_tiers_where_gpus_are_declared() -> None:
    seen = Observed(gpu_names=("NVIDIA H200", "NVIDIA H200"))
    calls = closed_loop(1, 8, prompt=100, cached=0)
    declared = summarise(recording(calls, observed=seen, plan={"prices": {"gpus": 2.0}}))
    silent = summarise(recording(calls, observed=seen))

    assert declared.costs[0].tier == "own-at-hyperscale"
    assert declared.costs[0].usd_per_gpu_h == 1.22
    assert declared.costs[0].gpus == 2.0
    assert silent.costs == ()
