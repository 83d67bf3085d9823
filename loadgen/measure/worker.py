"""One worker process: a loop that reads sockets, launches what is due and hands streams on.

It decodes nothing but live answers, opens no file but the progress map, and loads neither numpy
nor pyarrow. It ends when its parent's pipe ends.
"""

import asyncio
import gc
import os
import signal
import socket
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import uvloop

from loadgen.engine import Alarms, Feed, OwnFeed
from loadgen.errors import LoadgenError
from loadgen.measure.building import BuilderClient, BuiltFeed
from loadgen.measure.frames import (
    Begin,
    Command,
    EndPoint,
    Failed,
    FrameSplitter,
    Go,
    Halt,
    Listen,
    Orders,
    PointDone,
    Prepare,
    Quiet,
    Ready,
    Report,
    pack,
    read_orders,
)
from loadgen.measure.outbox import Outbox
from loadgen.measure.point import Player, PointRun, driver_of, own_sessions
from loadgen.measure.replaying import PointSource, ReplayPlayer, replay_of
from loadgen.measure.witness import Witness
from loadgen.model.exchange import Outcome
from loadgen.model.plan import PointPlan
from loadgen.store.progress import Progress
from loadgen.transport.replicas import sender_of
from loadgen.workload import open_workload

COMMAND_FD = 0
REPORT_FD = 1


class Worker:
    """Runs the points that it is told to run, one after the other."""

    def __init__(self, orders: Orders) -> None:
        plan = orders.plan
        self._plan = plan
        self._share = orders.share
        self._sender = sender_of(plan.target, plan.deadlines, orders.secrets)
        self._builder = (
            None
            if orders.builder_fd is None
            else BuilderClient(socket.socket(fileno=orders.builder_fd))
        )
        self._sessions = open_workload(plan) if self._builder is None else None
        self._outbox = Outbox(socket.socket(fileno=orders.exchange_fd), self._lose_scribe)
        self._witness = Witness(lambda: self._outbox.bytes_waiting)
        self._progress = Progress.open(Path(orders.folder))
        self._row = self._progress.worker(orders.share.index)
        self._begins: asyncio.Queue[Begin] = asyncio.Queue()
        self._point: PointRun | None = None
        self._listening: asyncio.Future[None] | None = None
        self._halted = ""
        self._halt_heard = asyncio.Event()

    async def serve(self) -> None:
        """Takes commands until the parent's pipe ends."""
        commands: asyncio.Queue[Prepare | Go | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        os.set_blocking(COMMAND_FD, False)
        loop.add_reader(COMMAND_FD, self._read_commands, FrameSplitter(), commands)
        while (command := await commands.get()) is not None:
            if isinstance(command, Prepare):
                await self._prepare(command)
            else:
                await self._run(command)
        await self._outbox.flushed()
        self._outbox.close()
        await self._witness.canary.aclose()
        await self._sender.aclose()
        if self._builder is not None:
            self._builder.close()

    def _read_commands(
        self, splitter: FrameSplitter, commands: "asyncio.Queue[Prepare | Go | None]"
    ) -> None:
        piece = os.read(COMMAND_FD, 65536)
        if not piece:
            asyncio.get_running_loop().remove_reader(COMMAND_FD)
            self._halt(Halt("parent_gone", at_once=True))
            commands.put_nowait(None)
        for body in splitter.feed(piece):
            command: Command = msgspec.msgpack.decode(body, type=Command)
            if isinstance(command, Halt):
                self._halt(command)
            elif isinstance(command, EndPoint):
                self._end_point(command)
            elif isinstance(command, Begin):
                self._begins.put_nowait(command)
            elif isinstance(command, Listen):
                self._listening = asyncio.ensure_future(self._listen(command))
            else:
                commands.put_nowait(command)

    async def _listen(self, command: Listen) -> None:
        await self._witness.canary.listen(command.port, self._sender.watch())

    def _halt(self, command: Halt) -> None:
        self._halted = command.reason
        self._halt_heard.set()
        if self._point is not None:
            self._point.halt(command.reason)
        if command.at_once:
            self._sender.stop(Outcome.CANCELLED)

    def _end_point(self, command: EndPoint) -> None:
        if self._point is not None and self._point.index == command.point:
            self._point.halt(command.reason)

    def _lose_scribe(self) -> None:
        """What goes on can't be kept any more, so it ends at once."""
        self._halt(Halt("scribe_gone", at_once=True))

    async def _prepare(self, command: Prepare) -> None:
        point = next(point for point in self._plan.points if point.index == command.point)
        player = self._player(point, command.stagger_ns)
        self._point = PointRun(self._plan, point, self._share, player, self._sender)
        if self._halted:
            self._point.halt(self._halted)
        await self._until_halted(self._point.prepare())
        _collect()
        _report(Ready())

    async def _until_halted(self, work: Coroutine[Any, Any, None]) -> None:
        """Does the work, or leaves it where the run is to end: a builder may read for minutes."""
        halt = asyncio.create_task(self._halt_heard.wait())
        doing = asyncio.create_task(work)
        await asyncio.wait((doing, halt), return_when=asyncio.FIRST_COMPLETED)
        halt.cancel()
        if doing.done():
            doing.result()
        doing.cancel()

    def _player(self, point: PointPlan, stagger_ns: int) -> Player:
        """A replay where the plan has rules for one, else a driver."""
        if self._plan.replay is None:
            feed, sender = self._feed(point), self._sender
            return driver_of(self._plan, point, self._share, stagger_ns, feed, sender)
        assert self._builder is not None
        source, alarms = PointSource(self._builder, point.index), Alarms()
        replay = replay_of(
            self._plan, point, self._share, alarms, source, self._progress, self._sender.stop
        )
        return ReplayPlayer(replay, alarms, self._meet)

    async def _meet(self, first_gap_ns: int | None) -> tuple[int, int]:
        """Waits until every worker's warm-up is over: the profiling's start and least delay."""
        _report(Quiet(first_gap_ns))
        begin = await self._begins.get()
        return begin.start_at_ns, begin.least_gap_ns

    def _feed(self, point: PointPlan) -> Feed:
        """Sessions from the builder where there is one, else made here."""
        if self._builder is not None:
            return BuiltFeed(self._builder, point.index, self._share)
        assert self._sessions is not None
        return OwnFeed(own_sessions(self._sessions, point.index, self._share))

    async def _run(self, command: Go) -> None:
        point = self._point
        assert point is not None
        await point.run(command.start_at_ns, self._outbox.put, self._row, self._witness)
        health = point.health(self._witness)
        await self._outbox.flushed()
        if self._outbox.broken:
            raise LoadgenError(
                "the process that writes the results has died",
                "what it had written is kept; is the disk full?",
            )
        self._point = None
        _report(PointDone(health))


def _collect() -> None:
    """Garbage of the last point goes; what stays is no longer looked at while a point runs."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def _report(report: Report) -> None:
    """Tells the parent; one that is gone hears nothing, and the end of its pipe says the rest."""
    with suppress(BrokenPipeError):
        os.write(REPORT_FD, pack(report))


async def _serve(orders: Orders) -> None:
    try:
        await Worker(orders).serve()
    except LoadgenError as error:
        _report(Failed(str(error), error.hint, error.exit_code))


def main() -> None:
    """The worker process: orders and commands on stdin, reports on stdout, Ctrl-C ignored."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    orders = read_orders(COMMAND_FD)
    if orders is not None:
        uvloop.run(_serve(orders))


if __name__ == "__main__":
    main()
