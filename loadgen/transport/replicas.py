"""Several base URLs of one deployment behind the face of one sender: a session stays with one."""

import asyncio
from collections.abc import Mapping
from zlib import crc32

from msgspec.structs import replace

from loadgen.model.exchange import Exchange, Outcome, TurnKey
from loadgen.model.plan import Deadlines, TargetPlan
from loadgen.model.session import Turn
from loadgen.transport.call import Sender
from loadgen.transport.wire.watch import Watch


class Replicas:
    """A sender for each URL; which one a session gets depends on its name alone."""

    def __init__(
        self, target: TargetPlan, deadlines: Deadlines, secret_headers: Mapping[str, str]
    ) -> None:
        self._senders = [
            Sender(replace(target, base_url=url), deadlines, secret_headers)
            for url in (target.base_url, *target.replicas)
        ]

    @property
    def connections_opened(self) -> int:
        """TCP connections made so far."""
        return sum(sender.connections_opened for sender in self._senders)

    @property
    def connections_reused(self) -> int:
        """Requests that took a kept connection."""
        return sum(sender.connections_reused for sender in self._senders)

    @property
    def stale_reconnects(self) -> int:
        """Kept connections found dead before any byte of an answer, each replaced."""
        return sum(sender.stale_reconnects for sender in self._senders)

    @property
    def reads(self) -> int:
        """Reads that brought bytes."""
        return sum(sender.reads for sender in self._senders)

    async def send(self, key: TurnKey, turn: Turn, body: bytes, due_at_ns: int) -> Exchange:
        """What came back; see `Sender.send`."""
        for sender in self._senders:
            sender.guard()
        number = crc32(key.session_id.encode()) % len(self._senders)
        return await self._senders[number].send(key, turn, body, due_at_ns)

    async def open_connections(self, count: int) -> None:
        """Opens connections ahead of their requests, an equal part at each URL."""
        each = -(-count // len(self._senders))
        await asyncio.gather(*(sender.open_connections(each) for sender in self._senders))

    def watch(self) -> Watch | None:
        """Who reads the first URL's sockets; None where httpx's own transport does."""
        return self._senders[0].watch()

    def stop(self, outcome: Outcome) -> None:
        """Every send in flight returns with this failure and with what it has."""
        for sender in self._senders:
            sender.stop(outcome)

    async def aclose(self) -> None:
        """Ends what is in flight as cancelled and closes every connection."""
        for sender in self._senders:
            await sender.aclose()


def sender_of(
    target: TargetPlan, deadlines: Deadlines, secret_headers: Mapping[str, str]
) -> Sender | Replicas:
    """One sender, or one for each of several URLs."""
    made = Replicas if target.replicas else Sender
    return made(target, deadlines, secret_headers)
