"""Kernel receive stamps put on the monotonic axis, and the watch over a wall clock that is stepped.

Does no I/O but reading the clocks.
"""

import struct
import sys
from collections.abc import Callable

from loadgen.clock import realtime_offset_ns
from loadgen.units import NS_PER_MS, NS_PER_S, NS_PER_US

SO_TIMESTAMPNS = 35
"""Same number on Linux x86-64 and arm64; the `socket` module does not name it."""

HAS_KERNEL_STAMPS = sys.platform == "linux" and sys.maxsize > 2**32
ANCILLARY_BYTES = 32 if HAS_KERNEL_STAMPS else 0
"""One control message that holds a timespec of two 64-bit integers."""

SAMPLE_EVERY_NS = 100 * NS_PER_MS
STEP_NS = 200 * NS_PER_US
"""A smaller change of the offset is noise of its sampling: slewing moves both clocks alike."""
NOISE_NS = 50 * NS_PER_US
UNSETTLED_NS = NS_PER_S
"""How long after a step packets stamped before it may still wait in socket buffers."""

unpack_stamp = struct.Struct("=qq").unpack
"""(seconds, nanoseconds) since 1970 out of the control message's 16 bytes."""


class StampClock:
    """CLOCK_REALTIME less CLOCK_MONOTONIC, and how far the two have moved apart so far."""

    def __init__(self, sample: Callable[[], int] = realtime_offset_ns) -> None:
        self._sample = sample
        self.offset_ns = sample()
        self.sampled_at_ns = 0
        self.stepped_ns = 0
        """Sum of the sizes of all steps seen; two readings differ by what fell between."""
        self._stepped_at_ns: int | None = None

    def sample(self, at_ns: int) -> bool:
        """Reads both clocks at the monotonic instant `at_ns`; True when they had been stepped."""
        offset_ns = self._sample()
        moved_ns = abs(offset_ns - self.offset_ns)
        self.offset_ns = offset_ns
        self.sampled_at_ns = at_ns
        if moved_ns < STEP_NS:
            return False
        self.stepped_ns += moved_ns
        self._stepped_at_ns = at_ns
        return True

    def settle(self, wall_at_ns: int, floor_ns: int, seen_at_ns: int) -> int:
        """The monotonic instant of a kernel stamp that lies outside [floor, seen].

        A stamp below the floor is believed while the clocks stand still: the bytes had waited
        for longer than one look, behind a full read or a long list of ready sockets. Anything
        else, and whatever comes just after a step, gets the user's stamp `seen_at_ns`.
        """
        stepped = self.sample(seen_at_ns)
        at_ns = wall_at_ns - self.offset_ns
        if stepped or at_ns > seen_at_ns + NOISE_NS:
            return seen_at_ns
        if at_ns < floor_ns and self._is_unsettled(seen_at_ns):
            return seen_at_ns
        return min(at_ns, seen_at_ns)

    def _is_unsettled(self, at_ns: int) -> bool:
        return self._stepped_at_ns is not None and at_ns - self._stepped_at_ns < UNSETTLED_NS
