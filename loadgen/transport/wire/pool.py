"""Connections of one event loop: made when asked for, kept while the server keeps them, counted.

There is no cap on their number: a hidden one would change the load that is measured.
"""

import asyncio
import socket
import ssl

from loadgen.clock import now_ns
from loadgen.model.exchange import ConnectionInfo
from loadgen.transport.wire.connection import Connection
from loadgen.transport.wire.names import AddressBook, Names
from loadgen.transport.wire.origin import ConnectError, Origin
from loadgen.transport.wire.sockets import Address, keep_stamps_on
from loadgen.transport.wire.tls import open_context
from loadgen.transport.wire.watch import Watch
from loadgen.units import NS_PER_S

DIALS_AT_ONCE = 64
"""Fewer than the shortest backlog that servers ask for, so that no SYN is dropped."""


class Pool:
    """Idle connections by origin; the most recently used one first."""

    def __init__(
        self,
        *,
        insecure: bool = False,
        ca_file: str = "",
        connect_ns: int | None = None,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self.connections_opened = 0
        self.connections_reused = 0
        self.watch: Watch | None = None
        self._names = Names()
        self._idle: dict[Origin, dict[Connection, None]] = {}
        self._insecure = insecure
        self._ca_file = ca_file
        self._connect_ns = connect_ns
        self._context = context
        keep_stamps_on()

    def guard(self) -> None:
        """Reads the sockets if the last look at them is too long ago."""
        if self.watch is not None:
            self.watch.guard()

    @property
    def reads(self) -> int:
        """Reads of all connections so far that brought bytes."""
        return 0 if self.watch is None else self.watch.reads

    def take_idle(self, origin: Origin) -> Connection | None:
        """A kept connection that is still open, or None."""
        kept = self._idle.get(origin)
        while kept:
            connection, _ = kept.popitem()
            if connection.is_still_open():
                self.connections_reused += not connection.is_new
                return connection
        return None

    async def dial(self, origin: Origin) -> Connection:
        """A new connection, TLS included. Raises: ConnectError with the kind of failure."""
        watch = self.open_watch()
        asked_at_ns = now_ns()
        book = self._names.known(origin.host, origin.port)
        resolved_at_ns = None
        if book is None:
            book = await self._look_up(origin)
            resolved_at_ns = now_ns()
        connection = await self._connect(origin, watch, book)
        connection.asked_at_ns = asked_at_ns
        connection.resolved_at_ns = resolved_at_ns
        if origin.is_tls:
            await connection.shake_hands(self._tls_context())
        return connection

    async def open_ahead(self, origin: Origin, count: int) -> None:
        """Keeps at least `count` idle connections, or as many as can be made.

        Failures are left to the requests that will need a connection: they have records.
        """
        while (missing := count - len(self._idle.get(origin, ()))) > 0:
            dials = (self.dial(origin) for _ in range(min(missing, DIALS_AT_ONCE)))
            made = await asyncio.gather(*dials, return_exceptions=True)
            for connection in made:
                if isinstance(connection, Connection) and connection.is_still_open():
                    self._keep(connection)
            failures = [error for error in made if isinstance(error, BaseException)]
            if any(not isinstance(error, ConnectError) for error in failures):
                raise failures[0]
            if failures:
                return

    async def _look_up(self, origin: Origin) -> AddressBook:
        try:
            return await self._names.look_up(origin.host, origin.port)
        except (OSError, UnicodeError) as error:
            why = error.strerror if isinstance(error, socket.gaierror) else str(error)
            raise ConnectError("dns", f"name `{origin.host}` has no address: {why}") from error

    async def _connect(self, origin: Origin, watch: Watch, book: AddressBook) -> Connection:
        """Connected to the first address in turn that answers."""
        complaints = []
        addresses = book.in_turn()
        for address in addresses:
            watch.guard()
            connection = Connection(origin, watch.roster, self._keep, self._forget)
            try:
                await self._open_in_time(connection, address, len(addresses))
            except TimeoutError:
                complaints.append(f"no answer ({connection.peer})")
            except OSError as error:
                where = f" ({connection.peer})" if connection.peer else ""
                complaints.append(f"{(error.strerror or str(error)).lower()}{where}")
            else:
                self.connections_opened += 1
                return connection
            book.shun(address)
        raise ConnectError("tcp", "; ".join(complaints))

    async def _open_in_time(self, connection: Connection, address: Address, shares: int) -> None:
        """Leaves the other addresses their share of the time limit."""
        if shares == 1 or self._connect_ns is None:
            await connection.open(address)
            return
        async with asyncio.timeout(self._connect_ns / shares / NS_PER_S):
            await connection.open(address)

    def open_watch(self) -> Watch:
        """Who reads the sockets of this loop, made when first asked for."""
        if self.watch is None:
            self.watch = Watch(asyncio.get_running_loop())
        return self.watch

    def _tls_context(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = open_context(self._insecure, self._ca_file)
        return self._context

    def _keep(self, connection: Connection) -> None:
        self._idle.setdefault(connection.origin, {})[connection] = None

    def _forget(self, connection: Connection) -> None:
        kept = self._idle.get(connection.origin)
        if kept:
            kept.pop(connection, None)

    def close(self) -> None:
        """Closes all connections, busy ones too."""
        if self.watch is not None:
            self.watch.close()
            self.watch = None
        self._idle.clear()


def describe_connection(
    connection: Connection | None, *, reused: bool, stale_reconnects: int = 0
) -> ConnectionInfo:
    """How a request got this connection; set-up instants only for the one that waited for it."""
    if connection is None:
        return ConnectionInfo(stale_reconnects=stale_reconnects)
    if reused:
        return ConnectionInfo(reused=True, stale_reconnects=stale_reconnects, peer=connection.peer)
    return ConnectionInfo(
        stale_reconnects=stale_reconnects,
        peer=connection.peer,
        asked_at_ns=connection.asked_at_ns,
        resolved_at_ns=connection.resolved_at_ns,
        connected_at_ns=connection.connected_at_ns,
        tls_done_at_ns=connection.tls_done_at_ns,
    )
