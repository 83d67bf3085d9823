"""Plain non-blocking sockets and the one poller they hang in. Knows neither HTTP nor TLS."""

import select
import selectors
import socket
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from loadgen.transport.wire.stamps import HAS_KERNEL_STAMPS, SO_TIMESTAMPNS

READ = 1
WRITE = 4
"""Masks of the poller; the numbers are epoll's, whose error bits (8, 16) may come on top."""

RECEIVE_BUFFER_BYTES = 1 << 20

Address = tuple[int, tuple[Any, ...]]
"""(address family, what `connect` takes)."""

WatchedT = TypeVar("WatchedT")


class Poller(Protocol):
    """What we use of `select.epoll`: level-triggered, and itself readable when anything is."""

    def register(self, fd: int, eventmask: int) -> None:
        """Watches `fd`."""

    def modify(self, fd: int, eventmask: int) -> None:
        """Watches `fd` for other events."""

    def unregister(self, fd: int) -> None:
        """Forgets `fd`."""

    def poll(self, timeout: float, maxevents: int) -> list[tuple[int, int]]:
        """(fd, mask) of what is ready."""

    def fileno(self) -> int:
        """The poller's own descriptor."""

    def close(self) -> None:
        """Frees the descriptor."""


class SelectorPoller:
    """The same on `selectors`, for platforms without epoll (kqueue on macOS)."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()

    def register(self, fd: int, eventmask: int) -> None:
        """Watches `fd`."""
        self._selector.register(fd, _selector_events(eventmask))

    def modify(self, fd: int, eventmask: int) -> None:
        """Watches `fd` for other events."""
        self._selector.modify(fd, _selector_events(eventmask))

    def unregister(self, fd: int) -> None:
        """Forgets `fd`."""
        self._selector.unregister(fd)

    def poll(self, timeout: float, maxevents: int) -> list[tuple[int, int]]:
        """(fd, mask) of what is ready; `maxevents` is not needed here."""
        return [
            (key.fd, (READ if events & selectors.EVENT_READ else 0) | _write_bit(events))
            for key, events in self._selector.select(timeout)
        ]

    def fileno(self) -> int:
        """The selector's own descriptor, which becomes readable."""
        return self._selector.fileno()

    def close(self) -> None:
        """Frees the descriptor."""
        self._selector.close()


def _write_bit(events: int) -> int:
    return WRITE if events & selectors.EVENT_WRITE else 0


def _selector_events(mask: int) -> int:
    read = selectors.EVENT_READ if mask & READ else 0
    return read | (selectors.EVENT_WRITE if mask & WRITE else 0)


def open_poller() -> Poller:
    """A nested epoll where the platform has one, else the portable selector."""
    return select.epoll() if hasattr(select, "epoll") else SelectorPoller()


class Roster(Generic[WatchedT]):
    """Who is registered in the poller, by descriptor."""

    def __init__(self, poller: Poller) -> None:
        self.poller = poller
        self.watched: dict[int, WatchedT] = {}
        self.writable: dict[int, WatchedT] = {}
        """Found ready for their next slice, longest waiting first."""

    def add(self, fd: int, who: WatchedT, mask: int) -> None:
        """Starts to watch."""
        self.poller.register(fd, mask)
        self.watched[fd] = who

    def remove(self, fd: int) -> None:
        """Stops to watch; nothing happens when it was not watched."""
        if self.watched.pop(fd, None) is not None:
            self.poller.unregister(fd)
        self.writable.pop(fd, None)


def open_socket(family: int) -> socket.socket:
    """A non-blocking TCP socket that asks the kernel for receive stamps where it has them.

    Raises: OSError, for instance when no descriptor is left.
    """
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setblocking(False)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if HAS_KERNEL_STAMPS:
        sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    if _may_set_receive_buffer():
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
    return sock


_stamp_keepers: list[int] = []
_receive_limit: list[int] = []


def keep_stamps_on() -> None:
    """Receive stamps stay switched on in the kernel for as long as this process lives.

    It begins to stamp a moment after the first socket asks for it and ends with the last; one
    idle descriptor, opened early, has the first answer of a run stamped like all others.
    """
    if HAS_KERNEL_STAMPS and not _stamp_keepers:
        keeper = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        keeper.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        _stamp_keepers.append(keeper.detach())


def _may_set_receive_buffer() -> bool:
    """Whether the kernel would grant the size in full.

    Asking for more than `rmem_max` would switch off its own tuning, which grows to several MB,
    and pin the buffer at the smaller limit instead.
    """
    if not _receive_limit:
        limit = Path("/proc/sys/net/core/rmem_max")
        _receive_limit.append(int(limit.read_text(encoding="ascii")) if limit.exists() else 0)
    return _receive_limit[0] >= RECEIVE_BUFFER_BYTES


def format_address(address: tuple[Any, ...]) -> str:
    """`127.0.0.1:8000`, `[::1]:8000`."""
    host, port = address[0], address[1]
    return f"[{host}]:{port}" if ":" in str(host) else f"{host}:{port}"
