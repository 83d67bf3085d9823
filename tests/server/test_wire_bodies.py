import asyncio
import hashlib
import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadgen.transport.wire.sockets import SelectorPoller
from loadgen.transport.wire.stamps import HAS_KERNEL_STAMPS
from loadgen.transport.wire.watch import Watch
from tests.scripted_server import (
    LAST_CHUNK,
    STREAM_HEAD,
    ScriptedServer,
    Step,
    Talk,
    chunk,
    close,
    stream,
    whole,
)
from tests.wire import MEMBERS, body_of, ints, open_sender, part_stamps, send

HELLO = stream(b"hello", b"[DONE]")
BIG = MEMBERS + b',"x":"' + b"y" * 4_000_000 + b'"'
EVENTS = 60


async def test_other_streams_are_read_while_big_bodies_go_out() -> None:
    slow: list[Step] = [STREAM_HEAD, *[(0.005, chunk(b"data: a\n\n"))] * EVENTS, LAST_CHUNK]
    async with (
        ScriptedServer(slow) as talker,
        ScriptedServer(HELLO) as taker,
        open_sender(talker.url) as sender,
        open_sender(taker.url) as other,
    ):
        streaming = asyncio.create_task(send(sender))
        bodies = await asyncio.gather(*(send(other, seq, BIG) for seq in range(3)))
        exchange = await streaming
    wanted = hashlib.sha256(BIG).digest()
    got = [hashlib.sha256(r.body[-len(BIG) - 1 : -1]).digest() for r in taker.requests]
    assert got == [wanted] * 3
    assert len(exchange.parts) == EVENTS
    assert all(body.complete for body in bodies)


async def test_big_body_and_a_stream_share_one_sender() -> None:
    slow: list[Step] = [STREAM_HEAD, *[(0.005, chunk(b"data: a\n\n"))] * EVENTS, LAST_CHUNK]
    async with (
        ScriptedServer(slow, HELLO, read_pause_s=0.001) as server,
        open_sender(server.url) as sender,
    ):
        streaming = asyncio.create_task(send(sender))
        await asyncio.sleep(0.05)
        big = await send(sender, 1, BIG)
        exchange = await streaming
    assert big.complete
    assert big.sent_bytes > 4_000_000
    assert big.sent_at_ns is not None
    assert big.written_at_ns is not None
    assert big.written_at_ns > big.sent_at_ns
    reads = ints("q", exchange.read_at_ns)
    assert len([at for at in reads if big.sent_at_ns < at < big.written_at_ns]) >= 3


async def test_server_that_answers_before_it_has_the_body_is_heard() -> None:
    class Impatient(ScriptedServer):
        async def _serve_requests(
            self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int
        ) -> None:
            head = await reader.readuntil(b"\r\n\r\n")
            assert b"POST" in head
            writer.write(whole(b'{"error":"too big"}', 413, b"Connection: close"))
            await writer.drain()
            await asyncio.sleep(0.3)

    async with Impatient(HELLO) as server, open_sender(server.url) as sender:
        exchange = await send(sender, 0, BIG)
    assert exchange.http_status == 413
    assert body_of(exchange) == b'{"error":"too big"}'
    assert exchange.complete


async def test_portable_poller_reads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadgen.transport.wire.watch.open_poller", SelectorPoller)
    async with ScriptedServer(HELLO) as server, open_sender(server.url) as sender:
        exchanges = [await send(sender, 0), await send(sender, 1, BIG)]
    assert all(exchange.complete for exchange in exchanges)
    assert [exchange.connection.reused for exchange in exchanges] == [False, True]


async def test_platform_without_kernel_stamps_says_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadgen.transport.wire.sockets.HAS_KERNEL_STAMPS", False)
    monkeypatch.setattr("loadgen.transport.wire.watch.ANCILLARY_BYTES", 0)
    async with ScriptedServer(HELLO) as server, open_sender(server.url) as sender:
        exchange = await send(sender)
    assert exchange.stamp_kind == "user"
    assert exchange.read_at_ns == exchange.seen_at_ns


async def test_stamps_lie_between_the_servers_write_and_the_clients_view() -> None:
    events = [(0.004, chunk(b"data: %d\n\n" % number)) for number in range(30)]
    async with (
        ScriptedServer([STREAM_HEAD, *events, LAST_CHUNK]) as server,
        open_sender(server.url) as sender,
    ):
        exchange = await send(sender)
    before = [before_ns for before_ns, _, data in server.writes if b"data:" in data]
    stamps = part_stamps(exchange)
    assert len(stamps) == 30
    assert all(sent <= stamp for sent, stamp in zip(before, stamps, strict=True))
    pairs = zip(ints("q", exchange.read_at_ns), ints("q", exchange.seen_at_ns), strict=True)
    assert all(at <= seen for at, seen in pairs)


async def test_stamp_is_the_arrival_and_not_the_moment_a_busy_loop_looked() -> None:
    async with (
        ScriptedServer([STREAM_HEAD, chunk(b"data: a\n\n"), LAST_CHUNK]) as server,
        open_sender(server.url) as sender,
    ):
        await send(sender)
        if not HAS_KERNEL_STAMPS:
            pytest.skip("no kernel stamps on this platform")
        exchange = await _send_with_blocked_loop(server, sender)
    assert exchange.stamp_kind == "kernel"
    lag_ns = ints("q", exchange.seen_at_ns)[-1] - ints("q", exchange.read_at_ns)[-1]
    assert lag_ns > 50_000_000


async def _send_with_blocked_loop(server: ScriptedServer, sender: Any) -> Any:
    """The loop is held up for 80 ms after the server's write, before the client can read."""
    import time

    async def write_and_block(talk: Talk) -> None:
        await talk.write(chunk(b"data: b\n\n") + LAST_CHUNK)
        time.sleep(0.08)  # noqa: ASYNC251  # the point of the test

    server.answers = ([STREAM_HEAD, write_and_block],)
    return await send(sender, 1)


async def test_step_of_the_wall_clock_is_counted_and_stamps_stay_sane() -> None:
    events: list[Step] = [(0.01, chunk(b"data: a\n\n"))] * 30
    async with (
        ScriptedServer([STREAM_HEAD, *events, LAST_CHUNK]) as server,
        open_sender(server.url) as sender,
    ):
        sending = asyncio.create_task(send(sender))
        await asyncio.sleep(0.1)
        watch = sender._pool.watch
        assert isinstance(watch, Watch)
        watch.clock.offset_ns += 3_600_000_000_000  # as if the wall had been set back an hour
        exchange = await sending
    if not HAS_KERNEL_STAMPS:
        pytest.skip("no kernel stamps on this platform")
    assert abs(exchange.clock_step_ns - 3_600_000_000_000) < 1_000_000_000
    stamps = part_stamps(exchange)
    before = [before_ns for before_ns, _, data in server.writes if b"data:" in data]
    assert all(sent <= stamp for sent, stamp in zip(before, stamps, strict=True))
    assert stamps == sorted(stamps)


@settings(max_examples=25, deadline=None)
@given(cuts=st.lists(st.integers(1, 400), max_size=12), tail=st.booleans())
async def test_answer_cut_anywhere_on_the_wire_is_the_same(cuts: list[int], tail: bool) -> None:
    wire = b"".join(step for step in stream(*[b"abc"] * 8) if isinstance(step, bytes))
    edges = sorted({0, len(wire), *(cut % len(wire) for cut in cuts)})
    pieces = [(0.0, wire[a:b]) for a, b in itertools.pairwise(edges)]
    async with (
        ScriptedServer([*pieces, close] if tail else pieces) as server,
        open_sender(server.url) as sender,
    ):
        exchange = await send(sender)
    assert exchange.complete
    assert body_of(exchange) == b"data: abc\n\n" * 8
    assert ints("i", exchange.part_marks)[-1] == len(exchange.parts)
