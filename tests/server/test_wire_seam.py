import subprocess
import sys

import httpx
import pytest

from loadgen.model.exchange import ConnectionInfo
from loadgen.transport.seam import StampedTransport, open_client
from loadgen.transport.wire.reply import Reply
from tests.real_servers import Certificates
from tests.scripted_server import (
    LAST_CHUNK,
    STREAM_HEAD,
    ScriptedServer,
    Step,
    chunk,
    close,
    eventually,
    wait_for_hang_up,
    whole,
)


async def test_client_of_httpx_works_on_stamped_sockets() -> None:
    async with (
        ScriptedServer([whole(b'{"data":[]}', 200, b"x-a: b")]) as server,
        open_client() as client,
    ):
        answers = [await client.get(f"{server.url}/v1/models?x=1") for _ in range(3)]
    assert [answer.json() for answer in answers] == [{"data": []}] * 3
    assert answers[0].headers["x-a"] == "b"
    assert server.requests[0].path == "/v1/models?x=1"
    assert server.connections == 1


async def test_posted_json_arrives_and_stamps_come_with_the_answer() -> None:
    async with ScriptedServer([whole(b"{}")]) as server, open_client() as client:
        answer = await client.post(server.url, json={"a": 1})
    assert server.requests[0].body == b'{"a":1}'
    stamps = answer.extensions["stamps"]
    assert isinstance(stamps, Reply)
    assert stamps.sent_at_ns is not None
    assert stamps.sent_at_ns < stamps.read_at_ns[0] <= stamps.seen_at_ns[0]
    connection = answer.extensions["connection"]
    assert isinstance(connection, ConnectionInfo)
    assert connection.peer == f"127.0.0.1:{server.port}"


async def test_body_streams_in_while_the_server_still_writes() -> None:
    answer: list[Step] = [
        STREAM_HEAD,
        chunk(b"data: a\n\n"),
        (0.05, chunk(b"data: b\n\n")),
        LAST_CHUNK,
    ]
    async with (
        ScriptedServer(answer) as server,
        open_client() as client,
        client.stream("POST", server.url) as response,
    ):
        pieces = [piece async for piece in response.aiter_raw()]
    assert pieces == [b"data: a\n\n", b"data: b\n\n"]


async def test_stream_left_in_the_middle_hangs_up() -> None:
    async with ScriptedServer([STREAM_HEAD, chunk(b"data: a\n\n"), wait_for_hang_up]) as server:
        async with open_client() as client, client.stream("POST", server.url) as response:
            async for _ in response.aiter_raw():
                break
        await eventually(lambda: server.hang_ups == 1)


async def test_half_an_answer_is_an_error_of_httpx() -> None:
    half: list[Step] = [STREAM_HEAD, chunk(b"data: a\n\n"), (0.02, b"20\r\nx"), close]
    async with ScriptedServer(half) as server, open_client() as client:
        with pytest.raises(httpx.RemoteProtocolError, match="closed by the server after"):
            await client.post(server.url)


async def test_dead_kept_connection_is_replaced_in_the_seam_too() -> None:
    async with (
        ScriptedServer([whole(b"a")], [close], [whole(b"b")]) as server,
        open_client() as client,
    ):
        texts = [(await client.get(server.url)).text for _ in range(2)]
    assert texts == ["a", "b"]


async def test_refused_connection_is_an_error_of_httpx() -> None:
    async with open_client() as client:
        with pytest.raises(httpx.ConnectError, match="tcp: connection refused"):
            await client.get("http://127.0.0.1:9")


async def test_answer_that_never_comes_is_a_read_timeout() -> None:
    async with ScriptedServer([wait_for_hang_up]) as server, open_client(timeout_s=0.1) as client:
        with pytest.raises(httpx.ReadTimeout):
            await client.get(server.url)


async def test_head_request_ends_with_its_headers() -> None:
    async with (
        ScriptedServer([b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n"]) as server,
        open_client() as client,
    ):
        answer = await client.head(server.url)
    assert answer.headers["content-length"] == "99"


async def test_certificate_of_an_unknown_authority_is_named(certificates: Certificates) -> None:
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.cert, certificates.key)
    async with ScriptedServer([whole(b"ok")], context=context) as server:
        async with open_client() as client:
            with pytest.raises(httpx.ConnectError, match="certificate of `127"):
                await client.get(server.url)
        transport = StampedTransport(ca_file=str(certificates.ca))
        async with httpx.AsyncClient(transport=transport) as client:
            assert (await client.get(server.url)).text == "ok"


def test_measured_call_does_not_pay_for_importing_httpx() -> None:
    code = "import sys, loadgen.transport.call; sys.exit('httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
