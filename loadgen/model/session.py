"""What will be sent: sessions of turns. A one-shot prompt is a session of one turn."""

from typing import Literal

from msgspec import Struct


class Wait(Struct, frozen=True):
    """A turn is due `gap_ns` after `turn_id` was sent or done; the latest of its waits counts."""

    turn_id: str
    on: Literal["sent", "done"] = "done"
    gap_ns: int = 0


class Answer(Struct, frozen=True):
    """Stands in a body for the live answer to an earlier turn, rendered when it is known."""

    turn_id: str


class Check(Struct, frozen=True):
    """How an answer will be judged, as plain values; scorers interpret it in the reading wing."""

    kind: str
    parameters: dict[str, str | int | float | bool | None] = {}


class Turn(Struct, frozen=True):
    """One request of a session.

    `body` holds the members of the request's JSON object without its braces and without the
    model and stream members (`b'"messages":[...],"max_tokens":256'`), already serialised, cut
    wherever a live answer goes in; empty where it is made on demand (`Format.on_demand`).
    `input_tok` is the designed prompt length. `stream` names the conversation inside the session
    that the turn belongs to (an agent); turns of one stream stand in their order.
    """

    turn_id: str
    body: tuple[bytes | Answer, ...]
    input_tok: int | None = None
    max_output_tok: int | None = None
    after: tuple[Wait, ...] = ()
    check: Check | None = None
    stream: str = ""
    at_ns: int | None = None
    """When the turn started in the recording, from the recording's start; None: no recording."""
    blocks: tuple[int, ...] = ()
    """The prompt's designed blocks as pairs (first id, how many), ids counting up in a pair."""


class Session(Struct, frozen=True):
    """Turns that belong to one user or agent. `arrives_at_ns` counts from the point's start
    (`--load trace` keeps it).
    """

    session_id: str
    turns: tuple[Turn, ...]
    arrives_at_ns: int | None = None
    history: Literal["recorded", "live"] = "recorded"
    tenant: str = ""
    prompt_id: str = ""
    """Names the prompt without its salt, so that repeats of one data row can be counted."""
    from_ns: int | None = None
    """Where in the recording to start (t*): turns with an earlier `at_ns` count as played."""
