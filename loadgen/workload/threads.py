"""Recorded requests with their real messages to turns: whole histories, one thread an agent.

Messages are sent byte for byte. Turns of a session share the bytes that they repeat, so a long
session is kept once and not once a turn.
"""

import math
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec
from msgspec import Raw, Struct

from loadgen.errors import UsageError
from loadgen.model.plan import EndpointType
from loadgen.model.session import Answer, Turn, Wait
from loadgen.units import NS_PER_S
from loadgen.workload.chat import CHARS_PER_TOK, salted_messages
from loadgen.workload.sessions import History, Overlong

ROOT = "root"


class Said(Struct):
    """What every recorded message must have; the rest of it is sent unread."""

    role: str
    content: str | list[dict[str, Raw]] | None = None


class Call(Struct, frozen=True):
    """One recorded request.

    `messages` are JSON objects; `members` is what the body holds besides, each with its comma
    ahead; `at_ns` counts from the session's start.
    """

    messages: tuple[bytes, ...]
    members: bytes = b""
    stream: str = ROOT
    at_ns: int | None = None
    took_ns: int = 0
    input_tok: int | None = None
    max_output_tok: int | None = None


class _Played(Struct):
    """A turn made, and its messages with answers in the places of those that will be live."""

    turn_id: str
    call: Call
    messages: list[bytes | Answer]


def turns_of(calls: Sequence[Call], history: History, mark: bytes = b"") -> tuple[Turn, ...]:
    """The session's turns in the order of `calls`, which is the order of time.

    A turn waits for the one before it in its thread, and then as long as the recorded agent did. A
    further thread starts where the latest call of the first thread stood: so long after its end,
    or after its start where the two overlapped. `mark` opens the first user's text.
    """
    turns: list[Turn] = []
    latest: dict[str, _Played] = {}
    seen: dict[bytes, bytes] = {}
    for number, call in enumerate(calls):
        before = latest.get(call.stream)
        opened = _marked(call.messages, mark) if mark else call.messages
        shared = tuple(seen.setdefault(message, message) for message in opened)
        call = msgspec.structs.replace(call, messages=shared)
        played = _Played(str(number), call, _messages(call, before, history == "live"))
        latest[call.stream] = played
        waits_for = before or (latest[calls[0].stream] if number else None)
        turns.append(_turn(played, waits_for))
    return tuple(turns)


def role_of(message: bytes) -> str:
    """Who speaks in a message that has been checked."""
    return msgspec.json.decode(message, type=Said).role


def text_tok(content: str | list[dict[str, Raw]] | None) -> int:
    """Tokens of a message's text by the four-characters rule; media count for nothing."""
    if isinstance(content, str):
        return len(content) // CHARS_PER_TOK
    texts = [bytes(piece["text"]) for piece in content or () if "text" in piece]
    return sum(len(text) - 2 for text in texts) // CHARS_PER_TOK


def messages_tok(messages: Sequence[bytes]) -> int:
    """Tokens of all messages' texts by the four-characters rule."""
    return sum(text_tok(msgspec.json.decode(text, type=Said).content) for text in messages)


def instant_ns(timestamp: str | float) -> int:
    """Nanoseconds since 1970: ISO 8601 (UTC where no zone is named), or seconds as a number.

    Raises:
        ValueError: not such a time.

    """
    if isinstance(timestamp, str):
        moment = datetime.fromisoformat(timestamp)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        whole = int(moment.replace(microsecond=0).timestamp())
        return whole * NS_PER_S + moment.microsecond * 1000
    if not math.isfinite(timestamp):
        raise ValueError("a finite number was expected")
    return round(timestamp * NS_PER_S)


def _turn(played: _Played, waits_for: _Played | None) -> Turn:
    call = played.call
    parts: list[bytes | Answer] = [b'"messages":[']
    for number, message in enumerate(played.messages):
        if number:
            parts.append(b",")
        if isinstance(message, Answer):
            parts += [b'{"role":"assistant","content":', message, b"}"]
        else:
            parts.append(message)
    parts.append(b"]" + call.members)
    return Turn(
        played.turn_id,
        tuple(parts),
        call.input_tok,
        call.max_output_tok,
        (_wait(waits_for, call),) if waits_for else (),
        stream=call.stream,
        at_ns=call.at_ns,
    )


def _wait(earlier: _Played, call: Call) -> Wait:
    """How a call followed an earlier one; without times it follows at once."""
    if call.at_ns is None or earlier.call.at_ns is None:
        return Wait(earlier.turn_id, "done", 0)
    behind_ns = call.at_ns - earlier.call.at_ns
    idle_ns = behind_ns - earlier.call.took_ns
    if idle_ns < 0 and call.stream != earlier.call.stream:
        return Wait(earlier.turn_id, "sent", behind_ns)
    return Wait(earlier.turn_id, "done", max(0, idle_ns))


def _messages(call: Call, before: _Played | None, live: bool) -> list[bytes | Answer]:
    """The call's messages; live, an answer stands where its thread recorded one."""
    recorded = list[bytes | Answer](call.messages)
    if before is None or not live:
        return recorded
    repeated = len(before.call.messages)
    if call.messages[:repeated] != before.call.messages:
        return recorded
    new = recorded[repeated:]
    if len(call.messages) > repeated and role_of(call.messages[repeated]) == "assistant":
        new[0] = Answer(before.turn_id)
    return [*before.messages, *new]


def _marked(messages: tuple[bytes, ...], mark: bytes) -> tuple[bytes, ...]:
    """The messages with `mark` before the first user's text."""
    for at, text in enumerate(messages):
        if role_of(text) == "user":
            marked = salted_messages(b"[" + text + b"]", mark)[1:-1]
            return (*messages[:at], marked, *messages[at + 1 :])
    return messages


def require_chat(what: str, endpoint_type: EndpointType) -> None:
    """Raises UsageError on the completions endpoint: it has no place for roles."""
    if endpoint_type == "completions":
        raise UsageError(
            f"{what} are messages and need the chat endpoint", "use `--endpoint-type chat`"
        )


def overlong(needs: list[int], limit_tok: int) -> Overlong:
    """How many of these needs, estimated by the four-characters rule, don't fit."""
    over = sum(need > limit_tok for need in needs)
    return Overlong(over, len(needs), max(needs, default=0), estimated=True)
