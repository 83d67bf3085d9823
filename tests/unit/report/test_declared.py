"""What the user declared of the system stands in every report as declared, and only there."""

import json
from dataclasses import replace

import msgspec

from loadgen.analysis import summarise
from loadgen.model.system import DeclaredGpu, DeclaredModel, DeclaredSystem
from loadgen.model.table import Recording
from loadgen.report import OUTPUTS
from tests.tables import closed_loop, recording

SYSTEM = DeclaredSystem(
    model=DeclaredModel(671, 1, "deepseek-v3", params_active_b=37, source="a paper"),
    gpu=DeclaredGpu("H200", 141, 4.8, {"fp8": 1978.9}, source="the user"),
    gpus_per_replica=8,
    replicas=2,
    tok_per_step=2,
)


def made(system: DeclaredSystem | None) -> Recording:
    one = recording(closed_loop(1, 5), "closed:1")
    return replace(one, plan=msgspec.structs.replace(one.plan, system=system))


def printed(output: str, system: DeclaredSystem | None) -> str:
    one = made(system)
    return "".join(OUTPUTS[output](summarise(one), one))


def test_text_and_markdown_say_declared_in_one_line() -> None:
    for output in ("text", "md"):
        line = next(line for line in printed(output, SYSTEM).splitlines() if "declared:" in line)
        assert "deepseek-v3 · 37 of 671e9 params x 1 B · 8 x H200 x 2 replicas" in line
        assert "2 tokens a step" in line
        assert "declared:" not in printed(output, None)


def test_a_dense_model_is_said_in_one_number() -> None:
    dense = DeclaredSystem(DeclaredModel(8.03, 2), DeclaredGpu("card", 24, 1, {"bf16": 100}))

    assert "declared: a model · 8.03e9 params x 2 B · 1 x card" in printed("text", dense)


def test_json_keeps_declared_beside_observed() -> None:
    document = json.loads(printed("json", SYSTEM))

    assert document["declared"]["model"]["source"] == "a paper"
    assert document["declared"]["gpu"]["bandwidth_tbps"] == 4.8
    assert "H200" not in json.dumps(document["observed"])
    assert json.loads(printed("json", None))["declared"] is None
