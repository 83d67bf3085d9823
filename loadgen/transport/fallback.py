"""The same call through httpx's own transport, where ours can't serve: proxies and HTTP/2.

Stamps are the user's here, one a chunk as httpx hands it on, and the exchange says so.
"""

import asyncio
import importlib.util
import ssl
from collections.abc import AsyncIterable

import httpx

from loadgen.clock import now_ns
from loadgen.errors import UsageError
from loadgen.model.exchange import ConnectionInfo, Outcome
from loadgen.model.plan import TargetPlan
from loadgen.transport.flight import Flight
from loadgen.transport.proxies import show_proxy
from loadgen.transport.request import RequestTemplate
from loadgen.transport.wire.connection import CLOSED_BY_SERVER
from loadgen.transport.wire.origin import ConnectError
from loadgen.transport.wire.reply import Reply
from loadgen.transport.wire.sockets import format_address
from loadgen.transport.wire.tls import describe_tls_error, open_context


class HttpxRoute:
    """Sends through `proxy`, or over HTTP/2 where `proxy` is None.

    Raises: UsageError when the proxy can't be used, ConnectError when h2 is not installed.
    """

    def __init__(self, target: TargetPlan, template: RequestTemplate, proxy: str | None) -> None:
        self.opened = 0
        self.reused = 0
        self.stale_reconnects = 0
        self._template = template
        self._proxy = show_proxy(proxy) if proxy else ""
        if proxy is None and importlib.util.find_spec("h2") is None:
            what = f"`{template.origin.host}` offers no HTTP/1.1, and `httpx[http2]` is missing"
            raise ConnectError("tls", what)
        try:
            self._transport = httpx.AsyncHTTPTransport(
                verify=open_context(target.insecure, target.ca_file),
                http1=proxy is not None,
                http2=proxy is None,
                proxy=proxy,
                trust_env=False,
                limits=httpx.Limits(
                    max_connections=None,
                    max_keepalive_connections=0 if target.fresh_connections else None,
                    keepalive_expiry=None,
                ),
            )
        except (ValueError, ImportError) as error:
            raise UsageError(
                f"proxy `{self._proxy}` can't be used: {error}",
                hint="ignore the proxy variables with `--no-proxy`, or name an HTTP proxy",
            ) from error

    async def run(self, flight: Flight, body: bytes) -> None:
        """Fills the flight's reply. Raises: ConnectError; CancelledError when it was failed."""
        talk = _Talk(self._template.body(body))
        flight.connecting_since_ns = now_ns()
        flight.took = ConnectionInfo(proxy=self._proxy)
        task = asyncio.get_running_loop().create_task(self._talk(flight, talk))
        flight.cancel = task.cancel
        try:
            await task
        finally:
            flight.cancel = None

    async def _talk(self, flight: Flight, talk: "_Talk") -> None:
        try:
            response = await self._ask(flight, talk)
        except httpx.HTTPError as error:
            self._note_error(flight, talk, error)
            return
        talk.note_response(response)
        self._note_sent(flight, talk)
        try:
            await talk.read(response)
        except httpx.HTTPError as error:
            talk.reply.end(now_ns(), _describe(error), by_reset=True)
        finally:
            flight.took = talk.connection_info(self._proxy)
            await response.aclose()

    async def _ask(self, flight: Flight, talk: "_Talk") -> httpx.Response:
        """The answer's head. A kept connection that was dead is replaced once."""
        try:
            return await self._transport.handle_async_request(self._request(flight, talk))
        except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
            if talk.connected_at_ns is not None:
                raise
            talk.stale_reconnects = 1
            self.stale_reconnects += 1
        return await self._transport.handle_async_request(self._request(flight, talk))

    def _request(self, flight: Flight, talk: "_Talk") -> httpx.Request:

        async def trace(name: str, _details: object) -> None:
            talk.note_event(name)
            if name.endswith("send_request_headers.started"):
                self._note_sent(flight, talk)

        return httpx.Request(
            "POST",
            self._template.url,
            headers=self._template.headers_for(flight.key, len(talk.body)),
            content=talk.body,
            extensions={"trace": trace, "timeout": {}},
        )

    def _note_sent(self, flight: Flight, talk: "_Talk") -> None:
        if flight.reply is None:
            flight.connecting_since_ns = None
            flight.note_sent(talk.reply)
            flight.took = talk.connection_info(self._proxy)
            self.opened += 1 if talk.connected_at_ns else 0
            self.reused += 0 if talk.connected_at_ns else 1

    def _note_error(self, flight: Flight, talk: "_Talk", error: httpx.HTTPError) -> None:
        """Before any answer: no connection, or one that died under the request."""
        if isinstance(error, httpx.ProxyError):
            flight.note_failure(Outcome.REFUSED, f"proxy: {error} ({self._proxy})")
        elif isinstance(error, httpx.ConnectError):
            kind, what = _connect_failure(error, self._template.origin.host)
            flight.note_failure(Outcome.REFUSED, f"{kind}: {what}")
        else:
            self._note_sent(flight, talk)
            talk.reply.end(now_ns(), _describe(error), by_reset=True)

    async def aclose(self) -> None:
        """Closes its connections."""
        await self._transport.aclose()


class _Talk:
    """One request and answer through httpx, put down as a reply with user stamps."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.reply = Reply()
        self.reply.forget_parser()
        self.reply.kernel_stamped = False
        self.asked_at_ns = now_ns()
        self.connected_at_ns: int | None = None
        self.tls_done_at_ns: int | None = None
        self.peer = ""
        self.stale_reconnects = 0

    def note_event(self, name: str) -> None:
        """Takes the instants of httpcore's trace."""
        event = name.partition(".")[2]
        if event == "connect_tcp.complete":
            self.connected_at_ns = now_ns()
        elif event == "start_tls.complete":
            self.tls_done_at_ns = now_ns()
        elif event == "send_request_headers.started":
            self.reply.sent_at_ns = self.reply.sent_at_ns or now_ns()
        elif event == "send_request_body.complete":
            self.reply.written_at_ns = now_ns()
            self.reply.sent_bytes = len(self.body)

    def note_response(self, response: httpx.Response) -> None:
        """Status, headers and the peer."""
        self.reply.take_parsed_headers(response.status_code, response.headers.raw, now_ns())
        stream = response.extensions.get("network_stream")
        where = stream.get_extra_info("server_addr") if stream is not None else None
        self.peer = format_address(where) if where else ""

    async def read(self, response: httpx.Response) -> None:
        """The body to its end. Raises: httpx.HTTPError."""
        if not isinstance(response.stream, AsyncIterable):
            return
        async for part in response.stream:
            self.reply.take_parsed([part], now_ns())
        self.reply.finish()

    def connection_info(self, proxy: str) -> ConnectionInfo:
        """As far as httpx tells."""
        if self.connected_at_ns is None:
            return ConnectionInfo(reused=True, peer=self.peer, proxy=proxy)
        return ConnectionInfo(
            stale_reconnects=self.stale_reconnects,
            peer=self.peer,
            proxy=proxy,
            asked_at_ns=self.asked_at_ns,
            connected_at_ns=self.connected_at_ns,
            tls_done_at_ns=self.tls_done_at_ns,
        )


def _describe(error: httpx.HTTPError) -> str:
    if isinstance(error, httpx.RemoteProtocolError):
        return CLOSED_BY_SERVER
    return f"connection lost ({type(error).__name__})"


def _connect_failure(error: httpx.ConnectError, host: str) -> tuple[str, str]:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return "tls", describe_tls_error(cause, host)
        cause = cause.__cause__ or cause.__context__
    return "tcp", str(error).lower()
