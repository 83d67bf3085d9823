"""An event loop whose time only passes when nothing else is left to do."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any
from unittest.mock import patch

from loadgen import clock

LOOK_NS = 20_000
"""What one look at the (empty) sockets costs, so that spinning for an instant ends."""


class _NoSockets(selectors.SelectSelector):
    def __init__(self) -> None:
        super().__init__()
        self.now_ns = 1_000_000_000_000

    def select(self, timeout: float | None = None) -> list[Any]:
        assert timeout is not None, "everybody waits for everybody"
        self.now_ns += max(LOOK_NS, round(timeout * 1e9))
        return []


class _VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self, sockets: _NoSockets) -> None:
        self._sockets = sockets
        super().__init__(sockets)

    def time(self) -> float:
        return self._sockets.now_ns / 1e9


def in_virtual_time(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Runs it to its end; hours pass at once."""
    sockets = _NoSockets()
    with patch.object(clock, "now_ns", lambda: sockets.now_ns):
        loop = _VirtualLoop(sockets)
        try:
            loop.run_until_complete(work())
        finally:
            loop.close()
