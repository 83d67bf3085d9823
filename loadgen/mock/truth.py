"""The truth log: what this server was asked and what it wrote, when.

Instants are `time.monotonic_ns()`. An event's two stamps stand just before and just after the
write that carried its last byte. The server's loop is asyncio's own, whose `transport.write`
calls send(2) at once while nothing is queued, so the bytes entered the kernel between the two;
`queued` counts events for which the socket was full and the bytes went later.
"""

import json
from array import array
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

KINDS = (
    "role",
    "content",
    "reasoning",
    "tool",
    "empty",
    "finish",
    "usage",
    "done",
    "error",
    "garbage",
    "comment",
    "raw",
    "body",
)
"""What an event held; `empty` has token ids only, `body` is a whole answer."""

_MAX_EVENTS = 2_000_000
_WIDTH = 5


@dataclass(slots=True)
class Entry:
    """One request; `events` holds (before_ns, after_ns, kind, tokens, bytes) one after another."""

    request_id: str
    path: str
    number: int
    received_at_ns: int
    body_read_at_ns: int | None = None
    stream: bool = False
    status: int | None = None
    headers_at_ns: int | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    silent_tokens: int = 0
    preemptions: int = 0
    finish_reason: str | None = None
    end: str | None = None
    ended_at_ns: int | None = None
    queued: int = 0
    faults: list[str] = field(default_factory=list)
    events: "array[int]" = field(default_factory=lambda: array("q"))

    def wrote(self, span_ns: tuple[int, int], kind: str, n_tok: int, n_bytes: int) -> None:
        """Logs one event."""
        self.events.extend((*span_ns, KINDS.index(kind), n_tok, n_bytes))

    def has_event_but(self, kind: str) -> bool:
        """Whether an event of any other kind was written."""
        return any(number != KINDS.index(kind) for number in self.events[2::_WIDTH])

    def as_json(self) -> dict[str, Any]:
        """All members; `events` as lists [before_ns, after_ns, kind, tokens, bytes]."""
        members: dict[str, Any] = {
            name: getattr(self, name) for name in Entry.__slots__ if name != "events"
        }
        flat = self.events
        members["events"] = [
            [flat[i], flat[i + 1], KINDS[flat[i + 2]], flat[i + 3], flat[i + 4]]
            for i in range(0, len(flat), _WIDTH)
        ]
        return members


class TruthLog:
    """The last two million events in memory, and every request in a file when one is given."""

    def __init__(self, path: Path | None) -> None:
        self._done: deque[Entry] = deque()
        self._open: dict[int, Entry] = {}
        self._n_events = 0
        self.n_dropped = 0
        self._file: TextIO | None = path.open("a", encoding="utf-8") if path else None

    def open(self, entry: Entry) -> None:
        """Takes a request in."""
        self._open[entry.number] = entry

    def close(self, entry: Entry) -> None:
        """Files a request that has ended."""
        if self._open.pop(entry.number, None) is None:
            return
        self._done.append(entry)
        self._n_events += len(entry.events) // _WIDTH
        while self._n_events > _MAX_EVENTS and len(self._done) > 1:
            self._n_events -= len(self._done.popleft().events) // _WIDTH
            self.n_dropped += 1
        if self._file is not None:
            self._file.write(json.dumps(entry.as_json()) + "\n")
            self._file.flush()

    def reset(self) -> None:
        """Forgets the requests that have ended; the file keeps them."""
        self._done.clear()
        self._n_events = self.n_dropped = 0

    def entries(self) -> list[Entry]:
        """Ended and open requests, by number."""
        return sorted([*self._done, *self._open.values()], key=lambda entry: entry.number)

    def shut(self) -> None:
        """Files the open requests as `unfinished` and closes the file."""
        for entry in list(self._open.values()):
            entry.end = entry.end or "unfinished"
            self.close(entry)
        if self._file is not None:
            self._file.close()
            self._file = None


def load_truth(path: Path) -> list[dict[str, Any]]:
    """The requests of a truth file, in the order in which they ended."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
