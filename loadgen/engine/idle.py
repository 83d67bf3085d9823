"""How long nothing may be in flight: the caps on idle time of the whole run and of one session.

A cap never skips a wait: it moves timers earlier, all of them by one amount, so that their order
and spacing stay. Every worker of a run finds the same amount at the same idle instant, whoever
of them has the turn that ends it. Source of the rules: docs/howto-agentx.md.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from loadgen.engine.tree import Tree
from loadgen.model.plan import ReplayRules
from loadgen.units import NS_PER_MS, ns_from_s

POLL_NS = 100 * NS_PER_MS
"""How often an idle worker looks at the others."""


class Peers(Protocol):
    """What is known of all workers of the run together, the own one included."""

    def publish(self, *, in_flight: int, next_due_ns: int, last_active_ns: int) -> None:
        """Says what the own worker does; `next_due_ns` 0: it plans nothing.

        `in_flight` must become visible last: who sees 0 must see the other two as given with it.
        """

    def idle_since_ns(self) -> int | None:
        """The latest `last_active_ns`; None while any worker has a request in flight."""

    def earliest_due_ns(self) -> int | None:
        """The least `next_due_ns`; None where nobody plans anything."""


class OwnPeers:
    """A run of one worker."""

    def __init__(self) -> None:
        self._in_flight = 0
        self._next_due_ns = 0
        self._last_active_ns = 0

    def publish(self, *, in_flight: int, next_due_ns: int, last_active_ns: int) -> None:
        """Keeps what was said."""
        self._in_flight = in_flight
        self._next_due_ns = next_due_ns
        self._last_active_ns = last_active_ns

    def idle_since_ns(self) -> int | None:
        """When the last request ended; None while one is in flight."""
        return None if self._in_flight else self._last_active_ns

    def earliest_due_ns(self) -> int | None:
        """The next instant at which a request is due; None: none is planned."""
        return self._next_due_ns or None


class IdleCaps:
    """Moves the turns of idle trees. `look` at every change and at `next_look_ns`.

    An idle period of the whole run is decided half-way through its cap: by then all workers have
    published what they plan, and none can have ended it, since a period is only cut short where
    nothing is due before its cap. What was published stays until the period is over, so that
    slower workers find the same amount.
    """

    def __init__(
        self, rules: ReplayRules, peers: Peers, trees: Callable[[], Sequence[Tree]]
    ) -> None:
        self._system_ns = _ns(rules.system_idle_s)
        self._tree_ns = _ns(rules.tree_idle_s)
        self._peers = peers
        self._trees = trees
        self._last_active_ns = 0
        self._period_ns: int | None = None
        """When the idle period of the whole run began; None while something is in flight."""
        self._decided = False
        self.system_shifts = 0
        self.system_shift_ns = 0
        self.tree_shifts = 0
        self.tree_shift_ns = 0

    def start(self, at_ns: int) -> None:
        """Nothing before the profiling's start counts as idle."""
        self._last_active_ns = at_ns
        self.publish(0)

    def ended(self, at_ns: int) -> None:
        """A request of this worker has ended."""
        self._last_active_ns = max(self._last_active_ns, at_ns)

    def publish(self, active: int) -> None:
        """Says what this worker does; while it is active nobody asks what it plans."""
        planned = [] if active else [self._planned_ns(tree) for tree in self._trees()]
        self._peers.publish(
            in_flight=active,
            next_due_ns=min((due_ns for due_ns in planned if due_ns is not None), default=0),
            last_active_ns=self._last_active_ns,
        )

    def look(self, now_ns: int, active: int) -> bool:
        """Publishes, and tells whether all trees were moved."""
        if active or not self._decided:
            self.publish(active)
        since_ns = None if active else self._peers.idle_since_ns()
        if since_ns != self._period_ns:
            self._period_ns, self._decided = since_ns, False
            self.publish(active)
        if since_ns is None or self._system_ns is None or self._decided:
            return False
        if now_ns < since_ns + self._system_ns // 2:
            return False
        self._decided = True
        return self._cut_short(since_ns + self._system_ns)

    def next_look_ns(self, now_ns: int, active: int) -> int | None:
        """When to look again though nothing changes; None: not before something does."""
        if active or self._system_ns is None:
            return None
        poll_ns = now_ns + min(POLL_NS, max(self._system_ns // 8, NS_PER_MS))
        if self._period_ns is None or self._decided:
            return poll_ns
        return min(poll_ns, self._period_ns + self._system_ns // 2)

    def wake_ns(self, tree: Tree) -> int | None:
        """When the tree's next turn goes, as far as the tree itself decides; None: none may."""
        due_ns = tree.earliest_due_ns()
        if due_ns is None or self._tree_ns is None or tree.active:
            return due_ns
        return min(due_ns, tree.idle_since_ns + self._tree_ns)

    def move_if_idle(self, tree: Tree, now_ns: int) -> None:
        """Moves a tree that has been idle for as long as it may."""
        due_ns, wake_ns = tree.earliest_due_ns(), self.wake_ns(tree)
        if due_ns is None or wake_ns is None or wake_ns > now_ns or wake_ns == due_ns:
            return
        tree.shift(due_ns - wake_ns)
        self.tree_shifts += 1
        self.tree_shift_ns += due_ns - wake_ns

    def _planned_ns(self, tree: Tree) -> int | None:
        """The tree's next timer; where its own cap ends the idle period first, that instant."""
        due_ns, wake_ns = tree.earliest_due_ns(), self.wake_ns(tree)
        if self._period_ns is None or self._system_ns is None or wake_ns is None:
            return due_ns
        return wake_ns if wake_ns <= self._period_ns + self._system_ns else due_ns

    def _cut_short(self, until_ns: int) -> bool:
        """Moves all trees so that the run's next turn goes then, if it would go later."""
        earliest_ns = self._peers.earliest_due_ns()
        if earliest_ns is None or earliest_ns <= until_ns:
            return False
        for tree in self._trees():
            tree.shift(earliest_ns - until_ns)
        self.system_shifts += 1
        self.system_shift_ns += earliest_ns - until_ns
        return True


def _ns(seconds: float | None) -> int | None:
    return None if seconds is None else ns_from_s(seconds)
