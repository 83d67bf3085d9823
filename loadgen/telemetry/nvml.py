"""The GPUs of this machine by NVML (extra `[gpu]`): power, energy, clocks, names, driver.

Absent without the library, a driver or a GPU: then nothing is told, and nothing is wrong.
"""

import asyncio
from collections.abc import Callable, Sequence
from ipaddress import ip_address
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from loadgen.model.reading import Reading
from loadgen.telemetry.power import GPU, POWER
from loadgen.telemetry.sampling import Means, TelemetryError

OWN_MOCK = "loadgen mock"
"""The built-in server: its tokens take no GPU."""


class NvmlSource:
    """All GPUs that NVML shows; `names` one a GPU."""

    origin = "nvml"

    def __init__(self, nvml: ModuleType) -> None:
        """`nvml` is pynvml, initialised. Raises: its NVMLError."""
        self._nvml: Any = nvml
        self._gpus = [
            nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())
        ]
        self._uuids = [str(nvml.nvmlDeviceGetUUID(gpu)) for gpu in self._gpus]
        self.names = tuple(str(nvml.nvmlDeviceGetName(gpu)) for gpu in self._gpus)
        self.driver: str | None = str(nvml.nvmlSystemGetDriverVersion())

    @property
    def count(self) -> int:
        """How many GPUs there are."""
        return len(self._gpus)

    async def look(self) -> Sequence[Reading]:
        """All values that each GPU tells, asked in a thread. Raises: TelemetryError."""
        return await asyncio.to_thread(self._look)

    def _look(self) -> list[Reading]:
        nvml = self._nvml
        found: list[Reading] = []
        for uuid, gpu in zip(self._uuids, self._gpus, strict=True):
            asked: dict[str, Callable[[Any], float]] = {
                POWER: lambda gpu: nvml.nvmlDeviceGetPowerUsage(gpu) / 1e3,
                "energy_j": lambda gpu: nvml.nvmlDeviceGetTotalEnergyConsumption(gpu) / 1e3,
                "util_frac": lambda gpu: nvml.nvmlDeviceGetUtilizationRates(gpu).gpu / 1e2,
                "sm_clock_hz": lambda gpu: (
                    nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_SM) * 1e6
                ),
                "temperature_c": lambda gpu: nvml.nvmlDeviceGetTemperature(
                    gpu, nvml.NVML_TEMPERATURE_GPU
                ),
                "memory_used_bytes": lambda gpu: nvml.nvmlDeviceGetMemoryInfo(gpu).used,
                "power_limit_w": lambda gpu: nvml.nvmlDeviceGetEnforcedPowerLimit(gpu) / 1e3,
            }
            for name, ask in asked.items():
                try:
                    found.append(Reading(GPU, self.origin, name, uuid, float(ask(gpu))))
                except nvml.NVMLError:  # not every GPU tells every thing
                    continue
        if not found:
            raise TelemetryError("NVML tells nothing of any GPU")
        return found


def nvml_sources(means: Means) -> list[NvmlSource]:
    """The GPUs of this machine, where the target is here too and nothing else tells of power."""
    plan, mocked = means.plan, means.observed.engine == OWN_MOCK
    if plan.gpu_metrics_url or mocked or not is_here(plan.target.base_url):
        return []
    try:
        import pynvml
    except ImportError:
        return []
    try:
        pynvml.nvmlInit()
        source = NvmlSource(pynvml)
    except pynvml.NVMLError:
        return []
    return [source] if source.count else []


def is_here(url: str) -> bool:
    """Whether a URL means this machine: by a loopback address, or as localhost."""
    host = (urlsplit(url).hostname or "").lower()
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
