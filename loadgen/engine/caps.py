"""How far turns have to come due earlier, so that a replay stands idle no longer than its caps."""

from collections.abc import Iterator, Sequence

from loadgen.engine.idle import Peers
from loadgen.engine.tree import Tree
from loadgen.model.plan import ReplayRules
from loadgen.units import NS_PER_MS, NS_PER_S

FAR_NS = 1 << 62
SETTLE_NS = 50 * NS_PER_MS
"""Workers wait so long after the last request's end, until all have published what comes next."""


class IdleCaps:
    """Finds by how much turns have to come due earlier. Every worker finds the same amount."""

    def __init__(self, rules: ReplayRules, peers: Peers) -> None:
        self._system_ns = _ns(rules.system_idle_s)
        self._tree_ns = _ns(rules.tree_idle_s)
        self._peers = peers
        self._settle_ns = SETTLE_NS
        self._active_ns = 0
        self.system_moves = self.system_moved_ns = self.tree_moves = self.tree_moved_ns = 0
        self._moved_for_ns = 0
        """The idle period, by its begin, whose move has been made."""

    def start(self, at_ns: int) -> None:
        """Nothing counts as idle before the profiling starts."""
        self._active_ns = at_ns

    def note(self, now_ns: int, trees: Sequence[Tree], in_flight: int) -> None:
        """Publishes what this worker has in flight and will send next.

        In an idle period that has been cut short the figures stay what they were, so that slower
        workers find the same amount.
        """
        if in_flight:
            self._active_ns = now_ns
        elif self._moved_for_ns == self._active_ns:
            return
        earliest = min((node.due_at_ns for tree in trees for node in tree.armed), default=0)
        self._peers.publish(
            in_flight=in_flight, next_due_ns=earliest, last_active_ns=self._active_ns
        )

    def moves(
        self, now_ns: int, trees: Sequence[Tree], in_flight: int
    ) -> Iterator[tuple[Tree, int]]:
        """Trees whose turns come due earlier, and by how many ns."""
        if not in_flight:
            yield from self._system_move(now_ns, trees)
        if self._tree_ns is None:
            return
        for tree in trees:
            since_ns = tree.quiet_since_ns
            if since_ns is None or now_ns - since_ns < self._tree_ns or not tree.armed:
                continue
            first_ns = min(node.due_at_ns for node in tree.armed)
            if first_ns > now_ns:
                self.tree_moves += 1
                self.tree_moved_ns += first_ns - now_ns
                yield tree, first_ns - now_ns

    def next_look_ns(self, now_ns: int, trees: Sequence[Tree], in_flight: int) -> int:
        """When a cap may run out."""
        looks = [FAR_NS]
        if self._tree_ns is not None:
            looks += [
                max(tree.quiet_since_ns + self._tree_ns, now_ns + NS_PER_MS)
                for tree in trees
                if tree.quiet_since_ns is not None
            ]
        if not in_flight and self._system_ns is not None:
            looks.append(now_ns + max(self._settle_ns, 10 * NS_PER_MS))
        return min(looks)

    def _system_move(self, now_ns: int, trees: Sequence[Tree]) -> Iterator[tuple[Tree, int]]:
        since_ns = self._peers.idle_since_ns()
        if self._system_ns is None or since_ns is None or self._moved_for_ns == self._active_ns:
            return
        earliest_ns = self._peers.earliest_due_ns()
        if earliest_ns is None or now_ns < since_ns + self._settle_ns:
            return
        by_ns = earliest_ns - (since_ns + self._system_ns)
        if by_ns > 0:
            self._moved_for_ns = self._active_ns
            self.system_moves += 1
            self.system_moved_ns += by_ns
            yield from ((tree, by_ns) for tree in trees)


def _ns(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * NS_PER_S)
