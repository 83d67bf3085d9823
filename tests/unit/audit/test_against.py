"""A claim beside a run: supported, contradicted or untouched, with both numbers and why."""

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from loadgen.audit.against import against
from loadgen.model.claim import (
    AgainstResult,
    Claim,
    Fact,
    Headline,
    Held,
    Ladder,
    Latencies,
    Listed,
    Power,
    Rung,
    Source,
    Statement,
    Streams,
    UnitCost,
)
from loadgen.model.energy import PointEnergy
from loadgen.model.summary import LadderRung
from loadgen.specs import load_yaml
from tests.unit.audit.runs import run_of

CLAIMS = Path(__file__).parents[3] / "workloads" / "claims"
SAME = {
    "model": "DeepSeek V4.1 Flash",
    "hw": {"gpu": "GB300", "gpus_used": 4},
    "precision": "fp4",
    "speculation": "none",
    "engine": "vLLM",
    "engine_version": "0.32.0",
    "isl": 1024,
    "osl": 256,
    "cached_share": 0,
    "dataset": "chat prompts",
}
"""Facts of a claim that is of the same thing as the run, in every condition."""
CHAT = "chat-1k-256, sha256 9d69"


def claim_of(
    num: float, quantity: Any = "aggregate_output", *statements: Statement, **facts: Any
) -> Claim:
    told = {name: Fact(v, "stated") for name, v in (SAME | facts).items() if v is not None}
    return Claim(
        id="c",
        text="a claim",
        sources=(Source("s", "somewhere"),),
        value=Headline(num, quantity=quantity),
        facts=told,
        statements=statements,
    )


def beside(claim: Claim, **changes: Any) -> AgainstResult:
    run = run_of(**changes)
    told = run.summary.disclosure
    assert told is not None
    data = structs.replace(told.fields[0], field="data set", observed=CHAT)
    card = structs.replace(told, fields=(*told.fields, data))
    return against(
        claim, structs.replace(run, summary=structs.replace(run.summary, disclosure=card))
    )


def headline(claim: Claim, **changes: Any) -> Held:
    return beside(claim, **changes).figures[0]


def test_a_figure_that_the_run_reaches_is_supported_with_both_numbers() -> None:
    held = headline(claim_of(3100))
    assert (held.verdict, held.said) == ("supports", "3,100 tok/s")
    assert held.measured == "3,156 tok/s (3,124 to 3,188) at c=32"
    assert "ours is 1.03 times the claimed" in held.why


def test_a_figure_within_the_margin_is_supported_and_one_beyond_contradicted() -> None:
    reached = 3156 * 1.01
    assert headline(claim_of(reached / 0.98)).verdict == "supports"
    held = headline(claim_of(reached / 0.9))
    assert held.verdict == "contradicts"
    assert "with every condition the same" in held.why


@pytest.mark.parametrize(
    ("fact", "value", "name"),
    [
        ("model", "Llama 3.1 8B", "model"),
        ("hw", {"gpu": "H200", "gpus_used": 4}, "GPU"),
        ("hw", {"gpu": "GB300", "gpus_used": 72}, "GPUs used"),
        ("precision", "bf16", "precision"),
        ("speculation", "mtp", "speculation"),
        ("engine", "SGLang", "engine"),
        ("isl", 8192, "prompt tokens"),
        ("osl", 1024, "answer tokens"),
        ("cached_share", "96 %", "cached share"),
        ("dataset", "AgentX sessions", "data"),
    ],
)
def test_a_run_of_something_else_does_not_bear_on_the_claim(
    fact: str, value: object, name: str
) -> None:
    for num in (1, 1e9):
        result = beside(claim_of(num, **{fact: value}))
        assert result.figures[0].verdict == "does not bear"
        assert result.figures[0].why == f"not the same {name}"
        assert len(result.differs) == 1


@pytest.mark.parametrize("fact", [name for name in SAME if name not in ("model", "hw")])
def test_what_the_claim_does_not_tell_leaves_room_for_a_higher_figure_only(fact: str) -> None:
    low, high = (headline(claim_of(num, **{fact: None})) for num in (1000, 9000))
    assert low.verdict == "supports"
    assert "not known to be the same" in low.why
    assert high.verdict == "does not bear"
    assert "these may explain it" in high.why


@pytest.mark.parametrize("fact", ["model", "hw"])
def test_without_model_or_gpu_nothing_can_be_compared(fact: str) -> None:
    held = headline(claim_of(1000, **{fact: None}))
    assert held.verdict == "does not bear"
    assert "not told whether it is the same" in held.why


def test_a_run_with_doubts_contradicts_nobody_and_an_invalid_one_bears_on_nothing() -> None:
    suspect = {"summary": {"verdict": "suspect"}}
    assert headline(claim_of(9000), **suspect).verdict == "does not bear"
    held = headline(claim_of(1000), **suspect)
    assert (held.verdict, "the run is suspect" in held.why) == ("supports", True)
    invalid = headline(claim_of(1000), summary={"verdict": "invalid"})
    assert (invalid.verdict, "the run is invalid" in invalid.why) == ("does not bear", True)
    assert "simulation" in headline(claim_of(1000), simulated=True).why


def test_each_quantity_stands_beside_its_own_figure() -> None:
    for quantity, ours in (
        ("per_stream_decode", "142 tok/s (141 to 143) at c=1"),
        ("total", "15,780 tok/s (15,622 to 15,938) at c=32"),
        ("per_gpu_total", "3,945 tok/s per GPU (3,906 to 3,984) at c=32"),
    ):
        assert headline(claim_of(10, quantity)).measured == ours
    assert headline(claim_of(10, "per_stream_decode", concurrency=32)).measured.endswith("c=32")
    unsaid = headline(claim_of(10, "unknown"))
    assert unsaid.verdict == "does not bear"
    assert "per stream decode 142 tok/s" in unsaid.why


def test_rows_of_a_ladder_stand_beside_ours_at_their_target_with_the_cost_at_their_price() -> None:
    rows = (Rung(30), Rung(50, "3,000", "$0.17"), Rung(100, "9,000", "$0.06"), Rung(200, "1"))
    ours = (
        LadderRung(50, 4000, "c=32", 3900, ("c=32", "c=16")),
        LadderRung(100, 4000, "c=32", 3600, ("c=32", "c=16")),
        LadderRung(200, reason="no point is that fast"),
    )
    said = claim_of(3000, "per_gpu_total", Ladder(rows, usd_per_gpu_h=1.86))
    figures = beside(said, ladder=ours).figures
    assert [held.verdict for held in figures] == [
        "supports", "supports", "supports", "contradicts", "contradicts", "does not bear"
    ]  # fmt: skip
    assert figures[0].said == "3,000 tok/s per GPU at 50 tok/s a user"
    assert "interpolated between c=32 and c=16" in figures[1].why
    assert figures[2].measured == "$0.132 per 1M at the same price"
    assert figures[5].why == "no point is that fast"
    assert "no ladder" in beside(said).figures[1].why


def test_times_streams_costs_and_joules_stand_beside_ours() -> None:
    energy = PointEnergy(1, "gpu", "nvml", "counter", 60.0, 60.0 * 3156 * 2)
    statements: tuple[Statement, ...] = (
        Latencies(ttft="70 ms", tpot="2 ms"),
        Streams(100, 32, 3000),
        Streams(100, 64, 3000),
        UnitCost("3,900", "$0.10", 1.86),
        Power(1, 1, "2.1"),
        Listed(7, ("a",)),
    )
    figures = beside(claim_of(10, "total", *statements), summary={"energy": (energy,)}).figures
    told = {(held.what, held.said): held for held in figures[1:]}
    verdicts = [held.verdict for held in told.values()]
    assert verdicts == [
        "supports", "contradicts", "supports", "supports", "does not bear", "does not bear",
        "supports", "contradicts", "supports", "does not bear",
    ]  # fmt: skip
    assert told["P6 TTFT", "70 ms"].measured == "p50 61.0 ms at c=1"
    assert told["P6 TPOT", "2 ms"].why.endswith("the shortest of our points")
    assert told["A8 per stream", "100 tok/s at c=64"].why == "the run has no point at c=64"
    assert told["P5", "2.1 J a token"].measured == "2.00 J per output token (gpu)"


@pytest.mark.parametrize("path", sorted(CLAIMS.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_shipped_claims_are_untouched_by_a_run_of_another_model(path: Path) -> None:
    result = against(load_yaml(path, Claim), run_of(models=("llama",)))
    assert {held.verdict for held in result.figures} == {"does not bear"}
    assert any(text.startswith("model: the claim's is") for text in result.differs)


def test_another_engine_version_is_named_and_leaves_room() -> None:
    result = beside(claim_of(9000, engine_version="0.31.1"))
    assert result.unlike == ("engine version: the claim's is 0.31.1, the run's 0.32.0",)
    assert result.run_silent == ()
    assert result.figures[0].verdict == "does not bear"
    assert beside(claim_of(1000, engine_version="0.31.1")).figures[0].verdict == "supports"


@pytest.mark.parametrize(
    ("said", "measured", "verdict"),
    [
        ("mtp", "drafted", "supports"),
        ("mtp, 2 tokens", "mtp", "supports"),
        ("none", "drafted", "does not bear"),
        ("off", "none", "supports"),
        ("eagle", "mtp", "does not bear"),
    ],
)
def test_speculation_is_on_or_off_and_two_methods_differ(
    said: str, measured: str, verdict: str
) -> None:
    held = headline(claim_of(1000, speculation=said), speculation=measured)
    assert held.verdict == verdict
