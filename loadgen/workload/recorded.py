"""Recorded chat sessions as JSONL: requests with their messages, or single messages, and times.

`{"session_id": "a", "timestamp": 12.5, "messages": [...]}` is one request;
`{"session_id": "a", "timestamp": 12.5, "role": "user", "content": "..."}` is one message, and a
request is made of all that stands before each answer.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Annotated

import msgspec
from msgspec import Meta, Raw, Struct
from msgspec.structs import replace

from loadgen.errors import InputError
from loadgen.model.plan import WorkloadPlan
from loadgen.model.session import Session
from loadgen.units import NS_PER_MS
from loadgen.workload.bodies import limits
from loadgen.workload.chat import NOT_SENT, json_string, parse_osl
from loadgen.workload.rows import Rows
from loadgen.workload.sessions import History, Overlong, WorkloadContext, salt_mark
from loadgen.workload.threads import (
    ROOT,
    Call,
    Said,
    instant_ns,
    messages_tok,
    overlong,
    require_chat,
    text_tok,
    turns_of,
)

_OURS = ("session_id", "agent_id", "timestamp", "duration_ms", "id", "custom_id")


class RecordedRow(Struct):
    """The members of a row that we read: of a request (`messages`) or of a message (`role`)."""

    session_id: Annotated[str, Meta(min_length=1)] | None = None
    agent_id: str | None = None
    timestamp: str | float | None = None
    duration_ms: Annotated[float, Meta(ge=0)] | None = None
    messages: Annotated[list[Said], Meta(min_length=1)] | None = None
    role: str | None = None
    content: str | list[dict[str, Raw]] | None = None
    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Meta(ge=1)] | None = None


class RecordedSpec(Struct, frozen=True):
    """`recorded:FILE`: sessions of OpenAI messages with their times, JSONL."""

    path: str
    osl: str = "recorded"
    history: History = "recorded"
    once: bool = False
    ignore_eos: bool = False
    salted: bool = False


class Recorded:
    """One session a `session_id`, in the order of the file; starts again at its end unless once."""

    def __init__(self, plan: WorkloadPlan, context: WorkloadContext) -> None:
        require_chat("recorded sessions", context.endpoint_type)
        self._plan = plan
        self._context = context
        self._rows = Rows(Path(plan.path))
        self._osl = None if plan.osl == "recorded" else parse_osl(plan.osl)
        rows_of: dict[str, list[int]] = {}
        instants: list[int] = []
        starts_of: dict[str, int] = {}
        for row in range(len(self._rows)):
            name, at_ns = self._checked(row)
            rows_of.setdefault(name, []).append(row)
            if at_ns is not None:
                instants.append(at_ns)
                starts_of[name] = min(at_ns, starts_of.get(name, at_ns))
            elif context.by_time:
                what = "no `timestamp`, which `--load trace` needs"
                raise InputError(f"`{self._where(row)}`: {what}")
        self._earliest_ns = min(instants, default=0)
        self._sessions = list(rows_of.items())
        if context.by_time:
            self._sessions.sort(key=lambda named: starts_of[named[0]])
        self.n_rows: int | None = len(self._sessions)
        empty = [name for no, (name, _) in enumerate(self._sessions) if not self._calls(no)]
        if empty:
            raise InputError(
                f"`{plan.path}`: session `{empty[0]}` holds no request: nobody asks before its "
                "first answer",
                "a session needs a message that isn't the assistant's",
            )
        self.notices: tuple[str, ...] = ()

    def session(self, point: int, index: int) -> Session | None:
        """Session `index`, modulo their number; None behind the last where once was asked."""
        if (self._plan.once or self._context.by_time) and index >= len(self._sessions):
            return None
        number = index % len(self._sessions)
        mark = salt_mark(self._context, point, index) if self._plan.salted else b""
        chance = Random(f"{self._context.seed}/lengths/{point}/{index}")
        calls = [self._limited(call, chance) for call in self._calls(number)]
        starts_ns = calls[0].at_ns
        arrives_at_ns = None
        if starts_ns is not None:
            arrives_at_ns = starts_ns - self._earliest_ns
            calls = [replace(call, at_ns=(call.at_ns or 0) - starts_ns) for call in calls]
        return Session(
            f"{point}-{index}",
            turns_of(calls, self._plan.history, mark),
            arrives_at_ns,
            self._plan.history,
            prompt_id=self._sessions[number][0],
        )

    def rows_over(self, limit_tok: int, count: Callable[[str], int] | None = None) -> Overlong:
        """Requests whose messages' text and answer don't fit, by the four-characters rule."""
        needs = [
            messages_tok(call.messages) + (call.max_output_tok or 1)
            for number in range(len(self._sessions))
            for call in self._calls(number)
        ]
        return overlong(needs, limit_tok)

    def _checked(self, row: int) -> tuple[str, int | None]:
        """The session that a row belongs to, and its instant."""
        read = self._rows.decode(row, RecordedRow)
        if (read.messages is None) == (read.role is None):
            said = "neither" if read.role is None else "both"
            what = f"{said} of `messages` and `role`; one of them was expected"
            raise InputError(f"`{self._where(row)}`: {what}")
        if read.role is not None and read.session_id is None:
            what = "no `session_id`; a message needs the name of its session"
            raise InputError(f"`{self._where(row)}`: {what}")
        return read.session_id or f"row{row}", self._at_ns(row, read)

    def _at_ns(self, row: int, read: RecordedRow) -> int | None:
        if read.timestamp is None:
            return None
        try:
            return instant_ns(read.timestamp)
        except ValueError as error:
            raise InputError(
                f"`{self._where(row)}` at `$.timestamp`: an ISO 8601 time or seconds were "
                f"expected; the value is {read.timestamp!r}"
            ) from error

    def _calls(self, number: int) -> list[Call]:
        """The requests of one session in the order of time."""
        name, rows = self._sessions[number]
        read = [self._rows.decode(row, RecordedRow) for row in rows]
        if len({one.messages is None for one in read}) > 1:
            raise InputError(
                f"`{self._where(rows[0])}`: session `{name}` mixes whole requests (`messages`) "
                "with single messages (`role`)"
            )
        untimed = [row for row, one in zip(rows, read, strict=True) if one.timestamp is None]
        if untimed and len(untimed) < len(rows):
            raise InputError(
                f"`{self._where(untimed[0])}`: no `timestamp`, where other rows of session "
                f"`{name}` have one"
            )
        placed = [(self._at_ns(*pair), *pair) for pair in zip(rows, read, strict=True)]
        placed.sort(key=lambda item: item[0] or 0)
        if read[0].messages is not None:
            return [self._request(*item) for item in placed]
        threads: dict[str, list[tuple[int | None, int, RecordedRow]]] = {}
        for item in placed:
            threads.setdefault(item[2].agent_id or ROOT, []).append(item)
        calls = [call for name, said in threads.items() for call in self._asked(name, said)]
        return sorted(calls, key=lambda call: call.at_ns or 0)

    def _request(self, at_ns: int | None, row: int, read: RecordedRow) -> Call:
        members = self._rows.decode(row, dict[str, Raw])
        messages = msgspec.json.decode(members["messages"], type=list[Raw])
        left_out = ("messages", *NOT_SENT, *_OURS)
        sent = {name: value for name, value in members.items() if name not in left_out}
        return Call(
            tuple(map(bytes, messages)),
            b"".join(b"," + json_string(name) + b":" + bytes(raw) for name, raw in sent.items()),
            read.agent_id or ROOT,
            at_ns,
            round((read.duration_ms or 0) * NS_PER_MS),
            max_output_tok=read.max_completion_tokens or read.max_tokens,
        )

    def _asked(
        self, stream: str, said: Sequence[tuple[int | None, int, RecordedRow]]
    ) -> list[Call]:
        """A request for each answer, and one for what stands behind the last."""
        history: list[bytes] = []
        calls: list[Call] = []
        for number, (at_ns, row, read) in enumerate(said):
            answered = read.role == "assistant"
            if answered and number and said[number - 1][2].role != "assistant":
                asked_ns = said[number - 1][0]
                took_ns = at_ns - asked_ns if at_ns is not None and asked_ns is not None else 0
                limit = max(1, text_tok(read.content))
                calls.append(Call(tuple(history), b"", stream, asked_ns, took_ns, None, limit))
            history.append(self._message(row))
        if said[-1][2].role != "assistant":
            calls.append(Call(tuple(history), b"", stream, said[-1][0]))
        return calls

    def _message(self, row: int) -> bytes:
        members = self._rows.decode(row, dict[str, Raw])
        sent = {name: value for name, value in members.items() if name not in _OURS}
        pairs = (json_string(name) + b":" + bytes(raw) for name, raw in sent.items())
        return b"{" + b",".join(pairs) + b"}"

    def _limited(self, call: Call, chance: Random) -> Call:
        """The call with the answer's limit in its body, unless its row names one."""
        given = b'"max_tokens":' in call.members or b'"max_completion_tokens":' in call.members
        limit = call.max_output_tok
        if not given and self._plan.osl != "recorded":
            limit = self._osl.draw(chance) if self._osl else None
        forced = self._plan.ignore_eos and b'"ignore_eos":' not in call.members
        tail = limits(limit, ignore_eos=forced, given=given)
        return replace(call, members=call.members + tail, max_output_tok=limit)

    def _where(self, row: int) -> str:
        return f"{self._rows.path}:{self._rows.line_of(row)}"
