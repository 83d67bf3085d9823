"""The witnesses of a run, asked once a second and at both ends of every point. Parent only."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from loadgen import clock
from loadgen.measure.asking import Asker, metrics_urls
from loadgen.model.observed import Observed
from loadgen.model.plan import Plan
from loadgen.store.samples import SampleLog, write_metrics_text
from loadgen.telemetry import SOURCES
from loadgen.telemetry.nvml import NvmlSource
from loadgen.telemetry.power import PowerSource
from loadgen.telemetry.prometheus import PrometheusSource
from loadgen.telemetry.sampling import Means, Sampler, Source
from loadgen.units import NS_PER_S

QUIET_NS = NS_PER_S // 2
"""Between the first look and the first request: a server of ours alone stands still then."""
SETTLE_S = 0.1
"""Between a point's last answer and the look after it: servers book a finished request late."""


class Telemeter:
    """`open` before the first point, `before_point` and `after_point` with each, `leave` at last.

    Without any source none of them does a thing.
    """

    def __init__(
        self, plan: Plan, observed: Observed, secrets: Mapping[str, str], folder: Path
    ) -> None:
        self._folder = folder
        self._asker = Asker(plan.target, secrets)
        means = Means(plan, observed, self._asker, metrics_urls(plan, observed))
        self._sources: list[tuple[str, Source]] = [
            (kind, source) for kind, made in SOURCES.items() for source in made(means)
        ]
        self._sampler = Sampler(self._sources, SampleLog(folder).keep)
        self._quiet_ns = max(QUIET_NS, round(plan.idle_s * NS_PER_S))
        self._idle_s = plan.idle_s
        self._quiet_until_ns = 0

    async def open(self) -> None:
        """A first look, and one each second from now on."""
        if self._sources:
            await self._sampler.look_now()
            self._quiet_until_ns = clock.now_ns() + self._quiet_ns
            self._sampler.start()

    async def before_point(self, index: int) -> None:
        """A look that is over before the point's first request leaves; the texts are kept."""
        if self._sources:
            await asyncio.sleep((self._quiet_until_ns - clock.now_ns()) / NS_PER_S)
            await self._sampler.look_now()
            self._keep_texts(f"point-{index:03d}-start")

    async def after_point(self, index: int) -> None:
        """A look after the point's last answer; the texts are kept."""
        if self._sources:
            await asyncio.sleep(SETTLE_S)
            await self._sampler.look_now()
            self._keep_texts(f"point-{index:03d}-end")

    def told_of(self, observed: Observed) -> Observed:
        """What was observed, with the GPUs that a source has named."""
        for _, source in self._sources:
            if isinstance(source, PowerSource | NvmlSource) and source.names:
                return replace(observed, gpu_names=source.names, gpu_driver=source.driver)
        return observed

    async def watch_idle(self) -> None:
        """Waits for as long as the plan wants the idle server watched after the last point."""
        if self._sources:
            await asyncio.sleep(self._idle_s)

    async def leave(self, *, at_once: bool) -> None:
        """A last look, unless it must end at once, and no more."""
        await self._sampler.stop()
        if self._sources and not at_once:
            await self._sampler.look_now()
        await self._asker.aclose()

    def _keep_texts(self, name: str) -> None:
        texts = [s for _, s in self._sources if isinstance(s, PrometheusSource)]
        for number, source in enumerate(texts):
            if source.text:
                write_metrics_text(self._folder, f"{name}-{number}", source.text)
