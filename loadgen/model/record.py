"""One decoded request: what was asked, what came when, how it ended. Plain columns, no numpy."""

from array import array
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal

import msgspec
from msgspec import Struct

from loadgen.model.exchange import ConnectionInfo, Outcome, StampKind, TurnKey

UNKNOWN_TOK = -1
"""Stands in `Events.tok` where nobody told how many tokens an event holds."""

TokenSource = Literal["token_ids", "running_usage", "tokenizer", "events"]


class EventKind(IntEnum):
    """The channel of one streamed event; OTHER holds no text (role, finish, usage, empty)."""

    OTHER = 0
    REASONING = 1
    CONTENT = 2
    TOOL = 3


class Usage(Struct, frozen=True):
    """The server's own counts. None where it said nothing; never 0 for unknown."""

    input_tok: int | None = None
    cached_tok: int | None = None
    output_tok: int | None = None
    reasoning_tok: int | None = None


@dataclass(frozen=True, slots=True)
class Events:
    """Columns of equal length, one entry a JSON event of the stream, in order of arrival."""

    at_ns: "array[int]" = field(default_factory=lambda: array("q"))
    read_no: "array[int]" = field(default_factory=lambda: array("i"))
    kind: "array[int]" = field(default_factory=lambda: array("B"))
    tok: "array[int]" = field(default_factory=lambda: array("i"))
    chars: "array[int]" = field(default_factory=lambda: array("i"))

    def append(self, at_ns: int, read_no: int, kind: EventKind, tok: int, chars: int) -> None:
        """Adds one event; `tok` is `UNKNOWN_TOK` where its count is unknown."""
        self.at_ns.append(at_ns)
        self.read_no.append(read_no)
        self.kind.append(kind)
        self.tok.append(tok)
        self.chars.append(chars)

    def __len__(self) -> int:
        return len(self.at_ns)


FLAGS = (
    "no_done_marker",  # the stream ended cleanly without [DONE]
    "empty_output",  # a legitimate answer without any text
    "not_streamed",  # a stream was asked for, a whole completion came
    "silent_tokens_possible",  # the server may have held tokens back before the first text
    "first_event_tok_unknown",  # TPOT takes 1 for the first event's tokens
    "usage_missing",  # no usage came although it was asked for
    "usage_summed",  # several usage events were added up (one per choice)
    "several_choices",  # more than one choice answered; their tokens share one stream
    "comments",  # keep-alive comments came
    "malformed_event",  # an event could not be read (outcome bad_stream)
    "stale_reconnect",  # a kept connection was dead and replaced before any byte of an answer
    "clock_stepped",  # the wall clock moved while the stream ran; stamps fell back to user time
    "late_stamps",  # the client's loop was late and several events shared a read because of it
    "finish_abort",  # finish_reason abort
    "error_after_tokens",  # tokens came before the error
)
"""Named oddities that keep a request's outcome; a record's flags are a subset of these names."""


class Record(Struct, frozen=True):
    """One request as it is stored (`docs/results-format.md`)."""

    key: TurnKey
    outcome: Outcome
    due_at_ns: int
    sent_at_ns: int | None = None
    written_at_ns: int | None = None
    headers_at_ns: int | None = None
    first_byte_at_ns: int | None = None
    done_at_ns: int | None = None
    connection: ConnectionInfo = ConnectionInfo()
    base_url: str = ""
    stream_asked: bool = True
    attempt: int = 1
    http_status: int | None = None
    detail: str = ""
    finish_reason: str = ""
    flags: tuple[str, ...] = ()
    usage: Usage = Usage()
    own_tok: int | None = None
    own_tok_source: TokenSource | None = None
    input_tok: int | None = None
    max_output_tok: int | None = None
    sent_bytes: int = 0
    received_bytes: int = 0
    reads: int = 0
    multi_event_reads: int = 0
    """Reads that brought more than one event with text: stamps are exact for the last only."""
    seen_lag_max_ns: int = 0
    """Longest time that arrived bytes waited for the client's loop; 0 with user stamps."""
    seen_lag_sum_ns: int = 0
    stamp_kind: StampKind = StampKind.USER
    tool_calls: int = 0
    choices: int = 0
    reasoning_chars: int = 0
    content_chars: int = 0
    tool_chars: int = 0
    blocks: tuple[int, ...] = ()
    """Designed prompt blocks as pairs (first id, how many); empty where none were designed."""
    events: Events = msgspec.field(default_factory=Events)
    output_text: str | None = None
    """Kept on request only (`--keep-text`): answer, reasoning and tool arguments as JSON."""
