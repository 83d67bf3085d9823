"""A fake wire of a few lines, and points driven on it."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from itertools import count, repeat
from typing import Any

from loadgen import clock
from loadgen.engine import Alarms, Driver, Load, OwnFeed, RateCeiling, Stage, Tally
from loadgen.model.exchange import Exchange, Outcome, TurnKey
from loadgen.model.session import Session, Turn

Served = Callable[[TurnKey, Turn, bytes], Awaitable[Outcome | None]]


def one_shots() -> Iterator[Session]:
    """Endless sessions of one turn."""
    return (Session(f"s{number}", (Turn("t0", (b'"messages":[]',)),)) for number in count())


class FakeWire:
    """Answers when `served` returns; remembers every key, body and how many were in flight."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._pending: set[asyncio.Future[Outcome]] = set()
        self.sent: list[tuple[TurnKey, bytes, int]] = []
        self.exchanges: list[Exchange] = []

    async def send(self, key: TurnKey, turn: Turn, body: bytes, due_at_ns: int) -> Exchange:
        self.sent.append((key, body, due_at_ns))
        stopped: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._pending.add(stopped)
        served = asyncio.ensure_future(self._served(key, turn, body))
        both: set[asyncio.Future[Any]] = {stopped, served}
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        self._pending.discard(stopped)
        failure = served.result() if served.done() else stopped.result()
        served.cancel()
        return Exchange(key, due_at_ns, done_at_ns=clock.now_ns(), failure=failure)

    def stop(self, outcome: Outcome) -> None:
        for future in self._pending:
            future.set_result(outcome)


async def drive(
    wire: FakeWire,
    load: Load,
    *,
    halt_when: Callable[[FakeWire], bool] | None = None,
    ceiling: RateCeiling | None = None,
    tally: Tally | None = None,
) -> tuple[Driver, Tally]:
    """Runs one point on the fake wire to its end."""
    alarms, tally = Alarms(), tally or Tally()
    driver = Driver(load, alarms, wire.stop)
    await driver.prepare()
    stage = Stage(
        point=0,
        share=0,
        send=wire.send,
        sink=wire.exchanges.append,
        answer_of=lambda exchange: None if exchange.failure else b'"an answer"',
        tally=tally,
        alarms=alarms,
        phase_at=driver.phase_at,
        ceiling=ceiling,
    )
    watching = asyncio.create_task(_halt(driver, wire, halt_when))
    await driver.run(clock.now_ns(), stage)
    watching.cancel()
    return driver, tally


async def _halt(
    driver: Driver, wire: FakeWire, halt_when: Callable[[FakeWire], bool] | None
) -> None:
    while halt_when is not None:
        if halt_when(wire):
            driver.halt("interrupted")
            return
        await asyncio.sleep(0)


def closed(slots: int, *, requests: int | None = None, warmup: int = 0, **more: int | None) -> Load:
    """A closed load of one-shot sessions."""
    return Load(
        arrivals=repeat(0),
        feed=OwnFeed(one_shots()),
        slot_offsets_ns=(0,) * slots,
        requests=requests,
        warmup=warmup,
        **more,  # type: ignore[arg-type]
    )
