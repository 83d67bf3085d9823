"""The sentence of a run: everything that must be said with a figure, or no sentence at all."""

import pytest
from msgspec import structs

from loadgen.audit.sentence import QUANTITIES, REQUIRED, SYSTEM, claim_of
from loadgen.errors import UsageError
from loadgen.model.disclosure import SixthValue
from loadgen.model.summary import Finding
from tests.unit.audit.runs import run_of

DOUBT = Finding("host_contended", "doubt", "the client's host was short of cores")


def test_the_figure_stands_with_interval_n_load_subject_and_what_users_saw_there() -> None:
    told = claim_of(run_of())
    assert not told.refused
    for part in (
        "3,156 tok/s of output, all users together",
        "3,124 to 3,188, 95 %, by blocks",
        "n 740",
        "0 of 740 requests failed",
        "at 32 requests at once (closed:32)",
        "from dsv4-flash (declared: DeepSeek V4.1 Flash), weights fp4 (declared)",
        "served by vLLM 0.32.0, on 4 x GB300 (declared)",
        "prompts 1,021 tokens p50 (asked 1024), answers 256 tokens p50",
        "cached 0 % of prompt tokens (usage)",
        "a user decodes at p50 107, p90 (slow tail) 98.0 tok/s, TTFT p50 212 ms, TTFT p95 388 ms",
        "measured on 2026-12-01 by loadgen 0.1.0, window: plateau, 60.0 s, client grade A",
        "one run: the spread between runs is not measured",
    ):
        assert part in told.sentence
    assert told.not_told == ("power cap",)


def test_latencies_are_those_of_the_same_point_never_of_a_better_one() -> None:
    told = claim_of(run_of())
    assert "61" not in told.sentence
    assert "142" not in told.sentence


def test_a_figure_per_gpu_is_divided_by_the_gpus_and_its_interval_too() -> None:
    told = claim_of(run_of(), "per_gpu_total")
    assert (told.value, told.load) == (15780 / 4, "c=32")
    assert told.low == pytest.approx(3905.55)
    assert told.high == pytest.approx(3984.45)
    assert told.sentence.startswith("3,945 tok/s of prompt and output per GPU")


def test_one_users_speed_is_that_of_the_idle_server_unless_another_point_is_named() -> None:
    assert claim_of(run_of(), "per_stream_decode").value == 142
    assert claim_of(run_of(), "per_stream_decode", at="c=32").value == 107
    with pytest.raises(UsageError, match="c=64"):
        claim_of(run_of(), at="c=64")
    with pytest.raises(UsageError, match="speed"):
        claim_of(run_of(), "speed")


@pytest.mark.parametrize("field", REQUIRED)
def test_without_a_thing_that_must_be_said_there_is_no_sentence(field: str) -> None:
    told = claim_of(run_of(absent=(field,)))
    assert told.sentence == ""
    assert [(r.text, r.hint, r.invalid) for r in told.refused] == [
        (f"{field}: not told", "a hint", False)
    ]


def test_a_claim_about_an_endpoint_says_that_its_hardware_is_not_told() -> None:
    run = run_of(absent=SYSTEM, gpus=None)
    assert len(claim_of(run).refused) == len(SYSTEM)
    told = claim_of(run, endpoint_only=True)
    assert "on hardware that isn't told, at http://node:8000/v1" in told.sentence
    per_gpu = claim_of(run, "per_gpu_total", endpoint_only=True)
    assert [r.hint for r in per_gpu.refused] == ["--gpus N"]


def test_an_invalid_result_supports_nothing() -> None:
    invalid = {"verdict": "invalid", "verdict_reasons": ("the clock jumped",)}
    told = claim_of(run_of(summary=invalid))
    assert told.sentence == ""
    assert told.refused[0].invalid
    assert "the clock jumped" in told.refused[0].text


def test_what_is_contradicted_imported_or_not_measured_is_refused_with_the_reason() -> None:
    assert "4 x GB300" in claim_of(run_of(contradicted="gpu")).refused[0].text
    assert "aiperf" in claim_of(run_of(imported="aiperf")).refused[0].text
    assert "`e2e_tps.p50` was not measured" in claim_of(run_of(), "per_stream_e2e").refused[0].text


def test_doubts_belong_to_the_sentence() -> None:
    told = claim_of(run_of(summary={"verdict": "suspect", "findings": (DOUBT,)}))
    assert told.sentence.endswith("the run is suspect: the client's host was short of cores.")


def test_a_simulation_needs_no_gpus_and_tells_of_no_real_system() -> None:
    told = claim_of(run_of(absent=SYSTEM, simulated=True))
    assert "a simulation: it tells of no real system" in told.sentence
    assert "GB300" not in told.sentence


def test_every_quantity_has_its_words() -> None:
    assert all(said.words.startswith("tok/s of") for said in QUANTITIES.values())


def test_energy_and_cost_are_said_at_the_point_that_they_are_of() -> None:
    run = run_of()
    told = run.summary.disclosure
    assert told is not None
    six = (
        SixthValue("energy", "2.0 J per output token (gpu, counter) at c=32", "", True),
        SixthValue("cost", "not measured", "", False, "--gpu-price"),
    )
    summary = structs.replace(run.summary, disclosure=structs.replace(told, six=six))
    run = structs.replace(run, summary=summary)
    sentence = claim_of(run).sentence
    assert "energy 2.0 J per output token (gpu, counter) at c=32; measured on" in sentence
    assert "cost" not in sentence
    assert "J per output token" not in claim_of(run, at="c=1").sentence
