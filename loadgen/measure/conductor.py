"""The parent of a run: starts workers, gives all one start instant, hears Ctrl-C, ends clean.

Everything that it knows is written to run.json as soon as it is known, so that a run that is
killed at any moment can still be read.
"""

import asyncio
import dataclasses
import os
import signal
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec.structs import replace

from loadgen import clock
from loadgen.errors import LoadgenError
from loadgen.measure.children import Pair, start_pair
from loadgen.measure.failing import failed_too_often
from loadgen.measure.frames import Begin, Command, EndPoint, Go, Halt, Listen, Prepare
from loadgen.measure.provenance import provenance_of
from loadgen.measure.status import Status
from loadgen.measure.surroundings import Surroundings
from loadgen.measure.telemeter import Telemeter
from loadgen.measure.watching import Watcher
from loadgen.model.observed import ClientHealth, Observed
from loadgen.model.plan import Anchor, Plan, PointPlan, Share
from loadgen.store.folder import RunFile, update_run_file, write_run_file
from loadgen.store.journal import append_health
from loadgen.store.progress import Progress
from loadgen.units import NS_PER_MS, NS_PER_S

LOOK_PERIOD_S = 0.2
START_LEAD_NS = 10 * NS_PER_MS
"""Between telling the workers and the start instant, so that all of them make it in time."""

PROFILING_LEAD_NS = NS_PER_S
"""The same after a replay's warm-up: time for the bodies of all that is due at once then."""

STAGGER_MAX_NS = 20 * NS_PER_S


class Conductor:
    """Runs a plan's points one after the other on the same workers."""

    def __init__(
        self,
        plan: Plan,
        folder: Path,
        secrets: Mapping[str, str],
        observed: Observed,
        watch: Callable[[Status], None],
    ) -> None:
        self._plan = plan
        self._folder = folder
        self._secrets = dict(secrets)
        self._observed = observed
        self._watch = watch
        self._progress = Progress.create(folder, plan.workers)
        self._watcher = Watcher(plan, self._progress)
        self._surroundings = Surroundings(plan, observed, lambda port: self._tell_all(Listen(port)))
        self._telemeter = Telemeter(plan, observed, secrets, folder)
        self._pairs: list[Pair] = []
        self._interrupts = 0
        self._is_broken = False

    async def conduct(self) -> None:
        """Returns when all points have ended or the user stopped the run; all is on disk then.

        Raises `LoadgenError` when a worker died; what was measured is kept.
        """
        self._write_start()
        self._hear_interrupts()
        try:
            shares = [Share(index, self._plan.workers) for index in range(self._plan.workers)]
            with children_deaf_to_interrupts():
                starts = (start_pair(self._plan, s, self._folder, self._secrets) for s in shares)
                opening = asyncio.create_task(self._telemeter.open())
                self._pairs = await asyncio.gather(*starts)
            await opening
            self._observed = self._telemeter.told_of(self._observed)
            _leave_priority_to_workers()
            await self._run_points()
            if not self._interrupts:
                await self._telemeter.watch_idle()
        except LoadgenError:
            self._is_broken = True
            for pair in self._pairs:
                pair.kill()
            raise
        finally:
            await self._surroundings.leave()
            await self._telemeter.leave(at_once=self._is_broken or self._interrupts > 1)
            await asyncio.gather(*(pair.leave() for pair in self._pairs))
            self._write_end()

    async def _run_points(self) -> None:
        for point in self._plan.points:
            if self._interrupts:
                return
            if self._plan.between_points and point is not self._plan.points[0]:
                await self._run_command(self._plan.between_points)
            if not self._interrupts:
                await self._run_point(point)

    async def _run_command(self, command: str) -> None:
        """Runs the user's own command. Raises: LoadgenError where it fails."""
        process = await asyncio.create_subprocess_shell(command, stdout=asyncio.subprocess.DEVNULL)
        if await process.wait() and not self._interrupts:
            raise LoadgenError(
                f"`--between-points {command}` ended with status {process.returncode}",
                "the points before it are kept; mend the command, or run the rest by itself",
            )

    async def _run_point(self, point: PointPlan) -> None:
        self._tell_all(Prepare(point.index, self._stagger_ns(point)))
        readies = [pair.ready() for pair in self._pairs]
        await asyncio.gather(self._telemeter.before_point(point.index), *readies)
        start_at_ns = clock.now_ns() + START_LEAD_NS
        self._watcher.start_point(point, start_at_ns)
        self._tell_all(Go(start_at_ns))
        self._surroundings.start_point(start_at_ns)
        if point is self._plan.points[0]:
            update_run_file(self._folder, provenance=provenance_of(self._plan, self._secrets))
        looking = asyncio.create_task(self._look(point))
        try:
            if self._plan.replay is not None:
                await self._begin_profiling(point)
            healths = await _all_or_first_error([pair.point_done() for pair in self._pairs])
        finally:
            looking.cancel()
            with suppress(asyncio.CancelledError):
                await looking
        host = await self._surroundings.end_point()
        await self._telemeter.after_point(point.index)
        self._watch(self._status())
        for health in healths:
            append_health(self._folder, health.share, replace(health, host=host))

    async def _begin_profiling(self, point: PointPlan) -> None:
        """When every worker's warm-up is over, all go on at one instant."""
        gaps_ns = await asyncio.gather(*(pair.quiet() for pair in self._pairs))
        start_at_ns = clock.now_ns() + PROFILING_LEAD_NS
        least_ns = min((gap_ns for gap_ns in gaps_ns if gap_ns is not None), default=0)
        self._watcher.start_point(point, start_at_ns)
        self._tell_all(Begin(start_at_ns, least_ns))

    async def _look(self, point: PointPlan) -> None:
        rules, is_ended = self._plan.replay, False
        while True:
            await asyncio.sleep(LOOK_PERIOD_S)
            if rules is not None and not is_ended:
                is_ended = failed_too_often(rules, self._progress, point.index)
                if is_ended:
                    self._tell_all(EndPoint(point.index, "error_limit"))
            self._watch(self._status())

    def _status(self) -> Status:
        return dataclasses.replace(self._watcher.look(), draining=bool(self._interrupts))

    def _stagger_ns(self, point: PointPlan) -> int:
        """The plan's own, else one mean answer time, as far as one is known."""
        if point.stagger_ns is not None:
            return point.stagger_ns
        known_ns = self._watcher.mean_e2e_ns() or self._observed.first_answer_e2e_ns or 0
        half_ns = point.duration_ns // 2 if point.duration_ns is not None else STAGGER_MAX_NS
        return min(known_ns, half_ns, STAGGER_MAX_NS)

    def _hear_interrupts(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._interrupt)

    def _interrupt(self) -> None:
        """First time: issue nothing more, follow what is in flight. Again: stop at once."""
        self._interrupts += 1
        self._tell_all(Halt("interrupted", at_once=self._interrupts > 1))

    def _tell_all(self, command: Command) -> None:
        for pair in self._pairs:
            pair.tell(command)

    def _write_start(self) -> None:
        run_file = RunFile(
            plan=self._plan,
            observed=self._observed,
            anchors=(_anchor(),),
            started_wall_ns=clock.wall_ns(),
        )
        write_run_file(self._folder, run_file)

    def _write_end(self) -> None:
        ended = "interrupted" if self._interrupts else "complete"
        state = "failed" if self._is_broken else ended
        anchors = (*update_run_file(self._folder).anchors, _anchor())
        update_run_file(
            self._folder,
            state=state,
            anchors=anchors,
            observed=self._observed,
            ended_wall_ns=clock.wall_ns(),
        )


def _leave_priority_to_workers() -> None:
    """Where all were started with real-time priority, looks and provenance must not hold one up."""
    if hasattr(os, "SCHED_FIFO") and os.sched_getscheduler(0) in (os.SCHED_FIFO, os.SCHED_RR):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


async def _all_or_first_error(waits: list[Awaitable[ClientHealth]]) -> list[ClientHealth]:
    return list(await asyncio.gather(*waits))


def _anchor() -> Anchor:
    return Anchor(clock.host_name(), clock.boot_id(), clock.now_ns(), clock.wall_ns())


@contextmanager
def children_deaf_to_interrupts() -> Iterator[None]:
    """Children started inside hold Ctrl-C back from their first instruction on.

    They ignore it once they run, but a scribe that was still importing died of it.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
