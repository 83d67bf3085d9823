"""Floors and bounds against examples worked by hand."""

import math

import pytest

from loadgen import physics

FP4, FP8 = 0.5, 1.0
GB300_BPS = 8e12
GB300_FP4 = 15e15


def test_one_stream_of_16_b_active_in_fp4_takes_a_millisecond_on_one_gb300() -> None:
    assert physics.decode_step_least_s(16e9, FP4, GB300_BPS) == pytest.approx(0.001)


def test_the_same_in_fp8_takes_two() -> None:
    assert physics.decode_step_least_s(16e9, FP8, GB300_BPS) == pytest.approx(0.002)


def test_848_tokens_a_second_fit_one_gb300_in_fp4_but_in_fp8_only_with_two_or_speculation() -> None:
    claimed_s = 1 / 848

    assert physics.decode_step_least_s(16e9, FP4, GB300_BPS) < claimed_s
    assert physics.decode_step_least_s(16e9, FP8, GB300_BPS) > claimed_s
    assert physics.decode_step_least_s(16e9, FP8, 2 * GB300_BPS) < claimed_s
    assert physics.decode_step_least_s(16e9, FP8, GB300_BPS, tok_per_step=2) < claimed_s


def test_552_b_in_fp4_take_276_gb_and_with_scales_more_than_one_gb300_holds() -> None:
    bare = physics.memory_bytes_least(552e9, FP4)

    assert bare == pytest.approx(276e9)
    assert physics.gpus_least(bare, 288e9) == 1
    assert physics.gpus_least(physics.memory_bytes_least(552e9, 4.5 / 8), 288e9) == 2
    assert physics.gpus_least(bare, 272e9) == 2


def test_a_million_tokens_a_second_of_8_b_active_need_16_pflops_which_a_gb300_has_not() -> None:
    needed = 1e6 * physics.flop_per_tok(8e9)

    assert needed == pytest.approx(16e15)
    assert needed > GB300_FP4
    assert physics.compute_tps_most(8e9, GB300_FP4) == pytest.approx(937_500)
    assert physics.cached_frac_least(8e9, 1e6, GB300_FP4) == pytest.approx(0.0625)
    assert physics.cached_frac_least(8e9, 1e6, GB300_FP4, mfu=0.4) == pytest.approx(0.625)


def test_what_the_gpus_can_compute_needs_no_cache() -> None:
    assert physics.cached_frac_least(8e9, 1e5, GB300_FP4) == 0.0


def test_848_tokens_a_second_of_a_whole_rack_would_cost_142_joules_each() -> None:
    assert physics.joules_per_tok(120e3, 848) == pytest.approx(141.5, abs=0.1)


def test_72_gpus_at_1400_w_with_a_fifth_for_the_host_draw_121_kw() -> None:
    assert physics.power_most_w(72, 1400, host_frac=0.2) == pytest.approx(120_960)


def test_a_cache_that_is_read_lengthens_the_step() -> None:
    bare = physics.decode_step_least_s(37e9, FP8, 8 * 4.8e12)
    long = physics.decode_step_least_s(37e9, FP8, 8 * 4.8e12, kv_bytes_read=70_272 * 100_000)

    assert bare == pytest.approx(37e9 / 38.4e12)
    assert long - bare == pytest.approx(7.0272e9 / 38.4e12)


def test_a_batch_touches_the_active_ones_first_and_all_in_the_end() -> None:
    def touched(batch: int) -> float:
        return physics.touched_params(671e9, 37e9, 256, 8, batch)

    assert touched(1) == pytest.approx(37e9)
    assert 37e9 < touched(8) < touched(64) < 671e9
    assert touched(4096) == pytest.approx(671e9, rel=1e-6)


def test_a_dense_model_is_touched_whole() -> None:
    assert physics.touched_params(8e9, 8e9, 1, 1, 5) == 8e9


def test_a_first_token_takes_the_round_trip_and_the_uncached_prompt() -> None:
    floor = physics.ttft_least_s(0.010, 70e9, 10_000, 8 * 989.4e12)

    assert floor == pytest.approx(0.010 + 2 * 70e9 * 10_000 / (8 * 989.4e12))
    assert physics.ttft_least_s(0.010) == 0.010
    assert physics.prefill_least_s(70e9, 0, 1e15) == 0.0
    assert math.isclose(physics.ttft_least_s(0.0, 70e9, 5), 0.0)
