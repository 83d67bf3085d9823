"""NVML: the real library without a GPU tells nothing; with GPUs (a stand-in) our units come out."""

import asyncio
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from loadgen.model.observed import Observed
from loadgen.model.plan import Plan, TargetPlan, WorkloadPlan
from loadgen.telemetry.nvml import NvmlSource, is_here, nvml_sources
from loadgen.telemetry.sampling import Means


class RefusedError(Exception):
    """What the stand-in raises for a thing that its GPU doesn't tell."""


def stand_in() -> Any:
    """Two GPUs; the second has no energy counter."""

    def energy(gpu: int) -> int:
        if gpu == 1:
            raise RefusedError
        return 7_000_000

    nvml: Any = ModuleType("pynvml")
    nvml.NVMLError = RefusedError
    nvml.NVML_CLOCK_SM = nvml.NVML_TEMPERATURE_GPU = 0
    nvml.nvmlDeviceGetCount = lambda: 2
    nvml.nvmlDeviceGetHandleByIndex = lambda index: index
    nvml.nvmlDeviceGetUUID = lambda gpu: f"GPU-{gpu}"
    nvml.nvmlDeviceGetName = lambda _: "NVIDIA H200"
    nvml.nvmlSystemGetDriverVersion = lambda: "580.1"
    nvml.nvmlDeviceGetPowerUsage = lambda _: 512_500
    nvml.nvmlDeviceGetTotalEnergyConsumption = energy
    nvml.nvmlDeviceGetUtilizationRates = lambda _: SimpleNamespace(gpu=97)
    nvml.nvmlDeviceGetClockInfo = lambda *_: 1980
    nvml.nvmlDeviceGetTemperature = lambda *_: 61
    nvml.nvmlDeviceGetMemoryInfo = lambda _: SimpleNamespace(used=2**30)
    nvml.nvmlDeviceGetEnforcedPowerLimit = lambda _: 700_000
    return nvml


def means(url: str, **given: Any) -> Means:
    async def ask(url: str) -> str:
        raise AssertionError(url)

    plan = Plan(
        run_id="r", target=TargetPlan(url, "m"), workload=WorkloadPlan(), points=(), **given
    )
    return Means(plan, Observed(), ask, ())


def test_each_gpu_tells_what_it_can_in_our_units() -> None:
    source = NvmlSource(stand_in())
    found = {(one.name, one.part): one.value for one in asyncio.run(source.look())}

    assert found["power_w", "GPU-0"] == 512.5
    assert found["energy_j", "GPU-0"] == 7000
    assert ("energy_j", "GPU-1") not in found
    assert found["sm_clock_hz", "GPU-1"] == 1.98e9
    assert found["power_limit_w", "GPU-0"] == 700
    assert (source.names, source.driver) == (("NVIDIA H200",) * 2, "580.1")


def test_a_machine_without_a_gpu_has_no_source_and_no_error() -> None:
    pynvml = pytest.importorskip("pynvml")
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        assert nvml_sources(means("http://127.0.0.1:8000")) == []
    else:
        pytest.skip("this machine has a GPU")


def test_another_machines_server_is_not_measured_by_our_gpus(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nvml = stand_in()
    nvml.nvmlInit = lambda: None
    monkeypatch.setitem(sys.modules, "pynvml", nvml)

    assert len(nvml_sources(means("http://localhost:8000"))) == 1
    assert nvml_sources(means("http://10.0.0.5:8000")) == []
    url = {"gpu_metrics_url": "http://node:9400/metrics"}
    assert nvml_sources(means("http://localhost:8000", **url)) == []


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://localhost:1", True),
        ("http://127.0.0.1:1/v1", True),
        ("http://[::1]:1", True),
        ("http://10.0.0.5:1", False),
        ("https://api.example", False),
    ],
)
def test_this_machine_is_told_by_loopback_only(url: str, here: bool) -> None:
    assert is_here(url) is here
