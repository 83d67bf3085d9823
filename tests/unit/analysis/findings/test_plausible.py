"""Figures that can't be: each floor fires beyond its bound, and not before it."""

import random

import pytest

from loadgen.analysis import summarise
from loadgen.model.observed import ClientHealth, HostHealth, Observed
from loadgen.model.plan import WorkloadPlan
from loadgen.model.summary import Finding, Summary
from loadgen.model.system import DeclaredGpu, DeclaredModel, DeclaredSystem
from loadgen.units import NS_PER_MS
from tests.tables import Call, healthy, recording, stream

OURS = {
    "impossible_times",
    "values_missing",
    "ttft_below_rtt",
    "ttft_below_floor",
    "tpot_below_floor",
    "above_compute_bound",
    "system_too_small",
    "ttft_uniform",
}
GB300 = DeclaredGpu("GB300", 288, 8.0, {"bf16": 2500, "fp8": 5000, "fp4": 15000}, 1400)
FLASH = DeclaredModel(552, 0.5, "flash", params_active_b=16)


def system(**given: object) -> DeclaredSystem:
    return DeclaredSystem(**{"model": FLASH, "gpu": GB300, **given})  # type: ignore[arg-type]


def calls_of(
    ttft: float = 50.0, gap: float = 10.0, n: int = 20, *, point: int = 0, **given: object
) -> list[Call]:
    """Answers one after another, scattered by a hundredth."""
    chance, at, made = random.Random(point), 0.0, []
    tokens = int(given.pop("tokens", 40))  # type: ignore[call-overload]
    for _ in range(n):
        first = ttft * (1 + 0.01 * chance.random())
        step = gap * (1 + 0.01 * chance.random())
        one = stream(at, first, step, tokens, point=point, **{"prompt": 1000, **given})
        made.append(one)
        at = one.events[-1][0] + 0.2
    return made


def of(calls: list[Call], load: object = "closed:1", **given: object) -> Summary:
    points = 1 if isinstance(load, str) else len(load)  # type: ignore[arg-type]
    health = [healthy(i, issued=sum(one.point == i for one in calls)) for i in range(points)]
    return summarise(recording(calls, load, **{"health": health, **given}))  # type: ignore[arg-type]


def found(summary: Summary) -> dict[str, Finding]:
    return {f.code: f for f in summary.findings if f.code in OURS}


@pytest.mark.parametrize("seed", range(20))
def test_a_healthy_run_fires_none_with_or_without_a_declared_system(seed: int) -> None:
    chance = random.Random(seed)
    calls: list[Call] = []
    counts = [1, 2, 4, 8, 16]
    for point, slots in enumerate(counts):
        queue = 1 + 0.05 * slots
        calls += calls_of(
            (40 + 20 * chance.random()) * queue, 8 + chance.random(), point=point, cached=0
        )
    declared = system(gpus_per_replica=2) if seed % 2 else None

    summary = of(
        calls,
        [f"closed:{slots}" for slots in counts],
        observed=Observed(rtt_ns=chance.choice([80_000, 900_000, 20_000_000])),
        plan={"system": declared},
    )

    assert found(summary) == {}


def test_nothing_is_held_against_floors_that_nobody_declared() -> None:
    assert found(of(calls_of(ttft=0.5, gap=0.01), observed=Observed(rtt_ns=90_000))) == {}


FAR = Observed(rtt_ns=50_000_000)


def by_kernel(rtt_ns: int, lag_ms: float = 0.1) -> ClientHealth:
    host = HostHealth(rtt_min_ns=rtt_ns, rtt_n=3)
    lag_ns = int(lag_ms * NS_PER_MS)
    return healthy(issued=20, host=host, loop_lag_p99_ns=lag_ns)


def test_first_tokens_sooner_than_the_kernels_round_trip_are_fatal() -> None:
    one = found(of(calls_of(ttft=12.0), health=[by_kernel(50_000_000)]))["ttft_below_rtt"]

    assert one.severity == "fatal"
    assert "20 of 20 first tokens" in one.text
    assert "the round trip of 50 ms allows (shortest of 3 handshakes)" in one.text


def test_sooner_than_handshakes_that_a_loop_timed_is_a_doubt() -> None:
    assert found(of(calls_of(ttft=12.0), observed=FAR))["ttft_below_rtt"].severity == "doubt"


def test_one_early_token_in_many_is_a_doubt() -> None:
    calls = calls_of(ttft=60.0, n=150)
    calls.append(stream(calls[-1].events[-1][0] + 1, 12.0, 10.0, 40, prompt=1000))

    one = found(of(calls, health=[by_kernel(50_000_000)]))["ttft_below_rtt"]

    assert one.severity == "doubt"


def test_the_shortest_handshake_counts_and_not_the_probe_alone() -> None:
    calls = calls_of(ttft=12.0)
    calls[3] = stream(calls[3].due, 12.1, 10.0, 40, prompt=1000, connect=(0.0, 9.0))

    assert found(of(calls, observed=FAR)) == {}
    assert found(of(calls_of(ttft=12.0), observed=FAR, health=[by_kernel(9_000_000)])) == {}


def test_a_single_handshake_of_a_starved_client_accuses_nobody() -> None:
    calls = calls_of(ttft=8.0)
    calls[0] = stream(0, 8.0, 10.0, 40, prompt=1000, connect=(-17.0, 0.0))

    assert found(of(calls)) == {}


def test_handshakes_may_be_late_by_the_loops_lag() -> None:
    health = [healthy(issued=20, loop_lag_p99_ns=40_000_000)]

    assert found(of(calls_of(ttft=12.0), observed=FAR, health=health)) == {}


@pytest.mark.parametrize("rtt_ns", [300_000, 1_000_000])
def test_round_trips_of_loopback_accuse_nobody(rtt_ns: int) -> None:
    assert found(of(calls_of(ttft=0.05), observed=Observed(rtt_ns=rtt_ns))) == {}


def test_an_answer_before_its_question_is_fatal() -> None:
    calls = calls_of()
    calls[5] = stream(calls[5].due, 50.0, 10.0, 40, sent=calls[5].due + 50.0)

    one = found(of(calls))["impossible_times"]

    assert one.severity == "fatal"
    assert one.text.startswith("1 answer at c=1")


def test_times_equal_to_the_nanosecond_look_like_missing_data() -> None:
    calls = [stream(i * 1000.0, 50.0, 10.0, 40) for i in range(12)]

    one = found(of(calls))["values_missing"]

    assert one.severity == "doubt"
    assert "ttft_send_s is 0.05 s in all 12 requests" in one.text
    assert "e2e_s is 0.44 s in all 12 requests" in one.text


def test_nine_equal_times_are_too_few_to_tell() -> None:
    assert found(of([stream(i * 1000.0, 50.0, 10.0, 40) for i in range(9)])) == {}


def test_a_usage_of_zero_beside_text_looks_like_missing_data() -> None:
    one = found(of(calls_of(usage=0, own=40)))["values_missing"]

    assert "usage says 0 output tokens in 20 answers with text" in one.text


def test_848_tokens_a_second_pass_in_4_bits_on_two_gb300() -> None:
    declared = {"system": system(gpus_per_replica=2)}

    assert found(of(calls_of(gap=1000 / 848), plan=declared)) == {}


def test_the_same_in_8_bits_on_one_gpu_needs_two_tokens_a_step() -> None:
    model = DeclaredModel(200, 1, "flash", params_active_b=16)

    one = found(of(calls_of(gap=1000 / 848), plan={"system": system(model=model)}))

    assert set(one) == {"tpot_below_floor"}
    text = one["tpot_below_floor"].text
    assert "TPOT p50 is 1.2 ms at c=1, under the declared system's floor of 2.0 ms" in text
    assert "16e9 params x 1 B over 1 x 8 TB/s" in text
    assert "1.7 tokens a step or 1.7 times the bandwidth" in text


def test_speculation_that_was_declared_lowers_the_floor() -> None:
    model = DeclaredModel(200, 1, "flash", params_active_b=16)
    declared = system(model=model, tok_per_step=2)

    assert found(of(calls_of(gap=1000 / 848), plan={"system": declared})) == {}


def test_speculation_that_shows_is_named() -> None:
    model = DeclaredModel(200, 1, "flash", params_active_b=16)
    calls = []
    for i in range(20):
        at, step = i * 100.0, 2.5 + 0.001 * i
        events = [(at + 20 + step * k, "c", 4) for k in range(10)]
        calls.append(Call(due=at, events=events, usage=40, prompt=1000))

    one = found(of(calls, plan={"system": system(model=model)}))["tpot_below_floor"]

    assert "events hold 4 tokens, as with speculative decoding" in one.text


def test_a_declaration_that_is_eight_times_off_names_the_slip() -> None:
    bits = DeclaredModel(60, 4, "in bits", params_active_b=16)

    one = found(of(calls_of(gap=1.3), plan={"system": system(model=bits)}))["tpot_below_floor"]

    assert "a declared figure is eight too large (bits for bytes)" in one.text


def test_the_cache_that_a_step_reads_raises_the_floor() -> None:
    model = DeclaredModel(200, 0.5, "long", params_active_b=16, kv_bytes_per_token=70_000)
    declared = {"system": system(model=model)}

    assert "tpot_below_floor" not in found(of(calls_of(gap=1.2), plan=declared))
    assert "tpot_below_floor" in found(of(calls_of(gap=1.2, prompt=100_000), plan=declared))


def test_a_prompt_answered_before_it_can_be_computed_needs_a_cache() -> None:
    declared, salted = system(gpus_per_replica=2), {"salt": "run"}
    prompt = 100_000  # 2 x 16e9 x 1e5 / 30e15 = 107 ms

    unknown = found(of(calls_of(prompt=prompt), plan={"system": declared, **salted}))
    one = unknown["ttft_below_floor"]
    assert one.severity == "doubt"
    assert "50 ms for 100000 tokens that take 107 ms" in one.text
    assert "53.0 % of them must have been cached, which the server doesn't report" in one.text

    cached = of(calls_of(prompt=prompt, cached=80_000), plan={"system": declared, **salted})
    assert "ttft_below_floor" not in found(cached)

    none = found(of(calls_of(prompt=prompt, cached=0), plan={"system": declared, **salted}))
    assert "cached ones left out" in none["ttft_below_floor"].text


def test_sessions_that_share_text_make_an_unreported_cache_a_note() -> None:
    given = {"system": system(gpus_per_replica=2), "salt": "run"}
    workload = WorkloadPlan(turns="3")

    one = found(of(calls_of(prompt=100_000), plan=given, workload=workload))["ttft_below_floor"]

    assert one.severity == "note"


def test_more_tokens_than_the_gpus_can_multiply_came_from_a_cache() -> None:
    slow = DeclaredGpu("slow", 288, 80.0, {"bf16": 50}, 300)
    declared = {"system": system(gpu=slow), "salt": "run"}
    calls = calls_of(ttft=700.0, prompt=4000)  # 3.7 k tokens/s of 2 x 16 B FLOP against 50 TFLOP/s

    text = found(of(calls, plan=declared))["above_compute_bound"].text
    assert "1562 at 0.05 PFLOP/s dense" in text
    assert "must have been cached, which the server doesn't report" in text

    reported = found(of(calls_of(ttft=700.0, prompt=4000, cached=3500), plan=declared))
    assert "above_compute_bound" not in reported

    more = {"system": system(gpu=slow, replicas=4), "salt": "run"}
    assert "above_compute_bound" not in found(of(calls, plan=more))


def test_weights_that_do_not_fit_are_told_with_the_gpus_they_need() -> None:
    bits = DeclaredModel(552, 4.5 / 8, "flash", params_active_b=16)

    one = found(of(calls_of(), plan={"system": system(model=bits)}))["system_too_small"]

    assert "takes 310.5 GB at 0.5625 bytes a parameter" in one.text
    assert "the declared 1 x GB300 have 288 GB: 2 are needed" in one.text


def test_the_cache_of_the_longest_request_must_fit_too() -> None:
    model = DeclaredModel(552, 0.5, "flash", params_active_b=16, kv_bytes_per_token=1e6)

    assert found(of(calls_of(), plan={"system": system(model=model)})) == {}
    long = found(of(calls_of(prompt=12_000), plan={"system": system(model=model)}))
    assert "takes 288" in long["system_too_small"].text


def sweep(ttft_of: dict[int, float]) -> Summary:
    calls = []
    for point, (slots, ttft) in enumerate(ttft_of.items()):
        chance = random.Random(point)
        for turn in range(12):
            for slot in range(slots):
                at = turn * 300.0 + slot * 0.1
                first = ttft * (1 + 0.001 * chance.random())
                calls.append(stream(at, first, 5.0 + 0.1 * chance.random(), 20, point=point))
    return of(calls, [f"closed:{slots}" for slots in ttft_of])


def test_the_same_ttft_at_every_concurrency_is_a_doubt() -> None:
    one = found(sweep({1: 50.0, 4: 50.01, 16: 50.02}))["ttft_uniform"]

    assert one.severity == "doubt"
    assert "every concurrency from 1 to 16" in one.text


@pytest.mark.parametrize(
    "ttft_of", [{1: 50.0, 4: 50.0, 16: 51.0}, {1: 50.0, 16: 50.0}, {2: 50.0, 4: 50.0, 8: 50.0}]
)
def test_a_queue_that_shows_or_a_short_sweep_is_none(ttft_of: dict[int, float]) -> None:
    assert found(sweep(ttft_of)) == {}
