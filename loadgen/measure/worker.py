"""One worker process: a loop that reads sockets, launches what is due and hands streams on.

It decodes nothing but live answers, opens no file but the progress map, and loads neither numpy
nor pyarrow. It ends when its parent's pipe ends.
"""

import asyncio
import gc
import os
import random
import resource
import signal
import socket
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

import msgspec
import uvloop

from loadgen import clock
from loadgen.engine import Alarms, Driver, Load, Pulse, RateCeiling, Stage, Tally
from loadgen.errors import LoadgenError
from loadgen.measure.frames import (
    Command,
    Failed,
    FrameSplitter,
    Go,
    Halt,
    Orders,
    PointDone,
    Ready,
    Report,
    pack,
    read_orders,
)
from loadgen.measure.outbox import Outbox
from loadgen.model.exchange import Outcome
from loadgen.model.observed import ClientHealth
from loadgen.model.plan import PointPlan
from loadgen.model.session import Session
from loadgen.schedule import SHAPES, Shape
from loadgen.schedule.share import own_count, own_items, own_slots
from loadgen.specs import parse_spec
from loadgen.store.progress import Progress, WorkerRow
from loadgen.transport.call import Sender
from loadgen.transport.live import live_answer
from loadgen.workload import Sessions, open_workload

COMMAND_FD = 0
REPORT_FD = 1
PROGRESS_PERIOD_S = 0.1


class Worker:
    """Runs the points that it is told to run, one after the other."""

    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        self._plan = orders.plan
        self._sender = Sender(orders.plan.target, orders.plan.deadlines, orders.secrets)
        self._sessions: Sessions = open_workload(orders.plan)
        self._outbox = Outbox(socket.socket(fileno=orders.exchange_fd))
        self._row: WorkerRow = Progress.open(Path(orders.folder)).worker(orders.share.index)
        self._pulse = Pulse()
        self._driver: Driver | None = None
        self._interrupted = ""

    async def serve(self) -> None:
        """Takes commands until the parent's pipe ends."""
        commands: asyncio.Queue[Command | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        os.set_blocking(COMMAND_FD, False)
        loop.add_reader(COMMAND_FD, self._read_commands, FrameSplitter(), commands)
        gc.collect()
        gc.freeze()
        _report(Ready())
        while (command := await commands.get()) is not None:
            if isinstance(command, Go):
                await self._run_point(command)
        loop.remove_reader(COMMAND_FD)
        await self._outbox.flushed()
        self._outbox.close()
        await self._sender.aclose()

    def _read_commands(
        self, splitter: FrameSplitter, commands: "asyncio.Queue[Command | None]"
    ) -> None:
        piece = os.read(COMMAND_FD, 65536)
        if not piece:
            asyncio.get_running_loop().remove_reader(COMMAND_FD)
            self._halt(Halt(reason="parent_gone", at_once=True))
            commands.put_nowait(None)
        for body in splitter.feed(piece):
            command = msgspec.msgpack.decode(body, type=Command)
            if isinstance(command, Halt):
                self._halt(command)
            else:
                commands.put_nowait(command)

    def _halt(self, command: Halt) -> None:
        self._interrupted = command.reason
        if self._driver is not None:
            self._driver.halt(command.reason)
        if command.at_once:
            self._sender.stop(Outcome.CANCELLED)

    async def _run_point(self, go: Go) -> None:
        point = next(point for point in self._plan.points if point.index == go.point)
        shape = parse_spec(point.load, SHAPES)
        alarms, tally = Alarms(), Tally()
        driver = Driver(self._load(point, shape, go.stagger_ns), alarms, self._sender.stop)
        driver.prepare()
        stage = Stage(
            point=point.index,
            share=self._orders.share.index,
            send=self._sender.send,
            sink=self._outbox.put,
            answer_of=live_answer,
            tally=tally,
            alarms=alarms,
            phase_at=driver.phase_at,
            ceiling=self._ceiling(),
        )
        self._driver = driver
        if self._interrupted:
            driver.halt(self._interrupted)
        self._pulse.start()
        before = _Before(self._sender)
        showing = asyncio.create_task(self._show_progress(point.index, tally))
        await driver.run(go.start_at_ns, stage)
        showing.cancel()
        self._pulse.stop()
        self._driver = None
        self._write_progress(point.index, tally)
        await self._outbox.flushed()
        if self._outbox.broken:
            raise LoadgenError(
                "the process that writes the results has died", "see results/README.md"
            )
        gc.collect()
        _report(PointDone(self._health(go, stage, driver, before)))

    def _load(self, point: PointPlan, shape: Shape, stagger_ns: int) -> Load:
        share = self._orders.share
        chance = random.Random(f"{self._plan.seed}/arrivals/{point.index}")
        slots = None
        if shape.slots is not None:
            own = own_slots(share, shape.slots)
            slots = tuple(number * stagger_ns // shape.slots for number in own)
        return Load(
            arrivals=own_items(share, shape.arrivals(chance)),
            sessions=self._own_sessions(point.index),
            slot_offsets_ns=slots,
            think_ns=shape.think_ns,
            warmup=own_count(share, point.warmup_requests),
            requests=None if point.requests is None else own_count(share, point.requests),
            duration_ns=point.duration_ns,
            grace_ns=point.grace_ns,
        )

    def _own_sessions(self, point: int) -> Iterator[Session]:
        share = self._orders.share
        for index in islice(count(), share.index, None, share.count):
            session = self._sessions.session(point, index)
            if session is None:
                return
            yield session

    def _ceiling(self) -> RateCeiling | None:
        rate_rps = self._plan.max_rate_rps
        return None if rate_rps is None else RateCeiling(rate_rps / self._orders.share.count)

    async def _show_progress(self, point: int, tally: Tally) -> None:
        while True:
            self._write_progress(point, tally)
            await asyncio.sleep(PROGRESS_PERIOD_S)

    def _write_progress(self, point: int, tally: Tally) -> None:
        row = self._row
        row.point = point
        row.issued = tally.issued
        row.ended = tally.ended
        row.in_flight = tally.in_flight
        row.loop_lag_max_ns = self._pulse.lag_ns(1.0) or 0
        row.heartbeat_ns = clock.now_ns()

    def _health(self, go: Go, stage: Stage, driver: Driver, before: "_Before") -> ClientHealth:
        tally, sender = stage.tally, self._sender
        return ClientHealth(
            share=stage.share,
            point=stage.point,
            started_at_ns=go.start_at_ns,
            ended_at_ns=clock.now_ns(),
            issued=tally.issued,
            ended=tally.ended,
            in_flight_max=tally.in_flight_max,
            skipped=tally.skipped,
            sessions_broken=tally.sessions_broken,
            connections_opened=sender.connections_opened - before.opened,
            connections_reused=sender.connections_reused - before.reused,
            stale_reconnects=sender.stale_reconnects - before.stale,
            reads=sender.reads - before.reads,
            loop_lag_p50_ns=self._pulse.lag_ns(0.5),
            loop_lag_p99_ns=self._pulse.lag_ns(0.99),
            loop_lag_max_ns=self._pulse.lag_ns(1.0),
            gc_pause_max_ns=self._pulse.gc_pause_max_ns,
            cpu_ns=clock.cpu_ns() - before.cpu_ns,
            rss_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            rate_wait_ns=0 if stage.ceiling is None else stage.ceiling.wait_ns,
            rate_waits=0 if stage.ceiling is None else stage.ceiling.waits,
            stop_reason=driver.stop_reason,
        )


class _Before:
    """Counters that run through all points, as they stood at the start of one."""

    def __init__(self, sender: Sender) -> None:
        self.opened = sender.connections_opened
        self.reused = sender.connections_reused
        self.stale = sender.stale_reconnects
        self.reads = sender.reads
        self.cpu_ns = clock.cpu_ns()


def _report(report: Report) -> None:
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
