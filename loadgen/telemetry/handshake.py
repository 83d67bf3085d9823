"""How far the target is: the kernel's own time for a TCP handshake. Sends no byte."""

import asyncio
import socket
import struct
from contextlib import suppress

from loadgen import clock
from loadgen.units import NS_PER_S, NS_PER_US

LIMIT_S = 2.0
_RTT_AT = 68
"""Place of `tcpi_rtt` (microseconds, u32) in the kernel's struct tcp_info."""


async def handshake_ns(host: str, port: int) -> int | None:
    """Round-trip time of a handshake with that address, ns; None where none came about.

    By `TCP_INFO` where there is one, so that a late event loop adds nothing; else by the clock.
    """
    loop = asyncio.get_running_loop()
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        sock.setblocking(False)
        started_ns = clock.now_ns()
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(LIMIT_S):
                await loop.sock_connect(sock, (host, port))
            return _kernel_rtt_ns(sock) or clock.now_ns() - started_ns
    return None


def split_peer(peer: str) -> tuple[str, int] | None:
    """(host, port) of `127.0.0.1:8000` or `[::1]:8000`; None for anything else."""
    host, _, port = peer.rpartition(":")
    return (host.strip("[]"), int(port)) if host and port.isdigit() else None


def _kernel_rtt_ns(sock: socket.socket) -> int | None:
    if not hasattr(socket, "TCP_INFO"):
        return None
    known = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _RTT_AT + 4)
    if len(known) < _RTT_AT + 4:
        return None
    rtt_us: int = struct.unpack_from("=I", known, _RTT_AT)[0]
    return rtt_us * NS_PER_US if 0 < rtt_us * NS_PER_US < LIMIT_S * NS_PER_S else None
