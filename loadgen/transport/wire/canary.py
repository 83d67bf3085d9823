"""A stream whose send times are known, read beside the measured ones in the same look.

Each tick says when it was sent, so its stamp less that instant is the error that stamps have
under the load of the moment. It touches no endpoint but our own ticker on this machine.
"""

import asyncio
import socket
from array import array
from contextlib import suppress

from loadgen.clock import now_ns
from loadgen.mock.metronome.ticker import TICK
from loadgen.model.exchange import StampKind
from loadgen.transport.wire.connection import Connection
from loadgen.transport.wire.origin import Origin
from loadgen.transport.wire.reply import Piece
from loadgen.transport.wire.stamps import HAS_KERNEL_STAMPS
from loadgen.transport.wire.watch import Watch
from loadgen.units import NS_PER_MS

TOOK_MAX_NS = NS_PER_MS
"""A tick whose send took longer was held up on its way out: its error would be the ticker's."""

_REQUEST = b"GET / HTTP/1.1\r\nhost: canary\r\n\r\n"
_HEAD_END = b"\r\n\r\n"


class Canary:
    """Reads ticks and keeps what they tell, ns. `forget` begins anew."""

    def __init__(self) -> None:
        self.errors_ns = array("q")
        """Stamp less sent."""
        self.waits_ns = array("q")
        """Read less sent: no event stamped at that time can err by more than it waited, not even
        one that shares its read with later ones, whose stamp it then gets."""
        self.stamp = ""
        self._last: tuple[int, int] | None = None
        """Error and wait of the latest tick, until the next tells how long its send took."""
        self._rest = bytearray()
        self._connection: Connection | None = None
        self._listening: asyncio.Task[None] | None = None

    def forget(self) -> None:
        """Drops what was told so far."""
        self.errors_ns, self.waits_ns = array("q"), array("q")
        self._last = None

    async def listen(self, port: int, watch: Watch | None) -> None:
        """Connects; ticks then come by `watch`, or through httpx where it is None.

        A ticker that can't be reached leaves no error behind and no canary either.
        """
        if watch is None:
            self.stamp = str(StampKind.USER)
            self._listening = asyncio.create_task(self._listen_by_httpx(port))
            return
        origin = Origin(False, "127.0.0.1", port)
        connection = Connection(origin, watch.roster, _ignore, _ignore)
        with suppress(OSError):
            await connection.open((socket.AF_INET, ("127.0.0.1", port)))
            connection.take = self._take_with_head
            connection.sock.send(_REQUEST)
            self._connection = connection
            self.stamp = str(StampKind.KERNEL if HAS_KERNEL_STAMPS else StampKind.USER)

    async def aclose(self) -> None:
        """Hangs up."""
        if self._connection is not None:
            self._connection.close()
        if self._listening is not None:
            self._listening.cancel()
            with suppress(asyncio.CancelledError):
                await self._listening

    def _take_with_head(self, data: Piece, at_ns: int, seen_at_ns: int) -> bool:
        """Skips the answer's head, then takes ticks; False: the answer has no end."""
        self._rest += data
        end = self._rest.find(_HEAD_END)
        if end >= 0:
            del self._rest[: end + len(_HEAD_END)]
            if self._connection is not None:
                self._connection.take = self._take
            return self._take(b"", at_ns, seen_at_ns)
        return False

    def _take(self, data: Piece, at_ns: int, seen_at_ns: int) -> bool:
        rest = self._rest
        rest += data
        whole = len(rest) - len(rest) % TICK.size
        for sent_ns, took_ns in TICK.iter_unpack(rest[:whole]):
            if self._last is not None and took_ns <= TOOK_MAX_NS:
                self.errors_ns.append(self._last[0])
                self.waits_ns.append(self._last[1])
            self._last = abs(at_ns - sent_ns), seen_at_ns - sent_ns
        del rest[:whole]
        return False

    async def _listen_by_httpx(self, port: int) -> None:
        import httpx  # only beside a route that has loaded it anyway

        transport = httpx.AsyncHTTPTransport(trust_env=False)
        async with httpx.AsyncClient(transport=transport, timeout=None) as client:
            with suppress(httpx.HTTPError):
                async with client.stream("GET", f"http://127.0.0.1:{port}/") as response:
                    async for piece in response.aiter_raw():
                        at_ns = now_ns()
                        self._take(piece, at_ns, at_ns)


def _ignore(_connection: Connection) -> None:
    """The pool's part for a connection that is in no pool."""
