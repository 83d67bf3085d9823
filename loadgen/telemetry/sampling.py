"""Looks at witnesses once a second, and when it is told to. Lives in the parent, never in a worker.

What a source answers is stamped in the middle between asking and answer and handed on; a source
that does not answer is handed on as such, and the run goes on.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from loadgen import clock
from loadgen.model.observed import Observed
from loadgen.model.plan import Plan
from loadgen.model.reading import SILENT, Reading
from loadgen.units import NS_PER_S

PERIOD_NS = NS_PER_S
EDGE_LIMIT_S = 2.0
"""How long a look at a point's edge may keep the point waiting."""


class TelemetryError(Exception):
    """A source did not answer, or with nothing of use; the text says why, in a few words."""


class Source(Protocol):
    """A witness that can be asked at any time, by several looks at once."""

    origin: str
    """Who is asked: a URL without credentials, `nvml`."""

    async def look(self) -> Sequence[Reading]:
        """All values of this instant. Raises: TelemetryError where nobody answers."""


class Ask(Protocol):
    """Gets the text at a URL."""

    async def __call__(self, url: str) -> str:
        """The text. Raises: TelemetryError."""


@dataclass(frozen=True, slots=True)
class Means:
    """What sources are made of."""

    plan: Plan
    observed: Observed
    ask: Ask
    server_urls: tuple[str, ...]
    """Where the serving processes tell their metrics; empty: nobody is to be asked."""


Keep = Callable[[int, Sequence[Reading]], None]
"""Takes an instant and what was read then."""


class Sampler:
    """`start`, `look_now` at the edges of points, `stop`. Each source has a loop of its own."""

    def __init__(self, sources: Sequence[tuple[str, Source]], keep: Keep) -> None:
        """`sources` are pairs of the source's word (`server`, `gpu`) and the source."""
        self._sources = sources
        self._keep = keep
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Looks once a second from now on."""
        self._tasks = [asyncio.create_task(self._watch(*pair)) for pair in self._sources]

    async def look_now(self) -> None:
        """One look at every source; those that take over `EDGE_LIMIT_S` are left out."""
        await asyncio.gather(*(self._look(*pair, EDGE_LIMIT_S) for pair in self._sources))

    async def stop(self) -> None:
        """Ends the loops."""
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError):
                await task
        self._tasks = []

    async def _watch(self, kind: str, source: Source) -> None:
        due_ns = clock.now_ns()
        while True:
            due_ns = max(due_ns + PERIOD_NS, clock.now_ns())
            await asyncio.sleep((due_ns - clock.now_ns()) / NS_PER_S)
            await self._look(kind, source, None)

    async def _look(self, kind: str, source: Source, limit_s: float | None) -> None:
        asked_ns = clock.now_ns()
        try:
            async with asyncio.timeout(limit_s):
                readings = await source.look()
        except (TelemetryError, TimeoutError) as error:
            why = str(error) or f"no answer within {limit_s:g} s"
            readings = [Reading(kind, source.origin, SILENT, why, 1.0)]
        self._keep((asked_ns + clock.now_ns()) // 2, readings)
