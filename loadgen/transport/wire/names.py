"""Names to addresses: looked up off the loop, kept for a minute, all of them used in turn."""

import asyncio
import socket

from loadgen.clock import now_ns
from loadgen.transport.wire.sockets import Address
from loadgen.units import NS_PER_S

KEPT_NS = 60 * NS_PER_S
SHUNNED_NS = 30 * NS_PER_S


class AddressBook:
    """The addresses of one name. Connections are spread over those that work."""

    def __init__(self, addresses: list[Address]) -> None:
        self._addresses = addresses
        self._cursor = 0
        self._shunned: dict[Address, int] = {}
        self.read_at_ns = now_ns()

    def in_turn(self) -> list[Address]:
        """Every address once, beginning one further each time; those that failed lately last."""
        start = self._cursor % len(self._addresses)
        self._cursor += 1
        order = self._addresses[start:] + self._addresses[:start]
        if self._shunned:
            now = now_ns()
            order.sort(key=lambda address: self._shunned.get(address, 0) > now)
        return order

    def shun(self, address: Address) -> None:
        """Tries the others first for a while."""
        self._shunned[address] = now_ns() + SHUNNED_NS


class Names:
    """Cache of looked-up names for one event loop."""

    def __init__(self) -> None:
        self._books: dict[tuple[str, int], AddressBook] = {}
        self._lookups: dict[tuple[str, int], asyncio.Task[AddressBook]] = {}

    def known(self, host: str, port: int) -> AddressBook | None:
        """The addresses if they need no look-up: a numeric host, or one asked for lately."""
        book = self._books.get((host, port))
        if book is not None:
            return book if now_ns() - book.read_at_ns < KEPT_NS else None
        literal = _numeric(host, port)
        if literal is None:
            return None
        book = AddressBook([literal])
        book.read_at_ns = 1 << 62
        self._books[host, port] = book
        return book

    async def look_up(self, host: str, port: int) -> AddressBook:
        """The addresses of the name; callers at the same time share one look-up.

        Raises: OSError (socket.gaierror) when the name has none and never had one.
        """
        key = (host, port)
        lookup = self._lookups.get(key)
        if lookup is None:
            lookup = asyncio.get_running_loop().create_task(self._ask(host, port))
            self._lookups[key] = lookup
            lookup.add_done_callback(lambda done: self._forget_lookup(key, done))
        return await asyncio.shield(lookup)

    def _forget_lookup(self, key: tuple[str, int], done: "asyncio.Task[AddressBook]") -> None:
        self._lookups.pop(key, None)
        if not done.cancelled():
            done.exception()

    async def _ask(self, host: str, port: int) -> AddressBook:
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError:
            stale = self._books.get((host, port))
            if stale is None:
                raise
            stale.read_at_ns = now_ns()
            return stale
        addresses: list[Address] = [(int(family), where) for family, _, _, _, where in found]
        book = self._books[host, port] = AddressBook(list(dict.fromkeys(addresses)))
        return book


def _numeric(host: str, port: int) -> Address | None:
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host)
        except OSError:
            continue
        return (int(family), (host, port))
    return None
