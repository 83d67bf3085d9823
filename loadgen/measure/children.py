"""Workers and scribes as child processes of the conductor: started, told, heard, ended."""

import asyncio
import os
import socket
import sys
from asyncio.subprocess import Process
from pathlib import Path
from typing import TypeVar

import msgspec

from loadgen.errors import LoadgenError
from loadgen.measure.builder import wants_builder
from loadgen.measure.frames import (
    Command,
    Failed,
    FrameSplitter,
    Orders,
    PointDone,
    Quiet,
    Ready,
    Report,
    pack,
)
from loadgen.model.observed import ClientHealth
from loadgen.model.plan import Plan, Share

T = TypeVar("T", Ready, Quiet, PointDone)

START_LIMIT_S = 60.0
BUILT_START_LIMIT_S = 1800.0
"""Where a builder reads recordings first: gigabytes of them, and maybe from afar."""
LEAVE_LIMIT_S = 30.0


class Pair:
    """One worker, its scribe, and its builder where it has one."""

    def __init__(
        self, share: Share, worker: Process, scribe: Process, builder: Process | None = None
    ) -> None:
        self.share = share
        self._worker = worker
        self._scribe = scribe
        self._builder = builder
        self._reports: asyncio.Queue[Report] = asyncio.Queue()
        self._listening = asyncio.create_task(self._listen())

    async def ready(self) -> None:
        """Returns when the worker can start the prepared point. Raises `LoadgenError`."""
        limit_s = START_LIMIT_S if self._builder is None else BUILT_START_LIMIT_S
        async with asyncio.timeout(limit_s):
            await self._expect(Ready)

    async def quiet(self) -> int | None:
        """The worker's least delay of a turn once its warm-up is over. Raises `LoadgenError`."""
        return (await self._expect(Quiet)).first_gap_ns

    def tell(self, command: Command) -> None:
        """Sends a command; a worker that is gone is noticed by whoever waits for its report."""
        if self._worker.stdin is not None and not self._worker.stdin.is_closing():
            self._worker.stdin.write(pack(command))

    async def point_done(self) -> ClientHealth:
        """The worker's health once its share of the point has ended. Raises `LoadgenError`."""
        return (await self._expect(PointDone)).health

    async def leave(self) -> None:
        """Closes the pipe and waits until both have written everything and ended.

        A worker that does not end is killed; the scribe is always waited for, since what it has
        not written yet would be lost.
        """
        if self._worker.stdin is not None:
            self._worker.stdin.close()
        try:
            async with asyncio.timeout(LEAVE_LIMIT_S):
                await self._worker.wait()
        except TimeoutError:
            self.kill()
        await self._scribe.wait()
        if self._builder is not None:
            if self._builder.returncode is None:
                self._builder.kill()  # it keeps nothing, and may be reading gigabytes
            await self._builder.wait()
        await self._listening

    def kill(self) -> None:
        """Ends the worker now; its scribe then writes what it has."""
        if self._worker.returncode is None:
            self._worker.kill()

    async def _expect(self, kind: type[T]) -> T:
        report = await self._reports.get()
        if isinstance(report, Failed):
            error = LoadgenError(report.message, report.hint)
            error.exit_code = report.exit_code
            raise error
        if not isinstance(report, kind):
            raise LoadgenError(f"worker {self.share.index} answered out of turn: {report!r}")
        return report

    async def _listen(self) -> None:
        splitter = FrameSplitter()
        stream = self._worker.stdout
        assert stream is not None
        while piece := await stream.read(65536):
            for body in splitter.feed(piece):
                self._reports.put_nowait(msgspec.msgpack.decode(body, type=Report))
        code = await self._worker.wait()
        self._reports.put_nowait(
            Failed(f"worker {self.share.index} ended on its own (exit status {code})")
        )


async def start_pair(plan: Plan, share: Share, folder: Path, secrets: dict[str, str]) -> Pair:
    """A worker and its scribe, started and given their orders."""
    worker_end, scribe_end = socket.socketpair()
    asking_end, builder_end = socket.socketpair()
    with worker_end, scribe_end, asking_end, builder_end:
        is_built = wants_builder(plan)
        asking = [asking_end] if is_built else []
        # the worker first: the first request waits for it, and for the scribe nothing does
        worker = await _start("loadgen.measure.worker", worker_end, *asking)
        builder = await _start("loadgen.measure.builder", builder_end) if is_built else None
        scribe = await _start("loadgen.measure.scribe", scribe_end)
        for process, end, builder_fd in (
            (worker, worker_end, asking_end.fileno() if is_built else None),
            (scribe, scribe_end, None),
            (builder, builder_end, builder_end.fileno()),
        ):
            if process is not None and process.stdin is not None:
                orders = Orders(plan, share, str(folder), secrets, end.fileno(), builder_fd)
                process.stdin.write(pack(orders))
    return Pair(share, worker, scribe, builder)


async def _start(module: str, *inherited: socket.socket) -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        pass_fds=[end.fileno() for end in inherited],
        env=_environment(),
    )


def _environment() -> dict[str, str]:
    """Ours, less what would make the children slower or chatty; keys travel in the orders."""
    return {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
