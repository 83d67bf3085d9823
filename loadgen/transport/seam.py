"""httpx on our sockets: a public transport for the control plane and for users of the library.

`httpx.AsyncClient(transport=StampedTransport())` keeps httpx's API; the answer's extensions
carry the stamps.
"""

import asyncio
from collections.abc import AsyncIterator

import httpx

from loadgen.model.exchange import ConnectionInfo
from loadgen.transport.wire.connection import Connection
from loadgen.transport.wire.origin import ConnectError, Origin
from loadgen.transport.wire.pool import Pool, describe_connection
from loadgen.transport.wire.reply import Piece, Reply
from loadgen.transport.wire.tls import open_context

_Timeouts = dict[str, float | None]


class StampedTransport(httpx.AsyncBaseTransport):
    """An httpx transport over stamped connections.

    `response.extensions["stamps"]` is the `Reply` (live while the body streams in), and
    `["connection"]` its `ConnectionInfo`.
    """

    def __init__(self, *, insecure: bool = False, ca_file: str = "") -> None:
        self._context = open_context(insecure, ca_file) if insecure or ca_file else None
        self._pool = Pool(insecure=insecure, ca_file=ca_file, context=self._context)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Status and headers at once, the body as it comes. Raises: httpx.HTTPError."""
        body = await request.aread()
        timeouts: _Timeouts = request.extensions.get("timeout", {})
        pieces: list[Piece] = [_head(request), body] if body else [_head(request)]
        reply, connection, reused = await self._converse(request, pieces, timeouts, fresh=False)
        stale = reused and reply.ended and not reply.read_at_ns
        if stale:
            reply, connection, reused = await self._converse(request, pieces, timeouts, fresh=True)
        if reply.status is None:
            raise httpx.RemoteProtocolError(reply.detail, request=request)
        info: ConnectionInfo = describe_connection(
            connection, reused=reused, stale_reconnects=int(stale)
        )
        return httpx.Response(
            reply.status,
            headers=reply.headers,
            stream=_Body(reply, connection, request, timeouts.get("read")),
            extensions={"http_version": b"HTTP/1.1", "stamps": reply, "connection": info},
        )

    async def _converse(
        self, request: httpx.Request, pieces: list[Piece], timeouts: _Timeouts, *, fresh: bool
    ) -> tuple["_StreamedReply", Connection, bool]:
        """A reply that has its headers or has ended without."""
        connection, reused = await self._connection(request, timeouts, fresh=fresh)
        reply = _StreamedReply(headers_only=request.method == "HEAD")
        connection.start(pieces, reply, asyncio.get_running_loop().create_future())
        try:
            async with asyncio.timeout(timeouts.get("read")):
                while reply.status is None and not reply.ended:
                    await reply.news()
        except TimeoutError as error:
            connection.abandon()
            raise httpx.ReadTimeout("no answer in time", request=request) from error
        except BaseException:
            connection.abandon()
            raise
        return reply, connection, reused

    async def _connection(
        self, request: httpx.Request, timeouts: _Timeouts, *, fresh: bool
    ) -> tuple[Connection, bool]:
        url = request.url
        is_tls = url.scheme == "https"
        host = url.raw_host.decode("ascii").strip("[]")
        origin = Origin(is_tls, host, url.port or (443 if is_tls else 80))
        connection = None if fresh else self._pool.take_idle(origin)
        if connection is not None:
            return connection, True
        try:
            async with asyncio.timeout(timeouts.get("connect")):
                return await self._pool.dial(origin), False
        except ConnectError as error:
            raise httpx.ConnectError(str(error), request=request) from error
        except TimeoutError as error:
            raise httpx.ConnectTimeout("no connection in time", request=request) from error

    async def aclose(self) -> None:
        """Closes every connection."""
        self._pool.close()


class _StreamedReply(Reply):
    """A reply that tells its reader of news."""

    __slots__ = ("_event",)

    def __init__(self, headers_only: bool = False) -> None:
        super().__init__(headers_only)
        self._event = asyncio.Event()

    async def news(self) -> None:
        """Returns after the next read or the end."""
        self._event.clear()
        await self._event.wait()

    def take(self, data: Piece, at_ns: int, seen_at_ns: int) -> bool:
        ended = super().take(data, at_ns, seen_at_ns)
        self._event.set()
        return ended

    def end(self, at_ns: int, why: str, *, by_reset: bool = False) -> None:
        super().end(at_ns, why, by_reset=by_reset)
        self._event.set()


class _Body(httpx.AsyncByteStream):
    """The body while it comes in."""

    def __init__(
        self,
        reply: _StreamedReply,
        connection: Connection,
        request: httpx.Request,
        read_s: float | None,
    ) -> None:
        self._reply = reply
        self._connection = connection
        self._request = request
        self._read_s = read_s

    async def __aiter__(self) -> AsyncIterator[bytes]:
        given = 0
        while True:
            parts = self._reply.parts
            while given < len(parts):
                given += 1
                yield parts[given - 1]
            if self._reply.ended:
                break
            await self._wait()
        if not self._reply.complete:
            raise httpx.RemoteProtocolError(self._reply.detail, request=self._request)

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(self._read_s):
                await self._reply.news()
        except TimeoutError as error:
            raise httpx.ReadTimeout("no byte in time", request=self._request) from error

    async def aclose(self) -> None:
        """Gives up what has not come yet."""
        if self._connection.reply is self._reply:
            self._connection.abandon()


def _head(request: httpx.Request) -> bytes:
    lines = [b"%b %b HTTP/1.1" % (request.method.encode(), request.url.raw_path)]
    lines += [b"%b: %b" % pair for pair in request.headers.raw]
    return b"\r\n".join((*lines, b"", b""))


def open_client(
    *, insecure: bool = False, ca_file: str = "", timeout_s: float = 10.0
) -> httpx.AsyncClient:
    """An httpx client on stamped sockets, without proxies."""
    transport = StampedTransport(insecure=insecure, ca_file=ca_file)
    return httpx.AsyncClient(transport=transport, timeout=timeout_s, trust_env=False)
