import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from loadgen.model.exchange import Outcome
from loadgen.model.plan import Deadlines
from loadgen.units import NS_PER_MS
from tests.scripted_server import (
    LAST_CHUNK,
    STREAM_HEAD,
    ScriptedServer,
    Step,
    Talk,
    chunk,
    eventually,
    stream,
    wait_for_hang_up,
)
from tests.wire import body_of, open_sender, send

HELLO = stream(b"hello", b"[DONE]")
PINGS = [(0.05, chunk(b": ping\n\n"))] * 200


async def test_answer_that_never_begins_misses_the_first_token_deadline() -> None:
    limits = Deadlines(first_token_ns=100 * NS_PER_MS)
    async with (
        ScriptedServer([STREAM_HEAD, wait_for_hang_up]) as server,
        open_sender(server.url, limits) as sender,
    ):
        exchange = await send(sender)
        await eventually(lambda: server.hang_ups == 1)
    assert exchange.failure is Outcome.TIMEOUT_FIRST_TOKEN
    assert exchange.detail == "no first token after 0.1 s"
    assert (exchange.http_status, exchange.complete) == (200, False)
    assert exchange.done_at_ns is not None


async def test_comments_do_not_count_as_a_first_token() -> None:
    limits = Deadlines(first_token_ns=200 * NS_PER_MS, stall_ns=10_000 * NS_PER_MS)
    async with (
        ScriptedServer([STREAM_HEAD, *PINGS]) as server,
        open_sender(server.url, limits) as sender,
    ):
        exchange = await send(sender)
    assert exchange.failure is Outcome.TIMEOUT_FIRST_TOKEN
    assert body_of(exchange).startswith(b": ping")


async def test_comments_keep_a_stalled_stream_alive() -> None:
    limits = Deadlines(stall_ns=400 * NS_PER_MS)
    answer: list[Step] = [STREAM_HEAD, chunk(b"data: a\n\n"), *PINGS[:16], LAST_CHUNK]
    async with ScriptedServer(answer) as server, open_sender(server.url, limits) as sender:
        exchange = await send(sender)
    assert exchange.failure is None
    assert exchange.complete


async def test_stream_that_falls_silent_stalls_and_keeps_what_it_had() -> None:
    limits = Deadlines(stall_ns=100 * NS_PER_MS)
    answer: list[Step] = [STREAM_HEAD, chunk(b"data: a\n\n"), wait_for_hang_up]
    async with ScriptedServer(answer) as server, open_sender(server.url, limits) as sender:
        exchange = await send(sender)
    assert exchange.failure is Outcome.TIMEOUT_STALL
    assert body_of(exchange) == b"data: a\n\n"


async def test_stall_clock_does_not_run_before_the_body_begins() -> None:
    limits = Deadlines(stall_ns=50 * NS_PER_MS)
    answer: list[Step] = [STREAM_HEAD, (0.3, chunk(b"data: a\n\n")), LAST_CHUNK]
    async with ScriptedServer(answer) as server, open_sender(server.url, limits) as sender:
        exchange = await send(sender)
    assert exchange.failure is None


async def test_total_deadline_ends_a_stream_that_flows() -> None:
    limits = Deadlines(total_ns=200 * NS_PER_MS)
    answer: list[Step] = [STREAM_HEAD, *[(0.02, chunk(b"data: a\n\n"))] * 500]
    async with ScriptedServer(answer) as server, open_sender(server.url, limits) as sender:
        exchange = await send(sender)
    assert exchange.failure is Outcome.TIMEOUT_TOTAL
    assert exchange.parts


async def test_server_that_accepts_nothing_misses_the_connect_deadline() -> None:
    limits = Deadlines(connect_ns=150 * NS_PER_MS)
    with full_backlog() as url:
        async with open_sender(url, limits) as sender:
            exchange = await send(sender)
    assert exchange.failure is Outcome.TIMEOUT_CONNECT
    assert exchange.sent_at_ns is None


async def test_answer_within_its_deadlines_is_whole() -> None:
    long = 30_000 * NS_PER_MS
    limits = Deadlines(long, long, long, long)
    async with ScriptedServer(HELLO) as server, open_sender(server.url, limits) as sender:
        assert (await send(sender)).failure is None


async def test_stop_brings_every_send_back_at_once_with_what_it_has() -> None:
    answer: list[Step] = [STREAM_HEAD, chunk(b"data: a\n\n"), wait_for_hang_up]
    async with ScriptedServer(answer) as server, open_sender(server.url) as sender:
        sends = [asyncio.create_task(send(sender, seq)) for seq in range(20)]
        await eventually(lambda: len(server.writes) == 40)
        await eventually(lambda: sender.reads >= 20)
        await asyncio.sleep(0.1)
        assert sender.in_flight == 20
        sender.stop(Outcome.UNFINISHED)
        exchanges = await asyncio.wait_for(asyncio.gather(*sends), 5)
        assert sender.in_flight == 0
    assert {exchange.failure for exchange in exchanges} == {Outcome.UNFINISHED}
    assert {body_of(exchange) for exchange in exchanges} == {b"data: a\n\n"}


async def test_stop_reaches_sends_that_are_still_connecting() -> None:
    with full_backlog() as url:
        async with open_sender(url) as sender:
            sending = asyncio.create_task(send(sender))
            await asyncio.sleep(0.05)
            sender.stop(Outcome.CANCELLED)
            exchange = await asyncio.wait_for(sending, 5)
    assert exchange.failure is Outcome.CANCELLED


async def test_sender_sends_again_after_a_stop() -> None:
    async with (
        ScriptedServer([STREAM_HEAD, wait_for_hang_up], HELLO) as server,
        open_sender(server.url) as sender,
    ):
        sending = asyncio.create_task(send(sender))
        await eventually(lambda: bool(server.requests))
        sender.stop(Outcome.UNFINISHED)
        await sending
        assert (await send(sender, 1)).complete


async def test_cancelled_send_hangs_up_and_raises() -> None:
    async with (
        ScriptedServer([STREAM_HEAD, wait_for_hang_up]) as server,
        open_sender(server.url) as sender,
    ):
        sending = asyncio.create_task(send(sender))
        await eventually(lambda: bool(server.requests))
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        await eventually(lambda: bool(server.hang_ups))
        assert sender.in_flight == 0


@contextmanager
def full_backlog() -> Iterator[str]:
    """URL of a listening socket whose queue is full, so that a connect to it hangs."""
    with socket.socket() as listening, ExitStack() as taken:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        for _ in range(4):
            sock = taken.enter_context(socket.socket())
            sock.setblocking(False)
            sock.connect_ex(listening.getsockname())
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


async def test_requests_that_were_cut_short_leave_no_descriptor_behind() -> None:
    answered: list[Talk] = []

    async def hold(talk: Talk) -> None:
        answered.append(talk)  # a cut before this would end the script in its own write
        await wait_for_hang_up(talk)

    async with (
        ScriptedServer([STREAM_HEAD, chunk(b"data: a\n\n"), hold]) as server,
        open_sender(server.url) as sender,
    ):
        sends = [asyncio.create_task(send(sender, seq)) for seq in range(40)]
        await eventually(lambda: len(answered) == 40)
        for task in sends[:20]:
            task.cancel()
        sender.stop(Outcome.UNFINISHED)
        await asyncio.gather(*sends, return_exceptions=True)
        await eventually(lambda: server.hang_ups == 40)
        watch = sender._pool.watch
        assert watch is not None
        assert watch.roster.watched == {}
