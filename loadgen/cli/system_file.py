"""`--system FILE`: what the user says of the system, completed from the tables of facts."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from loadgen.errors import InputError, UsageError
from loadgen.facts import GpuRow, ModelRow, cited, load_gpus, load_models
from loadgen.model.plan import Plan
from loadgen.model.system import (
    BandwidthTbps,
    Billions,
    CacheBytes,
    Count,
    DeclaredEngine,
    DeclaredPrecision,
    DeclaredSystem,
    DeclaredTopology,
    MemoryGb,
    ParamBytes,
    Peaks,
    Said,
    StepTok,
    Watts,
)
from loadgen.specs import load_yaml


class _Model(Struct, frozen=True, forbid_unknown_fields=True):
    """`model:` as it is written; a row of the table may complete it."""

    name: str = ""
    params_total_b: Billions | None = None
    params_active_b: Billions | None = None
    weight_bytes_per_param: ParamBytes | None = None
    kv_bytes_per_token: CacheBytes | None = None
    layers: Count | None = None
    context_tok: Count | None = None
    revision: Said | None = None


class _Gpu(Struct, frozen=True, forbid_unknown_fields=True):
    """`gpu:` as it is written; a row of the table may complete it."""

    name: str
    memory_gb: MemoryGb | None = None
    bandwidth_tbps: BandwidthTbps | None = None
    dense_tflops: Peaks | None = None
    tdp_w: Watts | None = None


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    """The file as it is written."""

    model: _Model
    gpu: _Gpu
    schema: Literal["system/1"] = "system/1"
    gpus_per_replica: Count = 1
    replicas: Count = 1
    compute_format: str | None = None
    tok_per_step: StepTok = 1.0
    engine: DeclaredEngine = DeclaredEngine()
    precision: DeclaredPrecision = DeclaredPrecision()
    topology: DeclaredTopology = DeclaredTopology()
    speculation: Said | None = None
    power_cap_w: Watts | None = None
    driver: Said | None = None
    client: Said | None = None


def load_system(path: Path) -> DeclaredSystem:
    """The declared system of a YAML file; what it leaves out comes from the named rows.

    Raises:
        InputError: unreadable, a value that can't be, or a fact that neither file nor table has;
            names file, path inside it, value and what was expected.

    """
    said = load_yaml(path, _File)
    model = _completed(said.model, load_models())
    gpu = _completed(said.gpu, load_gpus())
    _require_all(path, "model", model, ("params_total_b", "weight_bytes_per_param"), load_models())
    _require_all(path, "gpu", gpu, ("memory_gb", "bandwidth_tbps", "dense_tflops"), load_gpus())
    whole = msgspec.structs.asdict(said) | {"model": model, "gpu": gpu}
    system = msgspec.convert(whole, DeclaredSystem)
    _require_sense(path, system)
    return system


def with_system(name: str | None, gpus: int | None) -> Callable[[Plan], Plan] | None:
    """What gives a plan this file's system instead of its own; None where no file is named.

    Raises: InputError, as `load_system`; UsageError where `--gpus` says otherwise.
    """
    if name is None:
        return None
    system = load_system(Path(name))
    require_same_gpus(gpus, system)

    def told(plan: Plan) -> Plan:
        prices = plan.prices | {"gpus": float(system.gpus)}
        return msgspec.structs.replace(plan, system=system, prices=prices)

    return told


def require_same_gpus(gpus: int | None, system: DeclaredSystem) -> None:
    """Raises UsageError where `--gpus` and the file say different numbers."""
    if gpus is not None and gpus != system.gpus:
        raise UsageError(
            f"`--gpus {gpus}`: the system file says {system.gpus}",
            "leave --gpus away, or correct gpus_per_replica and replicas",
        )


def _completed(part: _Model | _Gpu, rows: Mapping[str, GpuRow | ModelRow]) -> dict[str, Any]:
    """What was said over what the table has; `source` tells which it was."""
    said = {key: value for key, value in msgspec.structs.asdict(part).items() if value is not None}
    row = next((row for key, row in rows.items() if key.lower() == part.name.lower()), None)
    known = {} if row is None else msgspec.structs.asdict(row)
    known = {key: known[key] for key in part.__struct_fields__ if known.get(key) is not None}
    if row is None or known.keys() <= said.keys():
        return {**said, "source": "the user"}
    own = sorted(known.keys() & said.keys())
    return {**known, **said, "source": cited(row) + "".join(f"; {key} by the user" for key in own)}


def _require_all(
    path: Path,
    part: str,
    found: Mapping[str, Any],
    needed: tuple[str, ...],
    known: Mapping[str, Any],
) -> None:
    """Raises InputError for the first fact that neither the file nor a table gives."""
    for key in needed:
        if key not in found:
            name = found.get("name", "")
            raise InputError(
                f"`{path}` at `$.{part}.{key}`: a number was expected, as `{name}` is no row of "
                f"the table; nothing is there",
                f"give it, or name one of {', '.join(known)}",
            )


def _require_sense(path: Path, system: DeclaredSystem) -> None:
    """Raises InputError where fields contradict each other."""
    model, peaks = system.model, system.gpu.dense_tflops
    if model.params_active_b is not None and model.params_active_b > model.params_total_b:
        raise InputError(
            f"`{path}` at `$.model.params_active_b`: at most `params_total_b` "
            f"({model.params_total_b:g}) was expected; the value is {model.params_active_b:g}"
        )
    if system.compute_format is not None and system.compute_format not in peaks:
        raise InputError(
            f"`{path}` at `$.compute_format`: one of {', '.join(peaks)} was expected, the formats "
            f"that `{system.gpu.name}` has; the value is {system.compute_format!r}"
        )
    _require_parts(path, system)


def _require_parts(path: Path, system: DeclaredSystem) -> None:
    """Raises InputError where topology or power cap ask for more than the declared GPUs have."""
    gpus, topology, tdp_w = system.gpus, system.topology, system.gpu.tdp_w
    shared = (topology.tp or 1) * (topology.pp or 1)
    for key, needed in (("tp", shared), ("ep", topology.ep or 1), ("dp", topology.dp or 1)):
        if needed > gpus:
            raise InputError(
                f"`{path}` at `$.topology.{key}`: at most {gpus} GPUs were expected "
                f"(gpus_per_replica x replicas); the value asks for {needed}"
            )
    if system.power_cap_w is not None and tdp_w is not None and system.power_cap_w > tdp_w:
        raise InputError(
            f"`{path}` at `$.power_cap_w`: at most the rating of one `{system.gpu.name}` "
            f"({tdp_w:g} W) was expected; the value is {system.power_cap_w:g}"
        )
    if system.tok_per_step > 1 and (system.speculation or "").lower() in ("none", "off"):
        raise InputError(
            f"`{path}` at `$.speculation`: a method was expected, as `tok_per_step` is "
            f"{system.tok_per_step:g}; the value is {system.speculation!r}"
        )
