"""Every row of the fact tables is whole, dated, sourced and of a believable size."""

import pytest

from loadgen import facts

GPUS, MODELS = facts.load_gpus(), facts.load_models()


def test_the_gpus_that_matter_are_there() -> None:
    assert {"A100", "H100", "H200", "B200", "B300", "GB200", "GB300", "L40S", "MI300X"} <= set(GPUS)


@pytest.mark.parametrize("name", sorted(GPUS))
def test_a_gpu_has_a_source_and_believable_figures(name: str) -> None:
    row = GPUS[name]

    assert row.source.startswith("https://")
    assert row.dated.year >= 2026
    assert 40 <= row.memory_gb <= 400
    assert 0.5 <= row.bandwidth_tbps <= 20
    assert 300 <= row.tdp_w <= 2000
    peaks = row.dense_tflops
    assert set(peaks) <= {"bf16", "fp8", "fp4"}
    assert 300 <= peaks["bf16"] <= 5000
    assert peaks.get("fp8", 2 * peaks["bf16"]) == pytest.approx(2 * peaks["bf16"], rel=0.03)
    assert peaks.get("fp4", 1e9) > peaks.get("fp8", 0)


def test_a_first_hand_row_and_a_second_hand_row_say_so() -> None:
    assert "second-hand" in facts.cited(GPUS["H100"])
    assert "second-hand" not in facts.cited(GPUS["GB300"])
    assert "2026-11-30" in facts.cited(GPUS["GB300"])


@pytest.mark.parametrize(
    ("name", "layers", "heads", "size"),
    [("llama-3.1-8b", 32, 8, 128), ("llama-3.1-70b", 80, 8, 128), ("llama-3.1-405b", 126, 8, 128)],
)
def test_the_cache_of_grouped_query_models_follows_from_their_heads(
    name: str, layers: int, heads: int, size: int
) -> None:
    assert MODELS[name].kv_bytes_per_token == 2 * layers * heads * size * 2
    assert MODELS[name].layers == layers


def test_the_cache_of_latent_attention_follows_from_its_ranks() -> None:
    assert MODELS["deepseek-v3"].kv_bytes_per_token == 61 * (512 + 64) * 2


def test_no_model_uses_more_parameters_than_it_has() -> None:
    assert all((m.params_active_b or 0) <= m.params_total_b for m in MODELS.values())
