import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from loadgen.errors import UsageError
from loadgen.model.exchange import Outcome, StampKind
from loadgen.model.plan import Deadlines
from loadgen.units import NS_PER_MS
from tests.real_servers import Certificates
from tests.scripted_server import (
    LAST_CHUNK,
    STREAM_HEAD,
    ScriptedServer,
    Step,
    chunk,
    close,
    stream,
    wait_for_hang_up,
    whole,
)
from tests.wire import body_of, open_sender, part_stamps, send

HELLO = stream(b"hello", b"[DONE]")
SECRET = "proxy-canary"


@asynccontextmanager
async def tunnel() -> AsyncIterator[tuple[str, list[str]]]:
    """A proxy that opens tunnels (CONNECT); yields its URL and the targets it was asked for."""
    asked: list[str] = []

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
        with contextlib.suppress(OSError):
            writer.close()
            await writer.wait_closed()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        target = head.split()[1]
        asked.append(target)
        host, _, port = target.rpartition(":")
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(pump(reader, far_writer), pump(far_reader, writer))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", asked


async def test_proxy_of_the_environment_carries_the_request_and_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with ScriptedServer(HELLO) as proxy:
        url = proxy.url.replace("//", f"//user:{SECRET}@")
        monkeypatch.setenv("HTTP_PROXY", url)
        async with open_sender("http://far.invalid:8000", use_proxy=True) as sender:
            first, second = [await send(sender, seq) for seq in range(2)]
    assert proxy.requests[0].path == "http://far.invalid:8000/v1/chat/completions"
    assert proxy.requests[0].headers["host"] == "far.invalid:8000"
    assert "proxy-authorization" in proxy.requests[0].headers
    assert first.complete
    assert body_of(first) == b"data: hello\n\ndata: [DONE]\n\n"
    assert first.stamp_kind is StampKind.USER
    assert first.connection.proxy == proxy.url
    assert SECRET not in repr(first)
    assert second.connection.reused
    assert (sender.connections_opened, sender.connections_reused) == (1, 1)


async def test_switch_ignores_the_proxy_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    async with ScriptedServer(HELLO) as server, open_sender(server.url, use_proxy=False) as sender:
        exchange = await send(sender)
    assert exchange.complete
    assert exchange.connection.proxy == ""


async def test_exempt_host_is_reached_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "localhost,127.0.0.1")
    async with ScriptedServer(HELLO) as server, open_sender(server.url, use_proxy=True) as sender:
        assert (await send(sender)).complete


async def test_tls_goes_through_a_tunnel(
    monkeypatch: pytest.MonkeyPatch, certificates: Certificates
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.cert, certificates.key)
    async with ScriptedServer(HELLO, context=context) as server, tunnel() as (proxy, asked):
        monkeypatch.setenv("HTTPS_PROXY", proxy)
        ca_file = str(certificates.ca)
        async with open_sender(server.url, use_proxy=True, ca_file=ca_file) as sender:
            trusted = await send(sender)
        async with open_sender(server.url, use_proxy=True) as sender:
            distrusted = await send(sender)
    assert asked == [f"127.0.0.1:{server.port}"] * 2
    assert trusted.complete
    assert trusted.connection.tls_done_at_ns is not None
    assert trusted.connection.proxy == proxy
    assert distrusted.failure is Outcome.REFUSED
    assert distrusted.detail.startswith("tls: certificate of `127.0.0.1` not accepted")


async def test_proxy_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://user:{SECRET}@127.0.0.1:9")
    async with open_sender("http://far.invalid", use_proxy=True) as sender:
        exchange = await send(sender)
    assert exchange.failure is Outcome.REFUSED
    assert exchange.detail.startswith("tcp:")
    assert exchange.connection.proxy == "http://127.0.0.1:9"
    assert SECRET not in exchange.detail


async def test_answer_that_breaks_off_behind_a_proxy_keeps_what_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    half: list[Step] = [STREAM_HEAD, (0.02, chunk(b"data: a\n\n")), (0.02, b"20\r\nda"), close]
    async with ScriptedServer(half) as proxy:
        monkeypatch.setenv("ALL_PROXY", proxy.url)
        async with open_sender("http://far.invalid", use_proxy=True) as sender:
            exchange = await send(sender)
    assert not exchange.complete
    assert body_of(exchange).startswith(b"data: a\n\n")
    assert exchange.detail.startswith("connection closed by the server after")


async def test_each_chunk_behind_a_proxy_has_its_own_stamp(monkeypatch: pytest.MonkeyPatch) -> None:
    answer: list[Step] = [STREAM_HEAD, *[(0.03, chunk(b"data: a\n\n"))] * 4, LAST_CHUNK]
    async with ScriptedServer(answer) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        async with open_sender("http://far.invalid", use_proxy=True) as sender:
            exchange = await send(sender)
    stamps = part_stamps(exchange)
    assert len(set(stamps)) == 4
    assert exchange.headers_at_ns is not None
    assert exchange.headers_at_ns < stamps[0]


async def test_deadlines_and_stop_hold_behind_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = Deadlines(first_token_ns=100 * NS_PER_MS)
    async with ScriptedServer([wait_for_hang_up]) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        async with open_sender("http://far.invalid", limits, use_proxy=True) as sender:
            late = await send(sender)
        async with open_sender("http://far.invalid", use_proxy=True) as sender:
            sending = asyncio.create_task(send(sender))
            await asyncio.sleep(0.1)
            sender.stop(Outcome.UNFINISHED)
            stopped = await asyncio.wait_for(sending, 5)
    assert late.failure is Outcome.TIMEOUT_FIRST_TOKEN
    assert stopped.failure is Outcome.UNFINISHED


async def test_dead_kept_connection_to_a_proxy_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    async with ScriptedServer(HELLO, [close], HELLO) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        async with open_sender("http://far.invalid", use_proxy=True) as sender:
            exchanges = [await send(sender, seq) for seq in range(2)]
    assert exchanges[1].complete
    assert sender.stale_reconnects == 1


async def test_proxy_that_refuses_says_its_status(monkeypatch: pytest.MonkeyPatch) -> None:
    async with ScriptedServer([whole(b"no", 403)]) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        async with open_sender("https://far.invalid", use_proxy=True) as sender:
            exchange = await send(sender)
    assert exchange.failure is Outcome.REFUSED
    assert exchange.detail.startswith("proxy: 403")


async def test_proxy_of_an_unknown_kind_is_said_before_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ALL_PROXY", f"gopher://u:{SECRET}@127.0.0.1:9")
    with pytest.raises(UsageError) as caught:
        async with open_sender("http://far.invalid", use_proxy=True):
            pass
    assert SECRET not in str(caught.value)
