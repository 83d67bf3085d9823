import asyncio
import socket
from collections import Counter

import pytest
import uvloop

from loadgen.model.exchange import Exchange, Outcome, StampKind
from loadgen.transport.wire.connection import Connection
from loadgen.transport.wire.reply import Piece, Reply
from tests.scripted_server import (
    LAST_CHUNK,
    STREAM_HEAD,
    ScriptedServer,
    Step,
    Talk,
    chunk,
    close,
    reset,
    stream,
    whole,
)
from tests.wire import body_of, open_sender, send

HELLO = stream(b"hello", b"[DONE]")
HELLO_BODY = b"data: hello\n\ndata: [DONE]\n\n"


async def test_kept_connection_is_used_again_and_counted() -> None:
    async with ScriptedServer(HELLO) as server, open_sender(server.url) as sender:
        exchanges = [await send(sender, seq) for seq in range(5)]
    assert [body_of(exchange) for exchange in exchanges] == [HELLO_BODY] * 5
    assert [exchange.connection.reused for exchange in exchanges] == [False] + [True] * 4
    assert (sender.connections_opened, sender.connections_reused) == (1, 4)
    assert server.connections == 1


async def test_set_up_instants_stand_in_order_on_a_new_connection_only() -> None:
    async with ScriptedServer(HELLO) as server, open_sender(server.url) as sender:
        first, second = [await send(sender, seq) for seq in range(2)]
    asked, connected = first.connection.asked_at_ns, first.connection.connected_at_ns
    assert asked is not None
    assert connected is not None
    assert first.sent_at_ns is not None
    assert asked < connected < first.sent_at_ns
    assert first.connection.resolved_at_ns is None  # a numeric address asks no name server
    assert first.connection.peer == f"127.0.0.1:{server.port}"
    assert second.connection.connected_at_ns is None


async def test_fresh_connections_are_made_for_every_request_on_demand() -> None:
    async with (
        ScriptedServer(HELLO) as server,
        open_sender(server.url, fresh_connections=True) as sender,
    ):
        for seq in range(3):
            assert (await send(sender, seq)).complete
    assert (sender.connections_opened, sender.connections_reused) == (3, 0)
    assert server.connections == 3


async def test_server_that_closes_after_each_answer_while_promising_keep_alive() -> None:
    head = STREAM_HEAD[:-2] + b"connection: keep-alive\r\nkeep-alive: timeout=5, max=100\r\n\r\n"
    answer: list[Step] = [head, chunk(b"data: x\n\n"), LAST_CHUNK, close]
    async with ScriptedServer(answer) as server, open_sender(server.url) as sender:

        async def lane(number: int) -> list[Exchange]:
            return [await send(sender, number * 16 + turn) for turn in range(16)]

        lanes = await asyncio.gather(*(lane(number) for number in range(4)))
    exchanges = [exchange for lane_of in lanes for exchange in lane_of]
    assert sum(exchange.complete for exchange in exchanges) == 64
    assert all(body_of(exchange) == b"data: x\n\n" for exchange in exchanges)
    assert all(exchange.failure is None for exchange in exchanges)


async def test_kept_connection_that_dies_under_the_request_is_replaced_once() -> None:
    async with ScriptedServer(HELLO, [close], HELLO) as server, open_sender(server.url) as sender:
        await send(sender, 0)
        second = await send(sender, 1)
    assert second.complete
    assert second.connection.stale_reconnects == 1
    assert sender.stale_reconnects == 1
    assert (len(server.requests), server.connections) == (3, 2)
    assert server.requests[1].body == server.requests[2].body


async def test_sent_instant_of_a_replaced_connection_stays_the_first() -> None:
    async def linger(talk: Talk) -> None:
        await asyncio.sleep(0.05)
        await close(talk)

    async with ScriptedServer(HELLO, [linger], HELLO) as server, open_sender(server.url) as sender:
        await send(sender, 0)
        second = await send(sender, 1)
    assert second.sent_at_ns is not None
    assert second.headers_at_ns is not None
    assert second.headers_at_ns - second.sent_at_ns >= 50_000_000


async def test_new_connection_that_dies_before_an_answer_is_no_stale_one() -> None:
    async with ScriptedServer([close]) as server, open_sender(server.url) as sender:
        exchange = await send(sender)
    assert not exchange.complete
    assert exchange.failure is None
    assert exchange.detail == "connection closed by the server before any byte of an answer"
    assert (sender.stale_reconnects, len(server.requests)) == (0, 1)


async def test_kept_connection_that_dies_twice_is_not_tried_a_third_time() -> None:
    async with ScriptedServer(HELLO, [close]) as server, open_sender(server.url) as sender:
        await send(sender, 0)
        second = await send(sender, 1)
    assert not second.complete
    assert len(server.requests) == 3


async def test_dead_connection_is_dropped_as_soon_as_its_fin_comes() -> None:
    async with ScriptedServer([*HELLO, close]) as server, open_sender(server.url) as sender:
        await send(sender, 0)
        await asyncio.sleep(0.05)
        exchange = await send(sender, 1)
    assert exchange.complete
    assert not exchange.connection.reused
    assert sender.stale_reconnects == 0


async def test_half_written_answer_says_how_far_it_came() -> None:
    half: list[Step] = [STREAM_HEAD, chunk(b"data: a\n\n"), (0.01, b"20\r\ndata: b"), close]
    async with ScriptedServer(half) as server, open_sender(server.url) as sender:
        exchange = await send(sender)
    assert not exchange.complete
    assert exchange.failure is None
    assert body_of(exchange) == b"data: a\n\ndata: b"
    assert exchange.detail == "connection closed by the server after 16 body bytes"
    assert exchange.done_at_ns is not None


async def test_reset_in_mid_answer_is_told_from_a_close() -> None:
    half: list[Step] = [STREAM_HEAD, chunk(b"data: a\n\n"), _pause, reset]
    async with ScriptedServer(half) as server, open_sender(server.url) as sender:
        exchange = await send(sender)
    assert not exchange.complete
    assert body_of(exchange) == b"data: a\n\n"
    assert exchange.detail == "connection reset by the server after 9 body bytes"


async def test_body_that_ends_with_the_connection_is_complete() -> None:
    answer: list[Step] = [b"HTTP/1.1 200 OK\r\n\r\n", b"data: a\n\n", (0.01, b"data: b\n\n"), close]
    async with ScriptedServer(answer) as server, open_sender(server.url) as sender:
        exchange = await send(sender)
    assert exchange.complete
    assert body_of(exchange) == b"data: a\n\ndata: b\n\n"


async def test_bytes_after_an_answer_cost_the_connection_only() -> None:
    async with (
        ScriptedServer([whole(b"{}") + b"surplus"]) as server,
        open_sender(server.url) as sender,
    ):
        exchanges = [await send(sender, seq) for seq in range(2)]
    assert [body_of(exchange) for exchange in exchanges] == [b"{}", b"{}"]
    assert sender.connections_opened == 2


async def test_answer_split_at_every_byte_is_read_whole() -> None:
    wire = b"".join(step for step in HELLO if isinstance(step, bytes))
    single = [(0.0, wire[at : at + 1]) for at in range(len(wire))]
    async with ScriptedServer(single) as server, open_sender(server.url) as sender:
        exchange = await send(sender)
    assert exchange.complete
    assert body_of(exchange) == HELLO_BODY


async def test_error_status_comes_with_its_body_and_headers() -> None:
    answer: list[Step] = [
        whole(b'{"error":"slow down"}', 429, b"Retry-After: 2", b"x-a: 1", b"X-A: 2")
    ]
    async with ScriptedServer(answer) as server, open_sender(server.url) as sender:
        exchange = await send(sender)
    assert (exchange.http_status, exchange.failure, exchange.complete) == (429, None, True)
    assert exchange.headers["retry-after"] == "2"
    assert exchange.headers["x-a"] == "1, 2"


async def test_what_is_no_http_is_a_bad_stream() -> None:
    async with ScriptedServer([b"SSH-2.0-OpenSSH_9\r\n"]) as server, open_sender(server.url) as s:
        exchange = await send(s)
    assert exchange.failure is Outcome.BAD_STREAM
    assert exchange.detail.startswith("not a valid HTTP/1.1 answer")


async def test_refused_connection_names_the_kind_and_the_address() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        async with open_sender(f"http://127.0.0.1:{port}") as sender:
            exchange = await send(sender)
    assert exchange.failure is Outcome.REFUSED
    assert exchange.detail == f"tcp: connection refused (127.0.0.1:{port})"
    assert exchange.sent_at_ns is None
    assert sender.in_flight == 0


async def test_unknown_name_is_refused_as_dns() -> None:
    async with open_sender("http://no-such-host.invalid:1") as sender:
        exchange = await send(sender)
    assert exchange.failure is Outcome.REFUSED
    assert exchange.detail.startswith("dns: name `no-such-host.invalid` has no address")


async def test_ipv6_address_is_spoken_to() -> None:
    async with ScriptedServer(HELLO, host="::1") as server, open_sender(server.url) as sender:
        exchange = await send(sender)
    assert exchange.complete
    assert exchange.connection.peer == f"[::1]:{server.port}"
    assert server.requests[0].headers["host"] == f"[::1]:{server.port}"


async def test_name_is_looked_up_once_and_an_address_that_refuses_is_passed_over() -> None:
    async with ScriptedServer(HELLO) as server:
        url = f"http://localhost:{server.port}"
        async with open_sender(url, fresh_connections=True) as sender:
            exchanges = [await send(sender, seq) for seq in range(4)]
    assert all(exchange.complete for exchange in exchanges)
    resolved = [exchange.connection.resolved_at_ns is not None for exchange in exchanges]
    assert resolved == [True, False, False, False]


async def test_three_hundred_streams_are_open_at_once_without_a_cap() -> None:
    everybody = asyncio.Event()
    arrived = 0

    async def wait_for_all(_talk: Talk) -> None:
        nonlocal arrived
        arrived += 1
        if arrived == 300:
            everybody.set()
        await asyncio.wait_for(everybody.wait(), 30)

    async with (
        ScriptedServer([wait_for_all, *HELLO]) as server,
        open_sender(server.url) as sender,
    ):
        exchanges = await asyncio.gather(*(send(sender, seq) for seq in range(300)))
    assert server.most_at_once == 300
    assert sum(exchange.complete for exchange in exchanges) == 300
    assert sender.connections_opened == 300
    assert {exchange.stamp_kind for exchange in exchanges} <= {StampKind.KERNEL, StampKind.USER}


async def test_secret_echoed_by_the_server_is_not_in_the_exchange() -> None:
    secret = "sk-canary-77"
    echo = whole(b'{"error":"bad key sk-canary-77"}', 401, b"x-echo: sk-canary-77")
    async with ScriptedServer([echo]) as server:
        headers = {"authorization": f"Bearer {secret}"}
        async with open_sender(server.url, secret_headers=headers) as sender:
            exchange = await send(sender)
    assert server.requests[0].headers["authorization"] == f"Bearer {secret}"
    assert secret not in repr(exchange)


async def _pause(_talk: Talk) -> None:
    await asyncio.sleep(0.02)


async def test_connections_are_spread_over_all_addresses_of_a_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    addresses = ["127.0.0.1", "127.0.0.2", "127.0.0.3"]

    async def look_up(_host: str, port: int, **_: object) -> list[object]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, port)) for ip in addresses]

    async with ScriptedServer(HELLO, host="0.0.0.0") as server:
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", look_up)
        async with open_sender(f"http://replicas.test:{server.port}") as sender:
            exchanges = await asyncio.gather(*(send(sender, seq) for seq in range(30)))
    peers = Counter(exchange.connection.peer.partition(":")[0] for exchange in exchanges)
    assert peers == dict.fromkeys(addresses, 10)


def test_sender_works_on_uvloop() -> None:
    async def talk() -> list[Exchange]:
        async with (
            ScriptedServer(HELLO, [close], HELLO) as server,
            open_sender(server.url) as sender,
        ):
            return [await send(sender, seq) for seq in range(4)]

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        exchanges = runner.run(talk())
    assert [exchange.complete for exchange in exchanges] == [True] * 4
    assert exchanges[1].connection.stale_reconnects == 1


async def test_connection_that_ends_just_before_it_is_used_is_replaced_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended: list[Connection] = []
    start = Connection.start

    def start_late(
        self: Connection, pieces: list[Piece], reply: Reply, waiter: "asyncio.Future[None]"
    ) -> None:
        if not ended:  # the guard's look, just before this, has read the server's FIN
            ended.append(self)
            self.lost(None)
        start(self, pieces, reply, waiter)

    async with ScriptedServer(HELLO) as server, open_sender(server.url) as sender:
        await send(sender)
        monkeypatch.setattr(Connection, "start", start_late)
        async with asyncio.timeout(10):
            exchange = await send(sender)
    assert body_of(exchange) == HELLO_BODY
    assert exchange.connection.stale_reconnects == 1
