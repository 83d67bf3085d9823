"""Mooncake traces: JSONL of times, lengths and ids of 512-token blocks that any two rows may share.

A row with `text_input`, `messages` or `payload` is sent as it stands; one with lengths alone gets
filler. Source: docs/workloads.md#mooncake.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Raw, Struct

from loadgen.errors import InputError
from loadgen.model.plan import WorkloadPlan
from loadgen.model.session import Session, Turn, Wait
from loadgen.units import NS_PER_MS
from loadgen.workload.bodies import json_text, limits, message
from loadgen.workload.chat import CHARS_PER_TOK, NOT_SENT, json_string, salted_messages
from loadgen.workload.filler import block_start, pool_seed, prepared, tail_start
from loadgen.workload.rows import Rows
from loadgen.workload.sessions import Overlong, WorkloadContext, salt_mark
from loadgen.workload.threads import Said, messages_tok, require_chat

BLOCK_TOK = 512
SCOPE = "mooncake"
"""Stands in the place of a trace's name: ids mean the same in the whole file."""

Count = Annotated[int, Meta(ge=0)]
BlockId = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Milliseconds = Annotated[float, Meta(ge=0)]


class MooncakeRow(Struct):
    """One request. Its other members are not read."""

    timestamp: Milliseconds | None = None
    input_length: Count | None = None
    output_length: Count | None = None
    hash_ids: list[BlockId] = []
    session_id: Annotated[str, Meta(min_length=1)] | None = None
    delay: Milliseconds | None = None
    text_input: str | None = None
    messages: Raw = Raw()
    """As they stand; empty or null where none are given."""
    payload: dict[str, Raw] | None = None


class _WithMessages(Struct):
    """Checks messages, which are kept as they stand."""

    messages: Annotated[list[Said], Meta(min_length=1)]


class MooncakeSpec(Struct, frozen=True):
    """`mooncake:FILE`: rows of lengths and block ids, JSONL."""

    path: str
    once: bool = False
    ignore_eos: bool = False
    salted: bool = True


class Mooncake:
    """One session a row, or a `session_id`, in the file's order; starts again unless once.

    Rows share prefixes as their ids say, inside one round through the file at one point; another
    round, point or run shares nothing with it, unless the plan isn't salted.
    """

    def __init__(self, plan: WorkloadPlan, context: WorkloadContext) -> None:
        self._plan = plan
        self._context = context
        self._rows = Rows(Path(plan.path))
        rows_of: dict[str, list[int]] = {}
        first_ms: list[float] = []
        for row in range(len(self._rows)):
            read = self._checked(row)
            rows_of.setdefault(read.session_id or f"row{row}", []).append(row)
            if read.timestamp is not None:
                first_ms.append(read.timestamp)
        self._sessions = list(rows_of.items())
        self._first_ms = min(first_ms, default=0.0)
        if context.by_time:
            self._sessions.sort(key=lambda named: self._starts_ms(named[1]))
        self._pool_seed = pool_seed(context.rules.seed if context.rules else context.seed)
        self._filler = prepared(context.token_fit, self._pool_seed)
        self.n_rows: int | None = len(self._sessions)
        self.notices: tuple[str, ...] = ()

    def session(self, point: int, index: int) -> Session | None:
        """Session `index`, modulo their number; None behind the last where once was asked."""
        n_sessions = len(self._sessions)
        if (self._plan.once or self._context.by_time) and index >= n_sessions:
            return None
        name, rows = self._sessions[index % n_sessions]
        read = [self._rows.decode(row, MooncakeRow) for row in rows]
        read.sort(key=lambda row: row.timestamp or 0.0)
        salted = self._plan.salted is not False
        mark = salt_mark(self._context, point, index // n_sessions) if salted else b""
        turns = tuple(
            self._turn(name, row, number, read[number - 1] if number else None, mark)
            for number, row in enumerate(read)
        )
        starts_ms = read[0].timestamp
        arrives_ms = None if starts_ms is None else starts_ms - self._first_ms
        arrives_at_ns = None if arrives_ms is None else round(arrives_ms * NS_PER_MS)
        return Session(f"{point}-{index}", turns, arrives_at_ns, prompt_id=name)

    def rows_over(self, limit_tok: int, count: Callable[[str], int] | None = None) -> Overlong:
        """Rows that don't fit with their answers; given texts by the four-characters rule."""
        needs: list[int] = []
        for row in range(len(self._rows)):
            read = self._rows.decode(row, MooncakeRow)
            needs.append(_input_tok(read) + max(read.output_length or 1, 1))
        return Overlong(sum(need > limit_tok for need in needs), len(needs), max(needs), False)

    def _starts_ms(self, rows: list[int]) -> float:
        """When a session arrived. Raises: InputError."""
        times = [self._rows.decode(row, MooncakeRow).timestamp for row in rows]
        for row, time_ms in zip(rows, times, strict=True):
            if time_ms is None:
                self._refuse(row, "no `timestamp`, which `--load trace` needs (milliseconds)")
        return min(time_ms for time_ms in times if time_ms is not None)

    def _checked(self, row: int) -> MooncakeRow:
        read = self._rows.decode(row, MooncakeRow)
        given = (read.text_input is not None) + _has_messages(read) + (read.payload is not None)
        if given > 1:
            self._refuse(row, "more than one of `text_input`, `messages` and `payload`")
        if not given and not read.input_length:
            self._refuse(
                row,
                f"`input_length` is {read.input_length!r}; a number of tokens from 1 was expected, "
                "or one of `text_input`, `messages` and `payload`",
            )
        if _has_messages(read):
            require_chat("rows with `messages`", self._context.endpoint_type)
            self._rows.decode(row, _WithMessages)
        return read

    def _refuse(self, row: int, what: str) -> None:
        raise InputError(f"`{self._rows.path}:{self._rows.line_of(row)}`: {what}")

    def _turn(
        self, session: str, row: MooncakeRow, number: int, before: MooncakeRow | None, mark: bytes
    ) -> Turn:
        limit = None if row.output_length is None else max(row.output_length, 1)
        body = self._prompt(f"{session}:{number}", row, mark) + self._limits(row, limit)
        return Turn(
            str(number),
            (body,),
            row.input_length or None,
            limit,
            _waits(row, str(number - 1), before) if before else (),
            at_ns=None if row.timestamp is None else round(row.timestamp * NS_PER_MS),
            blocks=_pairs(_ids(row)) if _is_made(row) else (),
        )

    def _prompt(self, name: str, row: MooncakeRow, mark: bytes) -> bytes:
        """The members that hold the prompt, and the rest of a given request."""
        if row.payload is not None:
            return _members({key: raw for key, raw in row.payload.items() if key not in NOT_SENT})
        if _has_messages(row):
            given = bytes(row.messages)
            return b'"messages":' + (salted_messages(given, mark) if mark else given)
        made = row.text_input is None
        text = self._text(name, row) if made else json_text(row.text_input or "")
        if self._context.endpoint_type == "completions":
            return b'"prompt":"%b%b"' % (mark, text)
        return b'"messages":[%b]' % message("user", mark + text)

    def _text(self, name: str, row: MooncakeRow) -> bytes:
        """`input_length` tokens: the ids' blocks, the last one cut, and own text behind them."""
        filler, left = self._filler, row.input_length or 0
        pieces: list[bytes] = []
        for block_id in _ids(row):
            n_tok = min(BLOCK_TOK, left)
            start = block_start(self._pool_seed, SCOPE, block_id, filler.positions)
            pieces.append((filler.text if pieces else filler.opened)(start, n_tok))
            left -= n_tok
        if left:
            start = tail_start(name, 0, left, filler.positions)
            pieces.append((filler.text if pieces else filler.opened)(start, left))
        return b"".join(pieces)

    def _limits(self, row: MooncakeRow, limit: int | None) -> bytes:
        payload = row.payload or {}
        given = any(name in payload for name in ("max_tokens", "max_completion_tokens"))
        forced = self._plan.ignore_eos and "ignore_eos" not in payload
        return limits(limit, ignore_eos=forced, given=given)


def _is_made(row: MooncakeRow) -> bool:
    return row.text_input is None and row.payload is None and not _has_messages(row)


def _has_messages(row: MooncakeRow) -> bool:
    return bytes(row.messages) not in (b"", b"null")


def _ids(row: MooncakeRow) -> list[int]:
    """The ids that the prompt's length covers; the last one may stand for a part of a block."""
    return row.hash_ids[: -(-(row.input_length or 0) // BLOCK_TOK)]


def _pairs(ids: list[int]) -> tuple[int, ...]:
    """The ids as (first, how many), counting up."""
    pairs: list[int] = []
    for block_id in ids:
        if pairs and pairs[-2] + pairs[-1] == block_id:
            pairs[-1] += 1
        else:
            pairs += (block_id, 1)
    return tuple(pairs)


def _waits(row: MooncakeRow, turn_id: str, before: MooncakeRow) -> tuple[Wait, ...]:
    """So long after the turn before it was done, or at its recorded distance from its start."""
    if row.delay is not None:
        return (Wait(turn_id, "done", round(row.delay * NS_PER_MS)),)
    if row.timestamp is None or before.timestamp is None:
        return (Wait(turn_id, "done", 0),)
    apart_ns = round((row.timestamp - before.timestamp) * NS_PER_MS)
    return Wait(turn_id, "sent", apart_ns), Wait(turn_id, "done", 0)


def _members(members: dict[str, Raw]) -> bytes:
    return b",".join(json_string(name) + b":" + bytes(raw) for name, raw in members.items())


def _input_tok(row: MooncakeRow) -> int:
    """Tokens of the prompt, or of the given text by the four-characters rule."""
    if row.input_length:
        return row.input_length
    if _has_messages(row):
        given = [bytes(one) for one in msgspec.json.decode(row.messages, type=list[Raw])]
        return messages_tok(given)
    text = row.text_input if row.text_input is not None else str(row.payload)
    return len(text) // CHARS_PER_TOK
