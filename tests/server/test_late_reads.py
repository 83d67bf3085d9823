"""A look that the loop made late flags reads of several events, however fresh the last one was."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest

from loadgen.transport.decoding.decode import decode
from loadgen.units import NS_PER_MS
from tests.scripted_server import LAST_CHUNK, STREAM_HEAD, ScriptedServer, Step, Talk, chunk
from tests.wire import open_sender, send

HELD_NS = 30 * NS_PER_MS
STILL_NS = 199 * NS_PER_MS


def token(text: str) -> bytes:
    """One event with text."""
    choice = f'{{"index":0,"delta":{{"content":"{text}"}}}}'
    return chunk(f'data: {{"choices":[{choice}]}}\n\n'.encode())


async def hold_the_loop(talk: Talk) -> None:
    """One event, the loop held up, another event: both wait for the same look."""
    talk.writer.write(token("b"))
    until_ns = time.thread_time_ns() + HELD_NS
    while time.thread_time_ns() < until_ns:
        pass
    talk.writer.write(token("c"))


async def stand_still(talk: Talk) -> None:
    """One event, the loop asleep where no timer wakes it, another event."""
    talk.writer.write(token("b"))
    time.sleep(0.2)  # noqa: ASYNC251  # a process that is stopped neither runs nor waits for a core
    talk.writer.write(token("c"))


@pytest.mark.parametrize(("hold", "held_ns"), [(hold_the_loop, HELD_NS), (stand_still, STILL_NS)])
async def test_a_stamp_that_a_held_up_loop_made_late_is_flagged_with_its_bound(
    hold: Callable[[Talk], Awaitable[None]], held_ns: int
) -> None:
    done = chunk(b"data: [DONE]\n\n") + LAST_CHUNK
    answer: list[Step] = [STREAM_HEAD, token("a"), (0.05, b""), hold, (0.05, done)]
    async with ScriptedServer(answer) as server, open_sender(server.url) as sender:
        record = decode(await send(sender))
        await asyncio.sleep(0)
    assert record.multi_event_reads == 1
    assert "late_stamps" in record.flags
    assert record.seen_lag_max_ns >= held_ns
