"""One session in play as a tree of turns: which have been sent, which wait for what, until when.

Pure bookkeeping: it reads no clock and sends nothing. A turn is armed when everything it waits
for has happened; it may be sent at its due instant. Idle caps move due instants, never waits.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from loadgen.model.session import Session, Turn


@dataclass(slots=True, eq=False)
class Node:
    """A turn of the tree and how far it is."""

    turn: Turn
    number: int
    """Which turn of the session, as `Source.body` counts."""
    depth: int
    """Which turn of its stream."""
    missing: int = 0
    """Waits that have not happened."""
    gap_ns: int = 0
    """The longest gap among the waits that have happened: what an idle server would wait."""
    due_at_ns: int = 0
    queued_at_ns: int = -1
    """The due instant under which a scheduler knows the turn."""
    sent: bool = False
    done: bool = False
    on_sent: list[tuple["Node", int]] = field(default_factory=list)
    on_done: list[tuple["Node", int]] = field(default_factory=list)


class Tree:
    """A session's turns, linked by their waits."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.nodes: list[Node] = []
        self.streams: dict[str, list[Node]] = {}
        for number, turn in enumerate(session.turns):
            stream = self.streams.setdefault(turn.stream, [])
            node = Node(turn, number, len(stream))
            stream.append(node)
            self.nodes.append(node)
        by_id = {node.turn.turn_id: node for node in self.nodes}
        for node in self.nodes:
            for wait in node.turn.after:
                other = by_id[wait.turn_id]
                node.missing += 1
                (other.on_sent if wait.on == "sent" else other.on_done).append((node, wait.gap_ns))
        self.armed = {node for node in self.nodes if node.missing == 0}
        """Turns that only their due instant holds back."""
        self.left = len(self.nodes)
        """Turns that have neither ended nor been given up."""
        self.in_flight = 0
        self.quiet_since_ns: int | None = None
        """Since when nothing of this tree has been in flight, once something was."""

    def skip_played(self) -> None:
        """Turns before the session's starting point count as played, with their gaps still due."""
        from_ns = self.session.from_ns
        if from_ns is None:
            return
        for node in self.nodes:
            if (node.turn.at_ns or 0) < from_ns:
                self.note_sent(node, 0)
                self.note_done(node, 0)
        self.quiet_since_ns = None

    def primers(self) -> Iterator[Node]:
        """The last played turn of each stream that was under way at the starting point."""
        for nodes in self.streams.values():
            played = [node for node in nodes if node.done]
            if played and len(played) < len(nodes):
                yield played[-1]

    def note_sent(self, node: Node, at_ns: int) -> None:
        """The turn is on its way; those that wait for its sending come due after it."""
        node.sent = True
        self.armed.discard(node)
        self.in_flight += 1
        self.quiet_since_ns = None
        self._release(node.on_sent, at_ns)

    def note_done(self, node: Node, at_ns: int) -> None:
        """The turn has ended, well or not; those that wait for its end come due after it."""
        node.done = True
        self.in_flight -= 1
        self.left -= 1
        if self.in_flight == 0:
            self.quiet_since_ns = at_ns
        self._release(node.on_done, at_ns)

    def give_up(self) -> None:
        """No further turn is sent; what is in flight goes on."""
        self.armed.clear()
        for node in self.nodes:
            if not node.sent and not node.done:
                node.done = True
                self.left -= 1

    def restart_clock(self, at_ns: int) -> None:
        """Unsent turns are due their full gap after `at_ns`: time spent waiting doesn't count."""
        self.quiet_since_ns = at_ns
        for node in self.nodes:
            if not node.sent and not node.done:
                node.due_at_ns = at_ns + node.gap_ns

    def move(self, by_ns: int, floor_ns: int) -> None:
        """Everything unsent comes due earlier by as much, no earlier than `floor_ns`."""
        for node in self.nodes:
            if not node.sent and not node.done and node.due_at_ns > floor_ns:
                node.due_at_ns = max(node.due_at_ns - by_ns, floor_ns)

    @property
    def is_over(self) -> bool:
        """Whether every turn has ended or was given up, and nothing is in flight."""
        return self.left == 0 and self.in_flight == 0

    @property
    def subagents_live(self) -> int:
        """Streams beside the first that have begun and not ended."""
        later = list(self.streams.values())[1:]
        return sum(nodes[0].sent and not nodes[-1].done for nodes in later)

    def _release(self, waiting: Iterable[tuple[Node, int]], at_ns: int) -> None:
        for node, gap_ns in waiting:
            node.missing -= 1
            node.gap_ns = max(node.gap_ns, gap_ns)
            node.due_at_ns = max(node.due_at_ns, at_ns + gap_ns)
            if node.missing == 0 and not node.done:
                self.armed.add(node)
