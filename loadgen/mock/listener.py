"""Sockets that listen, and the line that says so."""

import resource
import socket
import sys

BACKLOG = 4096


def raise_file_limit() -> None:
    """Lifts the soft limit of open files to the hard one: each stream takes a descriptor."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def listening_socket(host: str, port: int) -> socket.socket:
    """A bound socket with a long backlog. Raises: OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio switches Nagle's algorithm off only where the protocol is named: without it the
    # first tokens on a kept connection waited 20-40 ms for a delayed acknowledgement
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
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
