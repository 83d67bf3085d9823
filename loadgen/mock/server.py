"""The command line of the mock: `python -m loadgen.mock [simulator|metronome] ...`."""

import argparse
import asyncio
import contextlib
import gc
import resource
import select
import signal
import socket
import sys
import time
from asyncio import Transport
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from loadgen.mock.app import make_app
from loadgen.mock.faults import Fault, FaultError, parse_fault
from loadgen.mock.metronome import serve_metronome
from loadgen.mock.profiles import ProfileError, load_profile, profile_names
from loadgen.mock.state import Mock, Settings

BACKLOG = 4096
_GRACE_S = 0.3
_EXAMPLES = """\
examples:
  python -m loadgen.mock --profile small --port 8000
  python -m loadgen.mock --fault 'status:code=503,p=0.1' --fault 'stall:after=3,ms=500,p=0.05'
  python -m loadgen.mock --set max_batch=4 --set kv.n_blocks=64 --truth truth.jsonl
  python -m loadgen.mock metronome --port 8001
"""


def parse_args(argv: list[str] | None = None) -> argparse.Namespace:
    """The options; exits with 2 on a wrong one."""
    parser = argparse.ArgumentParser(
        prog="loadgen mock",
        description="An OpenAI-compatible server that simulates an engine and logs what it sent.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("kind", nargs="?", default="simulator", choices=("simulator", "metronome"))
    names = ", ".join(profile_names())
    parser.add_argument("--profile", default="small", help=f"{names}, or a YAML file")
    parser.add_argument("--set", action="append", default=[], metavar="MEMBER=VALUE", dest="sets")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--truth", type=Path, metavar="FILE", help="JSONL of what was sent when")
    parser.add_argument("--fault", action="append", default=[], metavar="SPEC")
    parser.add_argument("--api-key", metavar="KEY", help="/v1 answers 401 without it")
    tls = parser.add_argument("--tls", nargs=2, type=Path, metavar=("CERT", "KEY"))
    tls.help = "PEM files; serve HTTPS"
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Serves until SIGTERM or SIGINT; 0, or 2 with one line on stderr for a wrong option."""
    args = parse_args(argv)
    raise_file_limit()
    try:
        if args.kind == "metronome":
            return _serve_metronome(args)
        return _serve_simulator(args)
    except (ProfileError, FaultError) as exc:
        sys.stderr.write(f"error: {exc}\n")
        return 2
    except OSError as exc:
        reason = exc.strerror or exc
        sys.stderr.write(f"error: cannot serve on `{args.host}:{args.port}`: {reason}\n")
        return 2


def raise_file_limit() -> None:
    """Lifts the soft limit of open files to the hard one: each stream takes a descriptor."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def listening_socket(host: str, port: int) -> socket.socket:
    """A bound socket with a long backlog. Raises: OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((host, port))
    sock.listen(BACKLOG)
    sock.setblocking(False)
    return sock


def announce(sock: socket.socket, *, tls: bool) -> None:
    """Prints the one line that says the server listens."""
    host, port = sock.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    scheme = "https" if tls else "http"
    sys.stdout.write(f"READY {scheme}://{shown}:{port}\n")
    sys.stdout.flush()


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
    def __init__(self, config: uvicorn.Config, on_start: Any) -> None:
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


def _serve_metronome(args: argparse.Namespace) -> int:
    if not hasattr(select, "epoll"):
        sys.stderr.write("error: the metronome needs epoll and timerfd: Linux only\n")
        return 2
    sock = listening_socket(args.host, args.port)
    announce(sock, tls=bool(args.tls))
    gc.collect()
    gc.freeze()
    gc.disable()
    return serve_metronome(sock, args)


def _serve_simulator(args: argparse.Namespace) -> int:
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
