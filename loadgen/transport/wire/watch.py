"""The look at the sockets: one nested poller in the event loop, one tight loop over what is ready.

The order on the loop is reads, then launches, then anything else; `guard` keeps it.
"""

import asyncio
from time import sleep

from loadgen.clock import ThreadBusy, now_ns
from loadgen.transport.wire.connection import Connection
from loadgen.transport.wire.lateness import LATE_NS, Lateness
from loadgen.transport.wire.reply import Reply
from loadgen.transport.wire.sockets import READ, Poller, Roster, open_poller
from loadgen.transport.wire.stamps import (
    ANCILLARY_BYTES,
    HAS_KERNEL_STAMPS,
    SAMPLE_EVERY_NS,
    StampClock,
    unpack_stamp,
)
from loadgen.units import NS_PER_MS, NS_PER_S, NS_PER_US

GUARD_NS = 300 * NS_PER_US
"""A look at the sockets older than this is repeated before the next launch."""

BEAT_NS = 50 * NS_PER_MS
BEAT_LATE_NS = 3 * NS_PER_MS
"""Loop timers count whole milliseconds; one that is later than this tells of a loop stood still."""

READ_BYTES = 256 * 1024
READY_AT_ONCE = 512

GATHER_NS = 300 * NS_PER_US
GATHER_AFTER_NS = NS_PER_MS
FEW_READY = 32
"""While looks follow each other within a millisecond and find few sockets each, a wake-up waits
0.3 ms for more of them. Waking up costs more than reading: at 5,000 to 25,000 events a second that
saves a third of the CPU. Kernel stamps tell when bytes came, not when they were read; events of one
stream that are closer than this share a read, which is counted like all such."""


class Watch:
    """Reads every socket of one event loop and stamps what it reads."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        poller: Poller | None = None,
        clock: StampClock | None = None,
    ) -> None:
        self._loop = loop
        self._poller = poller or open_poller()
        self.roster: Roster[Connection] = Roster(self._poller)
        self.clock = clock or StampClock()
        self.reads = 0
        self._buffer = memoryview(bytearray(READ_BYTES))
        self._looked_at_ns = now_ns()
        self._busy = ThreadBusy()
        self._lateness = Lateness(self._busy, self._looked_at_ns)
        self._gathered_ns = 0
        self._found = 0
        loop.add_reader(self._poller.fileno(), self._wake)
        self._beat_due_ns = self._looked_at_ns + BEAT_NS
        self._beat: asyncio.TimerHandle = loop.call_later(BEAT_NS / NS_PER_S, self._on_beat)

    def _on_beat(self) -> None:
        self._look_for_stop(now_ns())
        self._beat_due_ns = now_ns() + BEAT_NS
        self._beat = self._loop.call_later(BEAT_NS / NS_PER_S, self._on_beat)

    def _look_for_stop(self, at_ns: int) -> None:
        """A beat that is overdue tells that the whole process was stopped meanwhile."""
        if at_ns - self._beat_due_ns > BEAT_LATE_NS:
            self._lateness.stopped()
            self._beat_due_ns = at_ns + BEAT_NS

    def guard(self) -> None:
        """Reads the sockets now if 0.3 ms have passed since the last look at them."""
        if now_ns() - self._looked_at_ns > GUARD_NS:
            self.drain()

    def _wake(self) -> None:
        """The loop's own look; with kernel stamps a busy one gathers first."""
        is_busy = self._found < FEW_READY and now_ns() - self._looked_at_ns < GATHER_AFTER_NS
        if is_busy and HAS_KERNEL_STAMPS:
            sleep(GATHER_NS / NS_PER_S)
            self._gathered_ns = GATHER_NS
        self.drain()

    def drain(self) -> None:
        """One read of every socket that has something, then a slice to those that take one.

        A socket that still has bytes is ready again at the next look (level-triggered).
        """
        floor_ns, look_ns = self._looked_at_ns, now_ns()
        self._looked_at_ns = look_ns
        self._look_for_stop(look_ns)
        self._lateness.look(look_ns, self._gathered_ns)
        self._gathered_ns = 0
        clock = self.clock
        if look_ns - clock.sampled_at_ns > SAMPLE_EVERY_NS:
            clock.sample(look_ns)
        watched = self.roster.watched
        buffer = self._buffer
        buffers = (buffer,)
        worst_ns = 0
        replies: list[Reply | None] = []
        ready = self._poller.poll(0, READY_AT_ONCE)
        self._found = len(ready)
        for fd, mask in ready:
            connection = watched.get(fd)
            if connection is None or (mask != READ and connection.note_mask(mask)):
                continue
            try:
                size, ancillary, _, _ = connection.recvmsg_into(buffers, ANCILLARY_BYTES)
            except (BlockingIOError, InterruptedError):
                continue
            except OSError as error:
                connection.lost(error)
                continue
            seen_at_ns = at_ns = now_ns()
            if not size:
                connection.lost(None)
                continue
            replies.append(connection.reply)
            if ancillary:
                seconds, nanoseconds = unpack_stamp(ancillary[0][2])
                at_ns = seconds * NS_PER_S + nanoseconds - clock.offset_ns
                if not floor_ns <= at_ns <= seen_at_ns:
                    wall_at_ns = at_ns + clock.offset_ns
                    at_ns = clock.settle(wall_at_ns, floor_ns, seen_at_ns)
                worst_ns = max(worst_ns, seen_at_ns - at_ns)
            elif connection.reply is not None:
                connection.reply.kernel_stamped = False
            if connection.take(buffer[:size], at_ns, seen_at_ns):
                connection.finish()
        self.reads += len(replies)
        self._end_look(look_ns, worst_ns, replies)
        if self.roster.writable:
            self._write(look_ns)

    def _end_look(self, look_ns: int, worst_ns: int, replies: list[Reply | None]) -> None:
        """After a late look, tells each answer that its read was, and since when it may have lain.

        `worst_ns` is the longest that the last bytes of a read lay.
        """
        since_ns = self._lateness.since_ns(worst_ns)
        if self._found < READY_AT_ONCE:
            self._lateness.reached_all(look_ns)
        if now_ns() - since_ns <= LATE_NS:
            return
        for reply in replies:
            if reply is not None:
                reply.late_reads.extend((len(reply.seen_at_ns) - 1, since_ns))

    def _write(self, since_ns: int) -> None:
        """A slice for each writable connection, longest waiting first, while it is soon enough.

        At least one goes out a look, so that a busy reader can't starve the senders.
        """
        writable = self.roster.writable
        while writable:
            fd = next(iter(writable))
            writable.pop(fd).write_slice()
            if now_ns() - since_ns > GUARD_NS:
                return

    def close(self) -> None:
        """Closes every connection and the poller."""
        self._beat.cancel()
        for connection in list(self.roster.watched.values()):
            connection.lost(OSError(0, "closed by the client"))
        if not self._loop.is_closed():
            self._loop.remove_reader(self._poller.fileno())
        self._poller.close()
        self._busy.close()
