"""Everything one simulated server has: made once the loop runs, shared by its routes."""

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from loadgen.mock.answer import Composer
from loadgen.mock.engine.driver import Driver
from loadgen.mock.engine.meters import Meters
from loadgen.mock.engine.simulator import Engine
from loadgen.mock.engine.vocabulary import Vocabulary
from loadgen.mock.faults import Fault, Faults, draw_faults
from loadgen.mock.pacer import Pacer
from loadgen.mock.profiles import Profile
from loadgen.mock.truth import TruthLog

NS_PER_S = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command line asked for."""

    profile: Profile
    seed: int = 1
    truth_path: Path | None = None
    switches: list[Fault] = field(default_factory=list)
    api_key: str | None = None


class Mock:
    """One simulated server. Needs a running event loop."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.profile = settings.profile
        self.vocabulary = Vocabulary()
        self.composer = Composer(settings.profile, self.vocabulary, settings.seed)
        self.meters = Meters()
        self.engine = Engine(settings.profile, self.meters)
        self.pacer = Pacer()
        self.driver = Driver(self.engine, self.pacer)
        self.truth = TruthLog(settings.truth_path)
        self.started_at_ns = time.monotonic_ns()
        self.started_at_s = time.time()
        self.aborts: set[Callable[[], None]] = set()
        self._n_requests = 0
        self._stepping = asyncio.create_task(self.driver.run())

    def next_number(self) -> int:
        """Numbers requests from 0."""
        self._n_requests += 1
        return self._n_requests - 1

    def draw_faults(self, number: int) -> list[Fault]:
        """The server's switches that hit this request."""
        age_s = (time.monotonic_ns() - self.started_at_ns) / NS_PER_S
        return draw_faults(self.settings.switches, self.settings.seed, number, age_s)

    def fault(self, kind: str) -> Fault | None:
        """The server's switch of this kind, regardless of shares."""
        return Faults(self.settings.switches).get(kind)

    def abort_all(self) -> None:
        """Ends every stream as vLLM does when it is told to stop."""
        for abort in list(self.aborts):
            abort()

    async def close(self) -> None:
        """Stops stepping and files what is open."""
        self._stepping.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._stepping
        self.pacer.close()
        self.truth.shut()
