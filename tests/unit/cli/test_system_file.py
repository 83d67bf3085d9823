"""`--system FILE`: completed from the tables, refused by name, kept apart in the plan."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from loadgen.cli.options import MoneyOptions, ResultOptions, SharedOptions
from loadgen.cli.plans import Order, plan_of
from loadgen.cli.request_options import EndpointOptions
from loadgen.cli.system_file import load_system
from loadgen.errors import InputError, UsageError
from loadgen.model.plan import Plan
from loadgen.model.system import DeclaredSystem

PAGE = (Path(__file__).parents[3] / "docs" / "system-file.md").read_text(encoding="utf-8")
ORDER = Order("sweep", "http://host:8000", None, ("closed:1",))
CARD = {"name": "card", "memory_gb": 24, "bandwidth_tbps": 1.0, "dense_tflops": {"bf16": 100}}
MODEL = {"name": "mine", "params_total_b": 8, "weight_bytes_per_param": 2}


def written(folder: Path, **parts: Any) -> Path:
    path = folder / "system.yaml"
    path.write_text(yaml.safe_dump(parts), encoding="utf-8")
    return path


def plan(path: Path, **groups: Any) -> Plan:
    endpoint = EndpointOptions(system=str(path))
    return plan_of(ORDER, SharedOptions(endpoint=endpoint, **groups))


def test_names_of_the_tables_need_no_figures(tmp_path: Path) -> None:
    system = load_system(
        written(tmp_path, model={"name": "deepseek-v3"}, gpu={"name": "h200"}, gpus_per_replica=8)
    )

    assert system.params_active == 37e9
    assert system.replica_bandwidth_bps == pytest.approx(8 * 4.8e12)
    assert system.replica_memory_bytes == pytest.approx(8 * 141e9)
    assert "second-hand" in system.gpu.source
    assert "arXiv" in system.model.source


def test_what_was_said_comes_before_the_table_and_is_named(tmp_path: Path) -> None:
    model = {"name": "llama-3.1-8b", "weight_bytes_per_param": 1}
    system = load_system(written(tmp_path, model=model, gpu=CARD))

    assert system.model.weight_bytes_per_param == 1
    assert system.model.kv_bytes_per_token == 131072
    assert system.model.source.endswith("; weight_bytes_per_param by the user")
    assert system.gpu.source == "the user"


def test_the_fastest_format_is_taken_unless_one_is_said(tmp_path: Path) -> None:
    parts: dict[str, Any] = {"model": MODEL, "gpu": {"name": "H100"}}
    fastest = load_system(written(tmp_path, **parts))
    slower = load_system(written(tmp_path, **parts, compute_format="bf16"))

    assert fastest.replica_flops == pytest.approx(1978.9e12)
    assert slower.replica_flops == pytest.approx(989.4e12)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"gpu": {**CARD, "bandwidth_tbps": 3350}}, ["$.gpu.bandwidth_tbps", "3350", "<= 1000"]),
        ({"gpu": {**CARD, "bandwidth": 1}}, ["$.gpu", "unknown field `bandwidth`"]),
        (
            {"model": {**MODEL, "params_total_b": "8B"}},
            ["$.model.params_total_b", "8B", "a number was expected"],
        ),
        ({"model": {**MODEL, "params_active_b": 9}}, ["$.model.params_active_b", "at most", "9"]),
        ({"model": {"name": "mine"}}, ["$.model.params_total_b", "`mine` is no row"]),
        ({"gpu": {"name": "TPU"}}, ["$.gpu.memory_gb", "`TPU` is no row"]),
        ({"compute_format": "fp4"}, ["$.compute_format", "bf16", "'fp4'"]),
        ({"gpus_per_replica": 0}, ["$.gpus_per_replica", "0", ">= 1"]),
        ({"tok_per_step": 0.5}, ["$.tok_per_step", "0.5", ">= 1"]),
        ({"schema": "system/2"}, ["$.schema", "system/2"]),
        ({"gpu": {**CARD, "dense_tflops": {}}}, ["$.gpu.dense_tflops", ">= 1"]),
    ],
)
def test_an_error_names_file_place_value_and_what_was_expected(
    tmp_path: Path, change: dict[str, Any], said: list[str]
) -> None:
    path = written(tmp_path, **{"model": MODEL, "gpu": CARD, **change})

    with pytest.raises(InputError) as caught:
        load_system(path)

    assert all(word in str(caught.value) for word in [str(path), *said]), str(caught.value)


def test_a_file_that_is_not_there_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        load_system(tmp_path / "none.yaml")


def test_the_plan_keeps_what_was_declared_and_counts_its_gpus(tmp_path: Path) -> None:
    made = plan(written(tmp_path, model=MODEL, gpu=CARD, gpus_per_replica=4, replicas=2))

    assert isinstance(made.system, DeclaredSystem)
    assert made.system.gpus == 8
    assert made.prices["gpus"] == 8.0


def test_gpus_that_contradict_the_file_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, model=MODEL, gpu=CARD, gpus_per_replica=4)

    with pytest.raises(UsageError, match="the system file says 4"):
        plan(path, money=MoneyOptions(gpus=8))
    assert plan(path, money=MoneyOptions(gpus=4)).prices["gpus"] == 4.0


def test_a_run_repeated_from_its_plan_keeps_the_declared_system(tmp_path: Path) -> None:
    first = plan(written(tmp_path, model=MODEL, gpu=CARD))
    run = tmp_path / "run.json"
    run.write_bytes(msgspec.json.encode({"plan": first}))

    again = plan_of(ORDER, SharedOptions(results=ResultOptions(config=str(run))))

    assert again.system == first.system


def test_nothing_declared_is_null_in_the_plan() -> None:
    assert plan_of(ORDER, SharedOptions()).system is None


def test_the_examples_of_the_page_load(tmp_path: Path) -> None:
    examples = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)

    assert len(examples) == 3
    for text in examples:
        path = tmp_path / "example.yaml"
        path.write_text(text, encoding="utf-8")
        assert load_system(path).gpus in {2, 4, 8}


def test_the_page_describes_every_field() -> None:
    parts = {"": DeclaredSystem}
    for name, kind in parts.items():
        fields = [field for field in kind.__struct_fields__ if field not in {"model", "gpu"}]
        assert all(name + field in PAGE for field in fields)
    system = DeclaredSystem.__annotations__
    for part in ("model", "gpu", "engine", "precision", "topology"):
        fields = [field for field in system[part].__struct_fields__ if field != "source"]
        assert all(f"`{part}.{field}`" in PAGE for field in fields), fields


def test_what_a_reader_asks_for_is_kept_as_said(tmp_path: Path) -> None:
    system = load_system(
        written(
            tmp_path,
            model={**MODEL, "revision": "main"},
            gpu=CARD,
            gpus_per_replica=4,
            engine={"name": "vllm", "version": "0.32.0", "image_digest": "sha256:" + "0" * 64},
            precision={"weights": "fp4", "kv": "fp8"},
            topology={"tp": 2, "pp": 2, "disaggregated": False},
            speculation="none",
            driver="580.65",
        )
    )

    assert system.model.revision == "main"
    assert (system.engine.version, system.engine.flags) == ("0.32.0", None)
    assert (system.precision.kv, system.precision.activations) == ("fp8", None)
    assert (system.topology.tp, system.topology.disaggregated) == (2, False)


@pytest.mark.parametrize(
    ("parts", "place", "value"),
    [
        ({"topology": {"tp": 0}}, "$.topology.tp", "0"),
        ({"topology": {"tp": 4, "pp": 4}}, "$.topology.tp", "16"),
        ({"topology": {"dp": 9}}, "$.topology.dp", "9"),
        ({"engine": {"image_digest": "latest"}}, "$.engine.image_digest", "latest"),
        ({"engine": {"versoin": "1"}}, "$.engine", "versoin"),
        ({"power_cap_w": 500}, "$.power_cap_w", "500"),
        ({"speculation": "none", "tok_per_step": 2}, "$.speculation", "none"),
    ],
)
def test_what_can_not_be_is_refused_by_its_place(
    tmp_path: Path, parts: dict[str, Any], place: str, value: str
) -> None:
    card = {**CARD, "tdp_w": 400}
    path = written(tmp_path, model=MODEL, gpu=card, gpus_per_replica=8, **parts)

    with pytest.raises(InputError) as refusal:
        load_system(path)

    assert str(path) in str(refusal.value)
    assert place in str(refusal.value)
    assert value in str(refusal.value)
