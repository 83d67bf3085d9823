"""The simulator behind uvicorn: its connections, its start, its quiet end."""

import argparse
import asyncio
import contextlib
import gc
import signal
import socket
import time
from asyncio import Transport
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, cast

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from loadgen.mock.app import make_app
from loadgen.mock.faults import Fault, parse_fault
from loadgen.mock.listener import BACKLOG, announce, listening_socket
from loadgen.mock.profiles import load_profile
from loadgen.mock.state import Mock, Settings

_GRACE_S = 0.3


class Connection(HttpToolsProtocol):
    """uvicorn's protocol, which also tells the application its transport and when bytes came."""

    slow_accept: Fault | None = None
    _received_ns = 0

    def connection_made(  # noqa: D102
        self,
        transport: Transport,  # type: ignore[override]
    ) -> None:
        super().connection_made(transport)
        if self.slow_accept is not None:
            transport.pause_reading()
            delay_s = self.slow_accept.number("ms") / 1000
            self.loop.call_later(delay_s, self._accept, transport)

    def _accept(self, transport: Transport) -> None:
        if not transport.is_closing():
            transport.resume_reading()

    def data_received(self, data: bytes) -> None:  # noqa: D102
        self._received_ns = time.monotonic_ns()
        super().data_received(data)

    def on_headers_complete(self) -> None:  # noqa: D102
        scope = cast(dict[str, Any], self.scope)
        scope["loadgen.transport"] = self.transport
        scope["loadgen.received_ns"] = self._received_ns
        super().on_headers_complete()


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, on_start: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_start = on_start

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leaves the signals to `_serve`, which ends the process quietly."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_start()


class Listening(NamedTuple):
    """What the serving loop needs."""

    sock: socket.socket
    server: _Server
    mocks: list[Mock]


def serve_simulator(args: argparse.Namespace) -> int:
    """Serves until SIGTERM or SIGINT; 0. Raises: ProfileError, FaultError, OSError."""
    settings = Settings(
        profile=load_profile(args.profile, tuple(args.sets)),
        seed=args.seed,
        truth_path=args.truth,
        switches=[parse_fault(text) for text in args.fault],
        api_key=args.api_key,
    )
    mocks: list[Mock] = []
    slow = [fault for fault in settings.switches if fault.kind == "slow_accept"]
    protocol = type("SlowConnection", (Connection,), {"slow_accept": slow[0] if slow else None})
    sock = listening_socket(args.host, args.port)
    config = uvicorn.Config(
        make_app(settings, mocks),
        http=protocol,
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        log_level="error",
        access_log=False,
        backlog=BACKLOG,
        timeout_keep_alive=300,
        timeout_graceful_shutdown=2,
        ssl_certfile=args.tls[0] if args.tls else None,
        ssl_keyfile=args.tls[1] if args.tls else None,
    )
    server = _Server(config, lambda: announce(sock, tls=bool(args.tls)))
    asyncio.run(_serve(Listening(sock, server, mocks)))
    return 0


async def _serve(listening: Listening) -> None:
    loop = asyncio.get_running_loop()

    def stop() -> None:
        for mock in listening.mocks:
            mock.abort_all()
        listening.server.should_exit = True
        loop.call_later(_GRACE_S, drop)

    def drop() -> None:
        for connection in list(listening.server.server_state.connections):
            cast(Connection, connection).transport.abort()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    gc.collect()
    gc.freeze()
    await listening.server.serve([listening.sock])
