"""How long what one look at the sockets finds may have lain before it was read.

A kernel stamp tells when the last bytes of a read came, not the first: where a read brings several
events, those before the last one are known only within the time that the loop let them lie.
"""

from collections.abc import Callable

from loadgen.units import NS_PER_US

LATE_NS = 500 * NS_PER_US
"""Reads of several events whose first may have lain for longer than this are late ones."""


class Lateness:
    """Asked once a look. `busy_ns` tells for how long the loop's thread has run, or waited to."""

    def __init__(self, busy_ns: Callable[[], int], now_ns: int) -> None:
        self._busy_ns = busy_ns
        self._busy_before_ns = busy_ns()
        self._reached_all_ns = now_ns
        self._since_ns = now_ns
        self._before_ns = now_ns
        self._stopped = False

    def stopped(self) -> None:
        """The loop stood still without running or wanting to: the process was stopped."""
        self._stopped = True

    def look(self, at_ns: int, gathered_ns: int) -> None:
        """A look begins; on purpose it comes `gathered_ns` after the loop woke.

        Bytes that come while the thread sleeps wake it, so they have lain no longer than it has
        been awake since, or wanted a core, and never longer than since the look before.
        """
        busy_ns = self._busy_ns()
        awake_ns = busy_ns - self._busy_before_ns + gathered_ns
        self._busy_before_ns = busy_ns
        self._before_ns = self._reached_all_ns
        self._since_ns = max(self._before_ns, at_ns - awake_ns)
        if self._stopped:
            self._since_ns, self._stopped = self._before_ns, False

    def since_ns(self, worst_ns: int) -> int:
        """Since when what the look found may have lain.

        Where bytes lay for longer than the thread was awake (`worst_ns`: it was stopped, or its
        core taken away unseen), since the look before.
        """
        return self._before_ns if worst_ns > LATE_NS else self._since_ns

    def reached_all(self, at_ns: int) -> None:
        """The look that began then has read every socket that was ready."""
        self._reached_all_ns = at_ns
