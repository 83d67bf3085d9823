"""Price rows: dated, sourced, of a believable size; and which row a name means."""

import pytest

from loadgen.facts import load_prices
from loadgen.facts.names import plain_model, row_of

PRICES = load_prices()


@pytest.mark.parametrize("name", sorted(PRICES.gpus))
def test_a_gpus_tiers_are_believable_and_dated(name: str) -> None:
    tiers = PRICES.gpus[name].tiers

    assert tiers
    for row in tiers.values():
        assert 0.5 <= row.usd_per_gpu_h <= 15
        assert (row.dated or PRICES.retrieved).year == 2026
        assert row.source or PRICES.source


@pytest.mark.parametrize("name", ["H100", "H200", "B200", "B300", "GB200", "GB300"])
def test_the_common_tiers_are_there_and_rise(name: str) -> None:
    tiers = PRICES.gpus[name].tiers

    assert tiers["own-at-hyperscale"].usd_per_gpu_h < tiers["neocloud"].usd_per_gpu_h
    assert tiers["own-at-hyperscale"].usd_per_gpu_h < tiers["3-year"].usd_per_gpu_h
    if "on-demand" in tiers:
        assert tiers["3-year"].usd_per_gpu_h < tiers["on-demand"].usd_per_gpu_h


def test_the_published_ladders_two_tiers_are_those_of_the_table() -> None:
    assert PRICES.gpus["GB200"].tiers["own-at-hyperscale"].usd_per_gpu_h == 1.86
    assert PRICES.gpus["GB200"].tiers["retail"].usd_per_gpu_h == 4.00


@pytest.mark.parametrize("name", sorted(PRICES.api))
def test_an_api_bills_less_for_cached_tokens_and_more_for_output(name: str) -> None:
    row = PRICES.api[name]

    assert row.cached is not None
    assert 0 < row.cached < row.input < row.output
    assert row.serves
    assert row.dated


@pytest.mark.parametrize(
    ("said", "key"),
    [
        ("H200", "H200"),
        ("h200", "H200"),
        ("NVIDIA H200 141GB HBM3e", "H200"),
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("NVIDIA GB200", "GB200"),
        ("AMD Instinct MI300X", "MI300X"),
        ("NVIDIA H2000", None),
        ("Mock GPU", None),
        ("", None),
    ],
)
def test_a_gpus_name_means_the_row_of_one_of_its_words(said: str, key: str | None) -> None:
    assert row_of(PRICES.gpus, said) is (None if key is None else PRICES.gpus[key])


@pytest.mark.parametrize(
    "said",
    [
        "deepseek-ai/DeepSeek-V4.1-Flash",
        "DeepSeek-V4.1-Flash-FP8",
        "nvidia/DeepSeek-V4.1-Flash-NVFP4",
        "deepseek_v4.1_flash",
    ],
)
def test_a_served_name_means_the_model_whatever_its_owner_and_precision(said: str) -> None:
    assert plain_model(said) == plain_model("deepseek-v4.1-flash")


def test_another_model_is_another_name() -> None:
    assert plain_model("gpt-oss-20b") != plain_model("gpt-oss-120b")
    assert plain_model("deepseek-v4-pro") != plain_model("deepseek-v4.1-flash")
