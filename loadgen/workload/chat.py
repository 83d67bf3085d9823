"""OpenAI requests as JSONL, one object a line: `{"messages": [...]}` or `{"prompt": "..."}`.

What a row says is sent byte for byte: messages, tools, sampling, limits. Only the run's own
members (model, stream, stream_options) and the row's name (id) are left out.
"""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Annotated

import msgspec
from msgspec import Meta, Raw, Struct

from loadgen.errors import InputError
from loadgen.model.plan import WorkloadPlan
from loadgen.model.session import Session, Turn
from loadgen.workload.bodies import json_text, limits
from loadgen.workload.lengths import Length, parse_length
from loadgen.workload.rows import Rows
from loadgen.workload.sessions import Overlong, WorkloadContext, salt_mark

CHARS_PER_TOK = 4
"""Rule of thumb for English text, used for estimates only, which say so."""

NOT_SENT = ("model", "stream", "stream_options")
_NAMES = ("id", "custom_id")
_CHAT_ONLY = ("messages", "tools", "tool_choice", "parallel_tool_calls", "response_format")


class Message(Struct):
    """What every message must have; the rest of it is sent unread."""

    role: str
    content: str | list[dict[str, Raw]] | None = None


class ChatRow(Struct):
    """The members of a row that we read; all are sent."""

    messages: Annotated[list[Message], Meta(min_length=1)] | None = None
    prompt: str | None = None
    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Meta(ge=1)] | None = None


class ChatSpec(Struct, frozen=True):
    """`chat:FILE`: OpenAI requests, one a line."""

    path: str
    osl: str = "256"
    once: bool = False
    ignore_eos: bool = False
    salted: bool = False


class Chat:
    """One session of one turn a row, in the file's order; starts again at its end unless once."""

    def __init__(self, plan: WorkloadPlan, context: WorkloadContext) -> None:
        self._plan = plan
        self._context = context
        self._rows = Rows(Path(plan.path))
        self._osl = parse_osl(plan.osl)
        self.n_rows: int | None = len(self._rows)
        dropped: dict[str, int] = {}
        for row in range(len(self._rows)):
            self._checked(row)
            for name in self._rows.decode(row, dict[str, Raw]):
                if name in NOT_SENT:
                    dropped[name] = dropped.get(name, 0) + 1
        self.notices: tuple[str, ...] = tuple(
            f"`{name}` of {rows} rows isn't sent: the run sets it" for name, rows in dropped.items()
        )

    def session(self, point: int, index: int) -> Session | None:
        """Row `index`, modulo the file's length; None behind the last where once was asked."""
        n_rows = len(self._rows)
        if self._plan.once and index >= n_rows:
            return None
        row = index % n_rows
        members = self._rows.decode(row, dict[str, Raw])
        mark = salt_mark(self._context, point, index) if self._plan.salted else b""
        parts = [self._prompt(row, members, mark)]
        left_out = ("messages", "prompt", *NOT_SENT, *_NAMES)
        chat = self._context.endpoint_type == "chat"
        for name, value in members.items():
            if name not in left_out and (chat or name not in _CHAT_ONLY):
                parts.append(json_string(name) + b":" + bytes(value))
        limit, given = self._limit(members, point, index)
        forced = self._plan.ignore_eos and "ignore_eos" not in members
        tail = limits(limit, ignore_eos=forced, given=given)
        turn = Turn("0", (b",".join(parts) + tail,), None, limit)
        return Session(f"{point}-{index}", (turn,), prompt_id=f"row{row}")

    def rows_over(self, limit_tok: int, count: Callable[[str], int] | None = None) -> Overlong:
        """Rows whose text and asked answer don't fit; a template's tokens aren't known here."""
        needs: list[int] = []
        for row in range(len(self._rows)):
            checked = self._checked(row)
            asked = checked.max_tokens or checked.max_completion_tokens
            text = _text_of(checked)
            n_tok = count(text) if count else len(text) // CHARS_PER_TOK
            needs.append(n_tok + (asked or self._drawn(0, row) or 1))
        over = sum(need > limit_tok for need in needs)
        return Overlong(over, len(needs), max(needs), estimated=count is None)

    def _checked(self, row: int) -> ChatRow:
        checked = self._rows.decode(row, ChatRow)
        if (checked.messages is None) == (checked.prompt is None):
            where = f"{self._rows.path}:{self._rows.line_of(row)}"
            said = "neither" if checked.messages is None else "both"
            raise InputError(
                f"`{where}`: {said} of `messages` and `prompt`; one of them was expected"
            )
        return checked

    def _prompt(self, row: int, members: dict[str, Raw], mark: bytes) -> bytes:
        """The member that holds the prompt, as the endpoint wants it."""
        chat = self._context.endpoint_type == "chat"
        if chat and "messages" in members:
            messages = bytes(members["messages"])
            return b'"messages":' + (salted_messages(messages, mark) if mark else messages)
        if "prompt" in members:
            text = b'"' + mark + bytes(members["prompt"])[1:]
        else:
            text = b'"' + mark + json_text(_text_of(self._checked(row))) + b'"'
        return b'"messages":[{"role":"user","content":%b}]' % text if chat else b'"prompt":' + text

    def _limit(self, members: dict[str, Raw], point: int, index: int) -> tuple[int | None, bool]:
        """The answer's limit and whether the row itself sets it."""
        for name in ("max_tokens", "max_completion_tokens"):
            if name in members and (given := msgspec.json.decode(members[name])) is not None:
                return int(given), True
        return self._drawn(point, index), False

    def _drawn(self, point: int, index: int) -> int | None:
        rng = Random(f"{self._context.seed}/lengths/{point}/{index}")
        return self._osl.draw(rng) if self._osl else None


def parse_osl(text: str) -> Length | None:
    """The distribution of answer limits; None for `none`: no limit is sent."""
    return None if text in ("", "none") else parse_length(text, "osl")


def json_string(text: str) -> bytes:
    """The text as a JSON string."""
    return msgspec.json.encode(text)


def salted_messages(messages: bytes, mark: bytes) -> bytes:
    """The messages with `mark` before the first user message's text; all else byte for byte."""
    parts = msgspec.json.decode(messages, type=list[Raw])
    for at, part in enumerate(parts):
        members = msgspec.json.decode(part, type=dict[str, Raw])
        if msgspec.json.decode(members["role"]) != "user" or "content" not in members:
            continue
        members["content"] = Raw(_salted_content(bytes(members["content"]), mark))
        parts[at] = Raw(_object(members))
        break
    return b"[" + b",".join(bytes(part) for part in parts) + b"]"


def _salted_content(content: bytes, mark: bytes) -> bytes:
    if content.startswith(b'"'):
        return b'"' + mark + content[1:]
    pieces = msgspec.json.decode(content, type=list[dict[str, Raw]] | None) or []
    for piece in pieces:
        if "text" in piece:
            piece["text"] = Raw(b'"' + mark + bytes(piece["text"])[1:])
            break
    return b"[" + b",".join(map(_object, pieces)) + b"]" if pieces else content


def _object(members: dict[str, Raw]) -> bytes:
    named = (json_string(name) + b":" + bytes(value) for name, value in members.items())
    return b"{" + b",".join(named) + b"}"


def _text_of(row: ChatRow) -> str:
    """The row's text alone; messages are joined by blank lines, without their roles."""
    if row.prompt is not None:
        return row.prompt
    texts: list[str] = []
    for part in row.messages or ():
        if isinstance(part.content, str):
            texts.append(part.content)
        pieces = part.content if isinstance(part.content, list) else []
        raw = [bytes(piece["text"]) for piece in pieces if "text" in piece]
        texts.extend(msgspec.json.decode(text) for text in raw if text.startswith(b'"'))
    return "\n\n".join(texts)
