"""Sessions ahead of their due time, so that a start instant finds its bodies ready."""

from collections import deque
from collections.abc import Iterator
from typing import Protocol

from loadgen.model.session import Answer, Session

READY_BYTES = 8 << 20
"""Sessions kept ready before their due time hold at most this many bytes of bodies together."""

READY_SESSIONS = 64


class Feed(Protocol):
    """Where a driver takes its sessions from, in their order."""

    async def fill(self, wanted: int) -> None:
        """Returns when that many sessions are ready, or as many as are kept."""

    def top_up(self) -> None:
        """Makes one more ready where there is room; called when nothing is due."""

    async def take(self) -> Session | None:
        """The next session; None: there are no more."""


class OwnFeed:
    """Makes sessions in this process."""

    def __init__(self, sessions: Iterator[Session]) -> None:
        self._sessions = sessions
        self._ready: deque[Session] = deque()
        self._ready_bytes = 0

    async def fill(self, wanted: int) -> None:
        """Returns when that many sessions are ready, or as many as are kept."""
        while len(self._ready) < min(wanted, READY_SESSIONS) and self._ready_bytes < READY_BYTES:
            if not self._make():
                return

    def top_up(self) -> None:
        """Makes one more ready."""
        self._make()

    async def take(self) -> Session | None:
        """The next session; None: there are no more."""
        if not self._ready and not self._make():
            return None
        session = self._ready.popleft()
        self._ready_bytes -= body_bytes(session)
        return session

    def _make(self) -> bool:
        session = next(self._sessions, None)
        if session is None:
            return False
        self._ready.append(session)
        self._ready_bytes += body_bytes(session)
        return True


def body_bytes(session: Session) -> int:
    """Bytes that the session's bodies hold."""
    parts = (part for turn in session.turns for part in turn.body)
    return sum(len(part) for part in parts if not isinstance(part, Answer))
