"""The call: one turn over the wire, one exchange back. The worker's only door to the network.

It decodes nothing, retries nothing (a kept connection found dead before an answer began is
replaced, which is no retry) and never raises but for cancellation.
"""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from loadgen.clock import now_ns
from loadgen.model.exchange import Exchange, Outcome, TurnKey
from loadgen.model.plan import Deadlines, TargetPlan
from loadgen.model.session import Turn
from loadgen.transport.flight import Flight
from loadgen.transport.proxies import proxy_for
from loadgen.transport.request import RequestTemplate
from loadgen.transport.wire.connection import Connection
from loadgen.transport.wire.origin import ConnectError
from loadgen.transport.wire.pool import Pool, describe_connection
from loadgen.transport.wire.reply import Piece, Reply
from loadgen.transport.wire.tls import open_context
from loadgen.transport.wire.watch import Watch

if TYPE_CHECKING:
    from loadgen.transport.fallback import HttpxRoute

SWEEP_EVERY_S = 0.05
GUARD_EVERY_FLIGHTS = 256


class Sender:
    """Sends turns to one target from one event loop.

    Raises: UsageError, InputError when the target can't be used as it is described.
    """

    def __init__(
        self, target: TargetPlan, deadlines: Deadlines, secret_headers: Mapping[str, str]
    ) -> None:
        self._stale_reconnects = 0
        self._target = target
        self._deadlines = deadlines
        self._template = RequestTemplate(target, secret_headers)
        is_tls = self._template.origin.is_tls
        context = open_context(target.insecure, target.ca_file) if is_tls else None
        self._pool = Pool(connect_ns=deadlines.connect_ns, context=context)
        self._flights: set[Flight] = set()
        self._sweep: asyncio.TimerHandle | None = None
        self._detour: HttpxRoute | None = None
        proxy = self._proxy()
        if proxy:
            self._detour = self._open_detour(proxy)

    @property
    def connections_opened(self) -> int:
        """TCP connections made so far."""
        return self._pool.connections_opened + (self._detour.opened if self._detour else 0)

    @property
    def connections_reused(self) -> int:
        """Requests that took a kept connection."""
        return self._pool.connections_reused + (self._detour.reused if self._detour else 0)

    @property
    def stale_reconnects(self) -> int:
        """Kept connections found dead before any byte of an answer, each replaced."""
        detour = self._detour.stale_reconnects if self._detour else 0
        return self._stale_reconnects + detour

    @property
    def reads(self) -> int:
        """Reads that brought bytes."""
        return self._pool.reads

    @property
    def in_flight(self) -> int:
        """Calls of send that have not returned."""
        return len(self._flights)

    async def send(self, key: TurnKey, turn: Turn, body: bytes, due_at_ns: int) -> Exchange:
        """What came back for `turn`, whose members (all answers rendered) are `body`.

        Raises: asyncio.CancelledError only, after closing the connection.
        """
        self._pool.guard()
        flight = Flight(key, turn, due_at_ns, self._stepped_ns())
        self._flights.add(flight)
        self._keep_sweeping()
        try:
            await self._run(flight, body)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if flight.failure is None or (task is not None and task.cancelling()):
                raise
        except ConnectError as error:
            flight.note_failure(Outcome.REFUSED, str(error))
        except Exception as error:  # noqa: BLE001  # a bug of ours costs one request, not the run
            flight.note_failure(Outcome.BAD_STREAM, f"loadgen's own error: {error!r}")
        finally:
            self._flights.discard(flight)
            if flight.connection is not None and flight.connection.reply is flight.reply:
                flight.connection.abandon()
        return flight.exchange(self._template, self._stepped_ns())

    async def open_connections(self, count: int) -> None:
        """Opens connections ahead of their requests, until `count` are kept; failures are silent.

        The first request on such a connection still carries its set-up instants.
        """
        if self._detour is None and not self._target.fresh_connections:
            await self._pool.open_ahead(self._template.origin, count)

    def watch(self) -> Watch | None:
        """Who reads the sockets; None where httpx's own transport does."""
        return None if self._detour is not None else self._pool.open_watch()

    def guard(self) -> None:
        """Reads the sockets now if 0.3 ms have passed since the last look."""
        self._pool.guard()

    def stop(self, outcome: Outcome) -> None:
        """Every send in flight returns with this failure and with what it has."""
        for flight in list(self._flights):
            flight.fail(outcome, "stopped while in flight")

    async def aclose(self) -> None:
        """Ends what is in flight as cancelled and closes every connection."""
        self.stop(Outcome.CANCELLED)
        if self._sweep is not None:
            self._sweep.cancel()
        for _ in range(3):  # flights unwind: their task, the task they wait for, their caller
            await asyncio.sleep(0)
        self._pool.close()
        if self._detour is not None:
            await self._detour.aclose()

    async def _run(self, flight: Flight, body: bytes) -> None:
        if self._detour is not None:
            await self._detour.run(flight, body)
            return
        pieces = self._template.slices(flight.key, body)
        self._pool.guard()
        try:
            await self._converse(flight, pieces, fresh=self._target.fresh_connections)
            if flight.is_stale():
                self._stale_reconnects += 1
                await self._converse(flight, pieces, fresh=True)
        except ConnectError as error:
            if not error.other_protocol:
                raise
            self._detour = self._open_detour(None)
            await self._detour.run(flight, body)

    async def _converse(self, flight: Flight, pieces: list[Piece], *, fresh: bool) -> None:
        """The request sent once and its answer read to the end, or to the flight's failure."""
        reconnects = 1 if flight.reply is not None else 0
        connection = None if fresh else self._pool.take_idle(self._template.origin)
        flight.was_kept = connection is not None
        reused = connection is not None and not connection.is_new
        if connection is None:
            connection = await self._dial(flight)
        flight.connection = connection
        flight.took = describe_connection(connection, reused=reused, stale_reconnects=reconnects)
        if flight.failure is not None:
            connection.close()
            return
        reply = Reply()
        waiter = flight.waiter = asyncio.get_running_loop().create_future()
        self._pool.guard()
        connection.start(pieces, reply, waiter)
        flight.note_sent(reply)
        await waiter

    async def _dial(self, flight: Flight) -> Connection:
        """A new connection. A task of its own, so that a deadline can end it and not the caller."""
        flight.connecting_since_ns = now_ns()
        flight.check_at_ns = 0
        flight.waiter = None
        dialing = asyncio.get_running_loop().create_task(self._pool.dial(self._template.origin))
        flight.cancel = dialing.cancel
        try:
            return await dialing
        except asyncio.CancelledError:
            dialing.add_done_callback(_close_late)
            raise
        finally:
            flight.cancel = None
            flight.connecting_since_ns = None

    def _stepped_ns(self) -> int:
        watch = self._pool.watch
        return 0 if watch is None else watch.clock.stepped_ns

    def _proxy(self) -> str | None:
        """The proxy in force, with its credentials."""
        if not self._target.use_proxy:
            return None
        return proxy_for(self._target.base_url) or self._target.proxy or None

    def _open_detour(self, proxy: str | None) -> "HttpxRoute":
        from loadgen.transport.fallback import HttpxRoute  # loads httpx

        return HttpxRoute(self._target, self._template, proxy)

    def _keep_sweeping(self) -> None:
        if self._sweep is None:
            loop = asyncio.get_running_loop()
            self._sweep = loop.call_later(SWEEP_EVERY_S, self._check_deadlines)

    def _check_deadlines(self) -> None:
        """One sweep over all flights; a timer for each would cost more than the deadlines do."""
        self._sweep = None
        at_ns = now_ns()
        for number, flight in enumerate(list(self._flights), 1):
            if flight.check_at_ns <= at_ns:
                flight.check(self._deadlines, at_ns)
            if number % GUARD_EVERY_FLIGHTS == 0:
                self._pool.guard()
        if self._flights:
            self._keep_sweeping()


def _close_late(dialing: "asyncio.Task[Connection]") -> None:
    """A connection that came about just when nobody wanted it any more."""
    if not dialing.cancelled() and dialing.exception() is None:
        dialing.result().close()
