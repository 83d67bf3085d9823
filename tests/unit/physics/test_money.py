"""Dollars a token against figures worked by hand."""

import pytest

from loadgen import physics

LADDER_004 = (
    (73744, 1.86, "0.007", 0.00700622),
    (58204, 1.86, "0.009", 0.00887682),
    (45519, 1.86, "0.011", 0.01135057),
    (27723, 1.86, "0.019", 0.01863675),
    (18841, 1.86, "0.027", 0.02742247),
    (73744, 4.00, "0.015", 0.01506714),
)
"""Published tokens a second and GPU, $/GPU-h, the printed $/1M tokens, and its value by hand."""


@pytest.mark.parametrize(("tps", "price", "printed", "exact"), LADDER_004)
def test_each_row_of_the_published_ladder_is_met_to_its_last_digit(
    tps: float, price: float, printed: str, exact: float
) -> None:
    usd_per_s = physics.usd_per_second(price, gpus=1)
    per_mtok = physics.per_mtok(usd_per_s, tps)

    assert f"{per_mtok:.3f}" == printed
    assert per_mtok == pytest.approx(exact, rel=1e-6)
    assert per_mtok == pytest.approx(physics.usd_per_mtok(price, tps), rel=1e-12)


def test_half_the_use_costs_twice() -> None:
    assert physics.usd_per_second(3.6, 8, 0.5) == pytest.approx(2 * physics.usd_per_second(3.6, 8))
    assert physics.usd_per_second(3.6, 8) == pytest.approx(0.008)


def test_capital_is_recovered_as_by_an_annuity() -> None:
    # 10 % over 5 years: 0.1 x 1.61051 / 0.61051
    assert physics.capital_recovery(0.1, 5) == pytest.approx(0.2637975, abs=1e-7)
    assert physics.capital_recovery(0.0, 4) == 0.25
    assert physics.capital_recovery(1e-9, 4) == pytest.approx(0.25, rel=1e-6)


def test_owning_a_gpu_costs_its_capital_its_upkeep_and_its_power() -> None:
    power = physics.power_usd_per_h(kw=1.0, pue=1.3, usd_per_kwh=0.08)
    recovery = physics.capital_recovery(0.1, 5)

    # (45,000 x 0.2637975 + 1,500) / 8,760 = 1.526357; power 0.104
    assert power == pytest.approx(0.104)
    assert physics.owned_usd_per_h(45_000, recovery, 1_500, power) == pytest.approx(
        1.630357, abs=1e-5
    )


def test_time_shares_are_priced_by_hand() -> None:
    # $0.01 a second; a quarter of it on 5,000 uncached tokens/s, the rest on 1,000 output tokens/s
    split = physics.split_by_time(0.01, 0.25, uncached=5_000, output=1_000)

    assert split.input == pytest.approx(0.5)
    assert split.output == pytest.approx(7.5)
    assert split.cached is None


def test_api_ratio_is_priced_by_hand() -> None:
    # p (4,000 + 0.1 x 10,000 + 5 x 1,000) = p 10,000 tokens/s = $0.01 a second: p = $1 per 1M
    split = physics.split_by_ratio(0.01, (4_000, 10_000, 1_000), output_ratio=5, cached_ratio=0.1)

    assert split.input == pytest.approx(1.0)
    assert split.cached == pytest.approx(0.1)
    assert split.output == pytest.approx(5.0)


@pytest.mark.parametrize("rates", [(4000.0, 10000.0, 1000.0), (1.0, 0.0, 900.0), (0.5, 7.0, 3.0)])
def test_the_parts_of_a_split_add_up_to_the_price(rates: tuple[float, float, float]) -> None:
    uncached, cached, output = rates
    by_ratio = physics.split_by_ratio(0.02, rates, 4.0, 0.25)
    by_time = physics.split_by_time(0.02, 0.3, uncached, output)

    bill = physics.billed_usd_per_s(
        rates, (by_ratio.input or 0, by_ratio.cached or 0, by_ratio.output or 0)
    )
    assert bill == pytest.approx(0.02)
    timed = physics.billed_usd_per_s(rates, (by_time.input or 0, 0, by_time.output or 0))
    assert timed == pytest.approx(0.02)
    assert cached >= 0


def test_no_tokens_have_no_price() -> None:
    assert physics.per_mtok(0.01, 0.0) is None
    assert physics.split_by_ratio(0.01, (0, 0, 0), 4, 1) == physics.Split(None, None, None)
    assert physics.split_by_time(0.01, 0.5, 0, 100).input is None
