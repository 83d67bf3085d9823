import asyncio
import ssl
from pathlib import Path

import pytest

from loadgen.errors import InputError
from loadgen.model.exchange import Exchange, Outcome, StampKind
from loadgen.transport.wire.connection import Connection
from loadgen.transport.wire.origin import ConnectError, Origin
from loadgen.transport.wire.pool import Pool
from tests.real_servers import Certificates
from tests.scripted_server import STREAM_HEAD, ScriptedServer, Step, chunk, close, stream
from tests.wire import MEMBERS, body_of, ints, open_sender, part_stamps, send

HELLO = stream(b"hello", b"[DONE]")
HELLO_BODY = b"data: hello\n\ndata: [DONE]\n\n"


@pytest.fixture
def context(certificates: Certificates) -> ssl.SSLContext:
    """What the server shows: a certificate of the tests' own authority."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(certificates.cert, certificates.key)
    made.set_alpn_protocols(["http/1.1"])
    return made


async def test_own_authority_is_trusted_when_named(
    certificates: Certificates, context: ssl.SSLContext
) -> None:
    async with (
        ScriptedServer(HELLO, context=context) as server,
        open_sender(server.url, ca_file=str(certificates.ca)) as sender,
    ):
        first, second = [await send(sender, seq) for seq in range(2)]
    assert (body_of(first), body_of(second)) == (HELLO_BODY, HELLO_BODY)
    assert second.connection.reused
    assert first.stamp_kind is second.stamp_kind


async def test_handshake_is_timed_apart_from_the_connect(
    certificates: Certificates, context: ssl.SSLContext
) -> None:
    async with (
        ScriptedServer(HELLO, context=context) as server,
        open_sender(server.url, ca_file=str(certificates.ca)) as sender,
    ):
        exchange = await send(sender)
    connected, secured = exchange.connection.connected_at_ns, exchange.connection.tls_done_at_ns
    assert connected is not None
    assert secured is not None
    assert exchange.sent_at_ns is not None
    assert connected < secured < exchange.sent_at_ns


async def test_unknown_authority_is_refused_with_the_certificates_problem(
    context: ssl.SSLContext,
) -> None:
    exchange = await _refused(context)
    assert exchange.detail.startswith("tls: certificate of `127.0.0.1` not accepted: ")
    assert "unable to get local issuer certificate" in exchange.detail
    assert exchange.sent_at_ns is None


async def test_certificate_of_another_name_is_refused_by_that_name(
    certificates: Certificates, context: ssl.SSLContext
) -> None:
    exchange = await _refused(context, host="::1", ca_file=str(certificates.ca))
    assert "certificate of `::1` not accepted: " in exchange.detail
    assert "mismatch" in exchange.detail


async def test_insecure_accepts_any_certificate(context: ssl.SSLContext) -> None:
    async with (
        ScriptedServer(HELLO, context=context) as server,
        open_sender(server.url, insecure=True) as sender,
    ):
        exchange = await send(sender)
    assert exchange.complete


async def test_port_without_tls_is_refused_as_such() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65536)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with open_sender(f"https://127.0.0.1:{port}") as sender:
            exchange = await send(sender)
    assert exchange.failure is Outcome.REFUSED
    assert exchange.detail.startswith("tls: handshake with `127.0.0.1` broke off")


async def test_missing_ca_file_is_said_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        async with open_sender("https://127.0.0.1:1", ca_file=str(tmp_path / "none.pem")):
            pass


async def test_ca_file_without_a_certificate_is_said_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("no certificate", encoding="ascii")
    with pytest.raises(InputError, match="no readable certificate"):
        async with open_sender("https://127.0.0.1:1", ca_file=str(tmp_path / "ca.pem")):
            pass


async def test_stamps_of_ciphertext_carry_over_to_the_events_in_it(
    certificates: Certificates, context: ssl.SSLContext
) -> None:
    events = [(0.01, chunk(b"data: %d\n\n" % number)) for number in range(10)]
    async with (
        ScriptedServer([STREAM_HEAD, *events, b"0\r\n\r\n"], context=context) as server,
        open_sender(server.url, ca_file=str(certificates.ca)) as sender,
    ):
        exchange = await send(sender)
    stamps = part_stamps(exchange)
    assert len(stamps) == 10
    before = [before_ns for before_ns, _, data in server.writes if b"data:" in data]
    assert all(sent < stamp for sent, stamp in zip(before, stamps, strict=True))
    seen = ints("q", exchange.seen_at_ns)
    assert all(at <= then for at, then in zip(ints("q", exchange.read_at_ns), seen, strict=True))
    assert exchange.stamp_kind in (StampKind.KERNEL, StampKind.USER)


async def test_big_body_goes_through_tls_whole(
    certificates: Certificates, context: ssl.SSLContext
) -> None:
    members = MEMBERS + b',"x":"%b"' % (b"y" * 1_500_000)
    async with (
        ScriptedServer(HELLO, context=context) as server,
        open_sender(server.url, ca_file=str(certificates.ca)) as sender,
    ):
        exchange = await send(sender, members=members)
    assert exchange.complete
    assert server.requests[0].body.endswith(members + b"}")


async def test_big_answer_comes_through_tls_whole(
    certificates: Certificates, context: ssl.SSLContext
) -> None:
    answer: list[Step] = [STREAM_HEAD, *[chunk(b"z" * 100_000)] * 20, b"0\r\n\r\n"]
    async with (
        ScriptedServer(answer, context=context) as server,
        open_sender(server.url, ca_file=str(certificates.ca)) as sender,
    ):
        exchange = await send(sender)
    assert exchange.complete
    assert len(body_of(exchange)) == 2_000_000


async def test_close_in_mid_answer_is_seen_through_tls(
    certificates: Certificates, context: ssl.SSLContext
) -> None:
    half: list[Step] = [STREAM_HEAD, chunk(b"data: a\n\n"), close]
    async with (
        ScriptedServer(half, context=context) as server,
        open_sender(server.url, ca_file=str(certificates.ca)) as sender,
    ):
        exchange = await send(sender)
    assert not exchange.complete
    assert exchange.detail == "connection closed by the server after 9 body bytes"


async def test_dead_kept_connection_is_replaced_under_tls_too(
    certificates: Certificates, context: ssl.SSLContext
) -> None:
    async with (
        ScriptedServer(HELLO, [close], HELLO, context=context) as server,
        open_sender(server.url, ca_file=str(certificates.ca)) as sender,
    ):
        await send(sender, 0)
        second = await send(sender, 1)
    assert second.complete
    assert second.connection.stale_reconnects == 1


async def _refused(context: ssl.SSLContext, host: str = "127.0.0.1", ca_file: str = "") -> Exchange:
    async with (
        ScriptedServer(HELLO, host=host, context=context) as server,
        open_sender(server.url, ca_file=ca_file) as sender,
    ):
        exchange = await send(sender)
    assert exchange.failure is Outcome.REFUSED
    assert not server.requests
    return exchange


async def test_server_of_http2_only_is_refused_with_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def refuse(_pool: Pool, _origin: Origin) -> Connection:
        raise ConnectError("tls", "`h` offers no HTTP/1.1", other_protocol=True)

    monkeypatch.setattr(Pool, "dial", refuse)
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    async with open_sender("https://127.0.0.1:1") as sender:
        exchange = await send(sender)
    assert exchange.failure is Outcome.REFUSED
    assert "offers no HTTP/1.1" in exchange.detail
    assert "httpx[http2]" in exchange.detail


async def test_connection_closed_within_the_handshake_is_refused_as_tls() -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65536)
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with open_sender(f"https://127.0.0.1:{port}") as sender:
            exchange = await send(sender)
    assert exchange.failure is Outcome.REFUSED
    assert exchange.detail.startswith("tls: handshake with `127.0.0.1` broke off: connection")
