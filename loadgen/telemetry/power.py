"""GPU power and energy out of Prometheus text: DCGM's names, or a power series that a user names.

Names are NVIDIA's (dcgm-exporter, default counters): POWER_USAGE in W, TOTAL_ENERGY_CONSUMPTION in
mJ since the driver was loaded, clocks in MHz, memory in MiB.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from loadgen.model.reading import Reading
from loadgen.telemetry.prometheus import Series, read_series
from loadgen.telemetry.sampling import Ask, Means, TelemetryError

GPU = "gpu"
POWER = "power_w"
QUERY = re.compile(r"^\s*([a-zA-Z_:][a-zA-Z0-9_:]*)\s*(?:\{(.*)\})?\s*$", re.DOTALL)
MATCHER = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)')
PART_LABELS = ("UUID", "uuid", "gpu", "device")
"""The first that a series carries tells its GPU."""


class Field(NamedTuple):
    """Our name for a DCGM field and what its values are multiplied by."""

    name: str
    scale: float


DCGM = {
    "DCGM_FI_DEV_POWER_USAGE": Field(POWER, 1.0),
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": Field("energy_j", 1e-3),
    "DCGM_FI_DEV_GPU_UTIL": Field("util_frac", 1e-2),
    "DCGM_FI_DEV_SM_CLOCK": Field("sm_clock_hz", 1e6),
    "DCGM_FI_DEV_GPU_TEMP": Field("temperature_c", 1.0),
    "DCGM_FI_DEV_FB_USED": Field("memory_used_bytes", 2.0**20),
    "DCGM_FI_DEV_POWER_MGMT_LIMIT": Field("power_limit_w", 1.0),
}


class Query(NamedTuple):
    """A series by name, and the labels that it must carry."""

    name: str
    labels: Mapping[str, str]


def parse_query(text: str) -> Query:
    """`node_power_watts{rack="7"}`. Raises: ValueError, saying what was expected."""
    found = QUERY.match(text)
    labels: dict[str, str] = {}
    inner, at = (found[2] or "" if found else ""), 0
    while found and inner[at:].strip():
        pair = MATCHER.match(inner, at)
        if pair is None:
            found = None
            break
        labels[pair[1]] = pair[2]
        at = pair.end()
    if found is None:
        raise ValueError('a series was expected, as node_power_watts{rack="7"}')
    return Query(found[1], labels)


class PowerSource:
    """One URL. `names` are the GPUs that it told of last, `driver` their driver."""

    def __init__(self, url: str, ask: Ask, query: str = "") -> None:
        """`query`: the power series in watts; empty: DCGM's fields. Raises: ValueError."""
        self.origin = url.partition("?")[0]
        self.names: tuple[str, ...] = ()
        self.driver: str | None = None
        self._url = url
        self._ask = ask
        self._query = parse_query(query) if query else None

    async def look(self) -> Sequence[Reading]:
        """All power values of this instant. Raises: TelemetryError."""
        text = await self._ask(self._url)
        if self._query is not None:
            readings = list(read_query(text, self._query, self.origin))
            missing = f"answers without the series `{self._query.name}`"
        else:
            series = read_series(text, frozenset(DCGM))
            readings = list(read_dcgm(series, self.origin))
            self._note_gpus(series)
            missing = "answers, but with no power series of DCGM's"
        if not readings:
            raise TelemetryError(missing)
        return readings

    def _note_gpus(self, series: Series) -> None:
        """Names and driver, as the labels tell them."""
        found = {
            _part(labels): labels
            for samples in series.values()
            for labels, _ in samples
            if "modelName" in labels
        }
        if found:
            self.names = tuple(found[part]["modelName"] for part in sorted(found))
            drivers = {labels.get("DCGM_FI_DRIVER_VERSION") for labels in found.values()}
            self.driver = next((driver for driver in drivers if driver), None)


def power_sources(means: Means) -> list[PowerSource]:
    """One, where the plan names a URL for power."""
    plan = means.plan
    if not plan.gpu_metrics_url:
        return []
    return [PowerSource(plan.gpu_metrics_url, means.ask, plan.power_query)]


def read_dcgm(series: Series, origin: str) -> Iterator[Reading]:
    """Values by GPU; of several for one GPU (its MIG slices repeat it), the largest."""
    found: dict[tuple[str, str], float] = {}
    for theirs, samples in series.items():
        name, scale = DCGM[theirs]
        for labels, value in samples:
            key = name, _part(labels)
            found[key] = max(value * scale, found.get(key, value * scale))
    for (name, part), value in sorted(found.items()):
        yield Reading(GPU, origin, name, part, value)


def read_query(text: str, query: Query, origin: str) -> Iterator[Reading]:
    """Watts of each series that matches, told apart by its other labels."""
    for labels, value in read_series(text, frozenset({query.name})).get(query.name, []):
        if all(labels.get(name) == wanted for name, wanted in query.labels.items()):
            part = ",".join(f"{k}={v}" for k, v in sorted(labels.items()) if k not in query.labels)
            yield Reading(GPU, origin, POWER, part, value)


def _part(labels: Mapping[str, str]) -> str:
    return next((labels[label] for label in PART_LABELS if label in labels), "")
