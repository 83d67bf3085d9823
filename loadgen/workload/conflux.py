"""Conflux captures: JSON arrays of whole requests of coding agents, sent as they were recorded.

A session's agents are its threads; each turn waits as long as its agent did. Source:
docs/workloads.md#conflux.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta, Raw, Struct

from loadgen.errors import InputError
from loadgen.model.plan import WorkloadPlan
from loadgen.model.session import Session
from loadgen.units import NS_PER_MS
from loadgen.workload.bodies import limits
from loadgen.workload.chat import json_string
from loadgen.workload.rows import Rows
from loadgen.workload.sessions import History, Overlong, WorkloadContext, salt_mark
from loadgen.workload.threads import (
    Call,
    Said,
    instant_ns,
    messages_tok,
    overlong,
    require_chat,
    turns_of,
)

SAMPLING = (
    "temperature",
    "top_p",
    "top_k",
    "presence_penalty",
    "frequency_penalty",
    "seed",
    "stop",
    "reasoning_effort",
)
"""Recorded settings that chat endpoints know by these names."""
UTILITY = "utility"
"""The thread of calls that belong to no agent."""

Count = Annotated[int, Meta(ge=0)]
Name = Annotated[str, Meta(min_length=1)]


class Tokens(Struct):
    """What the provider counted; `input` holds the cached ones too."""

    input: Count | None = None
    output: Count = 0
    output_reasoning: Count = 0


class ConfluxRecord(Struct):
    """The members of a record that we read."""

    id: str
    session_id: Name
    timestamp: str
    messages: Annotated[list[Said], Meta(min_length=1)]
    agent_id: Name | None = None
    completed_at: str | None = None
    duration_ms: Annotated[float, Meta(ge=0)] | None = None
    tokens: Tokens | None = None


class _Sent(Struct):
    """The members of a record that are sent, as they stand."""

    messages: list[Raw]
    tools: list[Raw] = []
    hyperparameters: dict[str, Raw] | None = None


class _Place(NamedTuple):
    """Where a record is, and when its request left."""

    at_ns: int
    file: int
    row: int


class ConfluxSpec(Struct, frozen=True):
    """`conflux:PATH`: a capture, or a folder of them."""

    path: str
    history: History = "recorded"
    once: bool = False
    ignore_eos: bool = False
    salted: bool = False
    utility_calls: bool = False


class Conflux:
    """One session a `session_id`, in the order of their first requests."""

    def __init__(self, plan: WorkloadPlan, context: WorkloadContext) -> None:
        require_chat("captured sessions", context.endpoint_type)
        self._plan = plan
        self._context = context
        self._files = [Rows(path) for path in _files(Path(plan.path))]
        sessions: dict[str, list[_Place]] = {}
        utility = 0
        for file, rows in enumerate(self._files):
            for row in range(len(rows)):
                record = rows.decode(row, ConfluxRecord)
                place = _Place(
                    self._instant_ns(file, row, "timestamp", record.timestamp), file, row
                )
                if record.agent_id is None and not plan.utility_calls:
                    utility += 1
                    continue
                sessions.setdefault(record.session_id, []).append(place)
        if not sessions:
            raise InputError(
                f"`{plan.path}`: none of {utility} records names its agent (`agent_id`)",
                "send the calls of no agent too: `utility_calls=true`",
            )
        self._sessions = sorted(sessions.items(), key=lambda item: min(item[1]))
        for _, places in self._sessions:
            places.sort()
        self._first_ns = self._sessions[0][1][0].at_ns
        self.n_rows: int | None = len(self._sessions)
        said = f"{utility} calls that belong to no agent are left out (`utility_calls` sends them)"
        self.notices: tuple[str, ...] = (said,) if utility else ()

    def session(self, point: int, index: int) -> Session | None:
        """Session `index`, modulo their number; None behind the last where once was asked."""
        if self._plan.once and index >= len(self._sessions):
            return None
        name, places = self._sessions[index % len(self._sessions)]
        mark = salt_mark(self._context, point, index) if self._plan.salted else b""
        calls = [self._call(place, places[0].at_ns) for place in places]
        return Session(
            f"{point}-{index}",
            turns_of(calls, self._plan.history, mark),
            places[0].at_ns - self._first_ns,
            self._plan.history,
            prompt_id=name,
        )

    def rows_over(self, limit_tok: int, count: Callable[[str], int] | None = None) -> Overlong:
        """Requests that don't fit with their answers, by recorded counts where there are some."""
        needs: list[int] = []
        for _, places in self._sessions:
            for place in places:
                call = self._call(place, 0)
                prompt_tok = call.input_tok or messages_tok(call.messages)
                needs.append(prompt_tok + (call.max_output_tok or 1))
        return overlong(needs, limit_tok)

    def _call(self, place: _Place, session_at_ns: int) -> Call:
        rows = self._files[place.file]
        record = rows.decode(place.row, ConfluxRecord)
        sent = rows.decode(place.row, _Sent)
        tokens = record.tokens or Tokens()
        asked = tokens.output + tokens.output_reasoning
        limit = max(1, asked) if record.tokens else None
        return Call(
            tuple(map(bytes, sent.messages)),
            _members(sent) + limits(limit, ignore_eos=self._plan.ignore_eos),
            record.agent_id or UTILITY,
            place.at_ns - session_at_ns,
            self._took_ns(place, record),
            tokens.input or None,
            limit,
        )

    def _took_ns(self, place: _Place, record: ConfluxRecord) -> int:
        """How long the recorded answer took; 0 where nothing says it."""
        if record.duration_ms is not None:
            return round(record.duration_ms * NS_PER_MS)
        if record.completed_at is None:
            return 0
        done_ns = self._instant_ns(place.file, place.row, "completed_at", record.completed_at)
        return max(0, done_ns - place.at_ns)

    def _instant_ns(self, file: int, row: int, name: str, value: str) -> int:
        try:
            return instant_ns(value)
        except ValueError as error:
            rows = self._files[file]
            raise InputError(
                f"`{rows.path}:{rows.line_of(row)}` at `$.{name}`: an ISO 8601 time was expected; "
                f"the value is {value!r}"
            ) from error


def _files(path: Path) -> list[Path]:
    """The captures at a path. Raises: InputError where a folder holds none."""
    if not path.is_dir():
        return [path]
    files = sorted(path.glob("*.json"))
    if not files:
        raise InputError(f"`{path}` holds no `.json` file", "a capture is a JSON array of records")
    return files


def _members(sent: _Sent) -> bytes:
    """Tools and sampling as recorded, each with its comma ahead."""
    parts: list[bytes] = []
    if sent.tools:
        parts.append(b',"tools":' + msgspec.json.encode(sent.tools))
    for name, value in (sent.hyperparameters or {}).items():
        if name in SAMPLING and bytes(value) != b"null":
            parts.append(b"," + json_string(name) + b":" + bytes(value))
    return b"".join(parts)
