import asyncio
import socket

import msgspec

from loadgen.measure.frames import FrameSplitter
from loadgen.measure.outbox import Outbox
from loadgen.model.exchange import Exchange, TurnKey


def exchange(seq: int, size: int) -> Exchange:
    return Exchange(TurnKey(0, 0, seq, "s", "t"), 0, parts=[b"x" * size])


async def drained(reader: socket.socket) -> list[Exchange]:
    loop = asyncio.get_running_loop()
    reader.setblocking(False)
    splitter = FrameSplitter()
    found = []
    while piece := await loop.sock_recv(reader, 1 << 20):
        found += [msgspec.msgpack.decode(body, type=Exchange) for body in splitter.feed(piece)]
    return found


async def test_nothing_is_lost_when_the_scribe_is_slow() -> None:
    ours, theirs = socket.socketpair()
    outbox = Outbox(ours)
    sent = [exchange(seq, 300_000) for seq in range(80)]
    for one in sent:
        outbox.put(one)
    assert outbox.bytes_waiting > 0
    reading = asyncio.create_task(drained(theirs))
    await outbox.flushed()
    assert outbox.bytes_waiting == 0
    outbox.close()
    assert await reading == sent
    theirs.close()


async def test_a_scribe_that_died_is_noticed_and_never_raises_into_the_engine() -> None:
    ours, theirs = socket.socketpair()
    outbox = Outbox(ours)
    theirs.close()
    outbox.put(exchange(0, 10))
    outbox.put(exchange(1, 10))
    await outbox.flushed()
    assert outbox.broken
    outbox.close()
