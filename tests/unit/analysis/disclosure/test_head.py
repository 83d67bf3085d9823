"""The six values and the card: what is told, by whom, and what a contradiction is."""

from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest

from loadgen.analysis import summarise
from loadgen.analysis.disclosure.card import FIELDS
from loadgen.analysis.disclosure.declared import compared
from loadgen.model.disclosure import DisclosedField, Disclosure
from loadgen.model.energy import PointEnergy
from loadgen.model.observed import Observed
from loadgen.model.series import Telemetry
from loadgen.model.summary import Summary
from loadgen.model.system import (
    DeclaredEngine,
    DeclaredGpu,
    DeclaredModel,
    DeclaredPrecision,
    DeclaredSystem,
    DeclaredTopology,
)
from loadgen.model.table import Recording
from tests.tables import closed_loop, codes, healthy, recording

GPU = DeclaredGpu("H200", 141, 4.8, {"fp8": 1979}, 700)
MODEL = DeclaredModel(8, 1, "tiny-8b")
WHOLE = DeclaredSystem(
    msgspec.structs.replace(MODEL, revision="r1"),
    GPU,
    gpus_per_replica=2,
    engine=DeclaredEngine("vllm", "0.32.0", "--x", "sha256:" + "0" * 64),
    precision=DeclaredPrecision("fp8", "fp8", "fp8"),
    topology=DeclaredTopology(2, 1, 1, 1, False, "NVLink"),
    speculation="none",
    power_cap_w=600,
    driver="580.1",
    client="same rack",
)
SEEN = Observed(engine="vLLM", engine_version="0.32.0", models=("tiny",), rtt_ns=80_000)


def run_of(
    system: DeclaredSystem | None = None, observed: Observed = SEEN, **plan: Any
) -> Recording:
    calls = [*closed_loop(1, 70, prompt=1000, cached=0)]
    calls += closed_loop(4, 20, point=1, prompt=1000, cached=0)
    return recording(
        calls,
        ["closed:1", "closed:4"],
        health=[healthy(0, 70), healthy(1, 80)],
        observed=observed,
        plan={"system": system, **plan},
    )


def told(run: Recording) -> dict[str, DisclosedField]:
    return {field.field: field for field in disclosed(summarise(run)).fields}


def disclosed(summary: Summary) -> Disclosure:
    assert summary.disclosure is not None
    return summary.disclosure


def series(**values: list[float]) -> Telemetry:
    rows = [(name, value) for name, many in values.items() for value in many]
    words = [np.array([text] * len(rows), dtype=object) for text in ("server", "url")]
    return Telemetry(
        at_ns=np.arange(len(rows), dtype=np.int64),
        source=words[0],
        origin=words[1],
        name=np.array([name for name, _ in rows], dtype=object),
        part=np.array(["0"] * len(rows), dtype=object),
        value=np.array([value for _, value in rows]),
    )


def test_weights_sum_to_a_hundred_and_groups_to_their_own() -> None:
    groups: dict[str, float] = {}
    for field in FIELDS:
        groups[field.group] = groups.get(field.group, 0) + field.weight

    assert sum(groups.values()) == pytest.approx(100)
    assert groups == {
        "semantics": 20, "workload": 18, "load": 10, "model": 10, "system": 12, "latency": 8,
        "duration": 6, "replication": 6, "energy": 4, "cost": 3, "quality": 3,
    }  # fmt: skip
    assert len({field.field for field in FIELDS}) == len(FIELDS)


def test_what_nobody_told_is_missing_with_what_would_tell_it() -> None:
    fields = told(run_of())

    for name in ("weight precision", "topology", "image digest", "power cap", "quality", "energy"):
        assert fields[name].status == "missing"
        assert fields[name].hint
        assert not fields[name].observed + fields[name].declared
    assert fields["engine version"].status == "observed"
    assert fields["engine version"].observed == "vLLM 0.32.0"
    assert fields["sampling"].status == "inferred"


def test_declared_and_observed_stand_in_their_own_columns() -> None:
    fields = told(run_of(WHOLE))

    assert (fields["gpu"].declared, fields["gpu"].observed) == ("2 x H200", "")
    assert fields["gpu"].status == "declared"
    both = fields["engine version"]
    assert (both.declared, both.observed, both.status) == ("vllm 0.32.0", "vLLM 0.32.0", "observed")
    assert fields["topology"].declared == "tp2 pp1 ep1 dp1"
    assert fields["weight precision"].declared == "fp8"


def test_the_score_adds_told_weights_and_six_tenths_of_inferred_ones() -> None:
    found = disclosed(summarise(run_of(WHOLE, prices={"gpus": 2.0, "gpu_usd_per_h": 2.0})))

    lacking = {f.field for f in found.fields if f.status == "missing"}
    assert lacking == {"spread", "independent run", "energy", "quality"}
    inferred = {f.field for f in found.fields if f.status == "inferred"}
    assert inferred == {"sampling"}
    assert found.score == pytest.approx(100 - 3 - 1 - 4 - 3 - 0.4 * 2)


def test_bytes_a_weight_bound_the_precision_that_nobody_named() -> None:
    fields = told(run_of(DeclaredSystem(MODEL, GPU)))

    assert fields["weight precision"].status == "inferred"
    assert fields["interconnect"].observed == "one GPU"
    assert fields["topology"].status == "inferred"


@pytest.mark.parametrize(
    ("declared", "observed", "relation"),
    [
        ("0.32.0", "0.32.0", "agrees"),
        ("0.32", "0.32.0", "agrees"),
        ("v0.32.0", "0.32.0+cu130", "agrees"),
        ("0.3", "0.32.0", "contradicts"),
        ("0.31.0", "0.32.0", "contradicts"),
        (None, "0.32.0", "unknown"),
        ("0.32.0", None, "unknown"),
    ],
)
def test_versions_agree_up_to_a_whole_part(
    declared: str | None, observed: str | None, relation: str
) -> None:
    system = msgspec.structs.replace(WHOLE, engine=DeclaredEngine("vllm", declared))
    run = run_of(system, msgspec.structs.replace(SEEN, engine_version=observed))

    found = {one.field: one.relation for one in compared(run)}
    assert found["engine version"] == relation


@pytest.mark.parametrize(
    ("declared", "cache_dtype", "relation"),
    [
        ("fp8", "fp8_e4m3", "agrees"),
        ("bf16", "bfloat16", "agrees"),
        ("bf16", "fp8", "contradicts"),
        ("fp8", "auto", "unknown"),
        ("fp8", "", "unknown"),
    ],
)
def test_the_cache_format_is_held_against_the_engines_own(
    declared: str, cache_dtype: str, relation: str
) -> None:
    system = msgspec.structs.replace(WHOLE, precision=DeclaredPrecision(kv=declared))
    config = {"cache_dtype": cache_dtype} if cache_dtype else {}
    run = run_of(system, msgspec.structs.replace(SEEN, cache_config=config))

    assert {one.field: one.relation for one in compared(run)}["kv precision"] == relation
    wanted = "contradicted" if relation == "contradicts" else told(run)["kv precision"].status
    assert told(run)["kv precision"].status == wanted


def test_what_can_not_both_be_true_is_one_finding_with_both_words() -> None:
    system = msgspec.structs.replace(
        WHOLE, engine=DeclaredEngine("sglang", "0.5"), precision=DeclaredPrecision(kv="bf16")
    )
    observed = msgspec.structs.replace(
        SEEN,
        cache_config={"cache_dtype": "fp8"},
        gpu_names=("NVIDIA L40S",) * 2,
        gpu_driver="570.3",
    )
    run = replace(
        run_of(system, observed), telemetry=series(power_limit_w=[700, 700], drafts=[0, 9])
    )

    summary = summarise(run)

    finding = next(f for f in summary.findings if f.code == "declared_contradicted")
    assert finding.severity == "doubt"
    assert summary.verdict != "valid"
    for words in (
        "engine: declared `sglang`, observed `vLLM`",
        "engine version: declared `0.5`, observed `0.32.0`",
        "kv precision: declared `bf16`, observed `fp8`",
        "gpu: declared `H200`, observed `NVIDIA L40S`",
        "driver: declared `580.1`, observed `570.3`",
        "power cap: declared `600 W`, observed `700 W`",
        "speculation: declared `none`, observed `tokens drafted`",
    ):
        assert words in finding.text


def test_a_truthful_declaration_fires_nothing() -> None:
    observed = msgspec.structs.replace(
        SEEN,
        cache_config={"cache_dtype": "fp8"},
        gpu_names=("NVIDIA H200",) * 2,
        gpu_driver="580.1",
    )
    run = replace(run_of(WHOLE, observed), telemetry=series(power_limit_w=[600], drafts=[3, 3]))

    assert not {"declared_contradicted", "declared_name_differs"} & codes(summarise(run)).keys()
    assert "contradicted" not in {field.status for field in told(run).values()}


@pytest.mark.parametrize(
    ("name", "root", "fires"),
    [
        ("tiny-8b", None, False),
        ("deepseek-v3", None, True),
        ("deepseek-v3", "deepseek-ai/DeepSeek-V3", False),
        ("", None, False),
    ],
)
def test_an_unlike_served_name_is_a_note_and_its_root_may_explain_it(
    name: str, root: str | None, fires: bool
) -> None:
    system = DeclaredSystem(msgspec.structs.replace(MODEL, name=name), GPU)
    run = run_of(system, msgspec.structs.replace(SEEN, model_root=root))

    found = codes(summarise(run)).get("declared_name_differs")
    assert found == ("note" if fires else None)


def test_the_six_values_carry_figure_interval_n_and_point() -> None:
    six = {one.name: one for one in disclosed(summarise(run_of())).six}

    assert list(six) == [
        "aggregate_throughput", "single_stream", "ttft", "latency", "energy", "cost",
    ]  # fmt: skip
    assert (
        six["single_stream"].text == "100 tok/s (100 .. 100, 95 %, order statistics; n 69) at c=1"
    )
    assert six["ttft"].text.startswith("p50 50.0 ms (")
    assert "p95" in six["latency"].text
    assert six["latency"].text.endswith("at c=4")
    for name in ("energy", "cost"):
        assert six[name].text == "not measured"
        assert six[name].hint
        assert not six[name].measured
    assert all(one.definition for one in six.values())


def test_cost_and_energy_are_told_with_their_basis() -> None:
    from loadgen.analysis.disclosure.head import disclosure_of

    run = run_of(prices={"gpus": 2.0, "gpu_usd_per_h": 3.6})
    summary = summarise(run)
    best = summary.headline.best_aggregate
    assert best is not None
    rate = summary.points[best].measures["out_tps"].value
    assert rate is not None
    spent = PointEnergy(best, "gpu", "nvml", "counter", 2.0, joules=rate * 2.0 * 0.5)
    six = {
        one.name: one
        for one in disclosure_of(msgspec.structs.replace(summary, energy=(spent,)), run).six
    }

    assert six["energy"].text == "0.500 J per output token (gpu, counter) at c=4"
    usd = 2 * 3.6 / 3600 / rate * 1e6
    assert f"${usd:.2f} per 1M output, all on it" in six["cost"].text
    assert "$3.6/GPU-h x 2, 100 % busy" in six["cost"].text


def test_a_run_without_any_answer_discloses_nothing_measured() -> None:
    found = disclosed(summarise(recording([])))

    assert not any(one.measured for one in found.six)
    assert all(one.hint for one in found.six)


ARGS = {
    "quantization": "modelopt_fp4",
    "kv_cache_dtype": "fp8_e4m3",
    "tp_size": "4",
    "dp_size": "1",
    "revision": "9b4e",
    "speculative_algorithm": "EAGLE",
}


def test_what_an_engine_tells_of_its_settings_is_observed() -> None:
    run = run_of(None, msgspec.structs.replace(SEEN, cache_config={}, server_args=ARGS))
    card = told(run)
    for field, words in (
        ("weight precision", "modelopt_fp4"),
        ("kv precision", "fp8_e4m3"),
        ("topology", "tp4 dp1"),
        ("revision", "9b4e"),
        ("speculation", "tokens drafted"),
    ):
        assert (card[field].status, card[field].observed) == ("observed", words)
    assert "tp_size 4" in card["engine flags"].observed


@pytest.mark.parametrize(
    ("weights", "method", "relation"),
    [
        ("fp4", "modelopt_fp4", "agrees"),
        ("fp8", "modelopt_fp4", "contradicts"),
        ("int4", "awq", "unknown"),
        ("fp8", "w8a8_fp8", "agrees"),
    ],
)
def test_a_quantization_method_contradicts_only_by_the_format_in_its_name(
    weights: str, method: str, relation: str
) -> None:
    system = msgspec.structs.replace(WHOLE, precision=DeclaredPrecision(weights=weights))
    run = run_of(system, msgspec.structs.replace(SEEN, server_args={"quantization": method}))
    assert {one.field: one.relation for one in compared(run)}["weight precision"] == relation


def test_declared_ranks_are_held_against_the_engines_own() -> None:
    system = msgspec.structs.replace(WHOLE, topology=DeclaredTopology(tp=8))
    run = run_of(system, msgspec.structs.replace(SEEN, server_args={"tp_size": "4"}))
    assert told(run)["topology"].status == "contradicted"
    assert "declared_contradicted" in codes(summarise(run))
