"""Prefill and decode told apart from requests of a known law, or said why not."""

from typing import Any

import msgspec
import numpy as np
import pytest

from loadgen.analysis import summarise
from loadgen.analysis.phases import LEAST_N, fit, with_joules
from loadgen.model.cost import PhaseFit
from loadgen.model.energy import PointEnergy
from loadgen.model.plan import WorkloadPlan
from loadgen.model.summary import Summary
from loadgen.model.table import Floats
from tests.tables import call, healthy, recording

PREFILL_TPS, DECODE_TPS, BASE_MS = 8_000.0, 125.0, 20.0
N = 90


def law_ms(prompt: float, output: float) -> float:
    """The time of one request: base, a prompt at 8,000 tok/s, tokens at 125 tok/s."""
    return BASE_MS + prompt / PREFILL_TPS * 1e3 + output / DECODE_TPS * 1e3


def run(
    prompts: Floats,
    outputs: Floats,
    noise: Floats,
    plan: dict[str, Any] | None = None,
    workload: WorkloadPlan | None = None,
    **row: Any,
) -> Summary:
    """A closed loop of one slot whose requests take the law's time and some noise."""
    calls, due = [], 0.0
    for prompt, output, extra in zip(prompts, outputs, noise, strict=True):
        took = law_ms(prompt, output) + extra
        first = due + took - (output - 1) / DECODE_TPS * 1e3
        given = {"prompt": int(prompt), "cached": 0, "usage": int(output)} | row
        calls.append(call(due, [(first, "c"), (due + took, "c")], **given))
        due += took
    health = [healthy(issued=len(calls))]
    return summarise(recording(calls, health=health, plan=plan or {}, workload=workload))


def drawn(n: int = N, seed: int = 4) -> tuple[Floats, Floats, Floats]:
    rng = np.random.default_rng(seed)
    return (
        rng.integers(200, 4_000, n).astype(float),
        rng.integers(10, 120, n).astype(float),
        rng.exponential(10.0, n),
    )


def test_the_law_lies_in_the_intervals() -> None:
    (found,) = run(*drawn()).phases

    assert found.reason == ""
    assert found.prefill_low_tps is not None
    assert found.prefill_high_tps is not None
    assert found.decode_low_tps is not None
    assert found.decode_high_tps is not None
    assert found.prefill_low_tps < PREFILL_TPS < found.prefill_high_tps
    assert found.decode_low_tps < DECODE_TPS < found.decode_high_tps
    assert found.prefill_high_tps < 1.2 * found.prefill_low_tps


def test_shares_of_time_add_up_with_the_base() -> None:
    (found,) = run(*drawn()).phases

    assert found.prefill_time_frac == pytest.approx(0.31, abs=0.05)
    assert found.decode_time_frac == pytest.approx(0.65, abs=0.08)
    assert found.base_s == pytest.approx(0.030, abs=0.02)


def test_prompts_of_one_length_tell_nothing() -> None:
    _, outputs, noise = drawn()
    (found,) = run(np.full(N, 1_024.0), outputs, noise).phases

    assert found.reason.startswith("not identifiable: prompts are all alike (1,024 ± 0 tokens)")
    assert "--isl" in found.reason
    assert found.prefill_tps is None
    assert found.decode_tps is None
    assert found.prefill_time_frac is None


def test_answers_of_nearly_one_length_tell_nothing() -> None:
    prompts, _, noise = drawn()
    outputs = np.resize([255.0, 256.0, 257.0], N)
    (found,) = run(prompts, outputs, noise).phases

    assert found.reason.startswith("not identifiable: answers are all alike (256 ± 1 tokens)")


def test_lengths_that_go_together_tell_nothing() -> None:
    prompts, _, noise = drawn()
    (found,) = run(prompts, np.round(prompts / 20), noise).phases

    assert found.reason.startswith("not identifiable: prompt and answer lengths go together")


def test_few_requests_tell_nothing() -> None:
    (found,) = run(*drawn(LEAST_N - 5)).phases

    assert found.reason == f"not identifiable: {found.n} requests, {LEAST_N} are needed"


def test_a_phase_within_the_noise_is_named_and_the_other_stands() -> None:
    prompts, outputs, _ = drawn()
    noise = np.random.default_rng(2).exponential(400.0, N)
    (found,) = run(prompts / 20, outputs * 10, noise).phases

    assert found.reason.startswith("not identifiable: prefill within noise")
    assert "µs a token" in found.reason
    assert found.prefill_tps is None
    assert found.decode_tps == pytest.approx(DECODE_TPS, rel=0.3)
    assert found.decode_time_frac is None


def test_unreported_cached_tokens_are_no_obstacle_where_prompts_share_nothing() -> None:
    (alone,) = run(*drawn(), cached=None).phases

    assert alone.prefill_tps == pytest.approx(PREFILL_TPS, rel=0.1)


def test_unreported_cached_tokens_of_prompts_that_share_are_an_obstacle() -> None:
    shared = WorkloadPlan(shared_prefix_tok=512)
    (found,) = run(*drawn(), workload=shared, cached=None).phases

    assert found.reason == "not identifiable: cached prompt tokens not reported"


def test_cached_tokens_take_no_prefill() -> None:
    prompts, outputs, noise = drawn()
    (found,) = run(prompts, outputs, noise, cached=100).phases

    assert found.prefill_tps == pytest.approx(PREFILL_TPS, rel=0.1)


def test_the_regression_method_prices_input_and_output_by_these_shares() -> None:
    summary = run(*drawn(), plan={"prices": {"gpus": 1.0, "gpu_usd_per_h": 3.6}})
    (found,) = summary.phases
    row = next(row for row in summary.costs if row.method == "regression")

    assert found.prefill_time_frac is not None
    assert found.decode_time_frac is not None
    share = found.prefill_time_frac / (found.prefill_time_frac + found.decode_time_frac)
    uncached = summary.points[0].measures["in_tps_uncached"].value
    assert uncached is not None
    assert row.input_frac == pytest.approx(share)
    assert row.input == pytest.approx(0.001 * share * 1e6 / uncached)


def test_joules_are_shared_as_the_time_is() -> None:
    summary = run(*drawn())
    energy = PointEnergy(0, "gpu", "nvml", "counter", window_s=10.0, joules=3_000.0)
    told = msgspec.structs.replace(summary, energy=(energy,))
    (found,) = with_joules(told, recording([]).plan).phases
    uncached = summary.points[0].measures["in_tps_uncached"].value
    output = summary.points[0].measures["out_tps"].value

    assert found.prefill_j_per_tok is not None
    assert found.decode_j_per_tok is not None
    assert uncached is not None
    assert output is not None
    whole = found.prefill_j_per_tok * uncached + found.decode_j_per_tok * output
    assert whole == pytest.approx(300.0)
    assert found.decode_j_per_tok > found.prefill_j_per_tok


def test_without_energy_or_a_fit_there_are_no_joules() -> None:
    summary, plan = run(*drawn()), recording([]).plan
    unknown = PointEnergy(0, "gpu", "nvml", "none", window_s=10.0, joules=None, reason="gaps")
    blind = (PhaseFit(0, 3, reason="not identifiable: 3 requests"),)
    known = msgspec.structs.replace(unknown, joules=3_000.0)
    gaps = msgspec.structs.replace(summary, energy=(unknown,))
    unfitted = msgspec.structs.replace(summary, energy=(known,), phases=blind)

    assert with_joules(summary, plan) == summary
    assert with_joules(gaps, plan).phases == summary.phases
    assert with_joules(unfitted, plan).phases == blind


def test_times_that_say_nothing_at_all_give_no_line() -> None:
    rng = np.random.default_rng(1)
    columns = rng.integers(1, 1_000, (60, 2)).astype(float)
    found = fit(0, columns, np.zeros(60), np.zeros(60, dtype=np.int64))

    assert found.prefill_tps is None
    assert found.reason.startswith("not identifiable")
