"""Rows that other tools' files give, as the table that the reading wing computes on."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from loadgen.model.exchange import Outcome, Phase, StampKind
from loadgen.model.record import UNKNOWN_TOK, EventKind
from loadgen.model.table import ABSENT, RunTable
from loadgen.units import NS_PER_S


@dataclass(slots=True)
class Row:
    """One request; instants in ns of one axis, None where the file doesn't tell."""

    sent_at_ns: int
    due_at_ns: int | None = None
    done_at_ns: int | None = None
    headers_at_ns: int | None = None
    events: list[tuple[int, EventKind]] = field(default_factory=list)
    point: int = 0
    outcome: Outcome = Outcome.OK
    http_status: int | None = None
    detail: str = ""
    phase: Phase = Phase.WINDOW
    prompt_tok: int | None = None
    """By the server's usage."""
    cached_tok: int | None = None
    output_tok: int | None = None
    """By the server's usage."""
    counted_prompt_tok: int | None = None
    """By the tool's own tokenizer."""
    counted_tok: int | None = None
    """By the tool's own tokenizer."""
    reasoning_tok: int | None = None
    streamed: bool = True
    turn_no: int = 0
    session: str = ""


def ns(seconds: float, zero_s: float = 0.0) -> int:
    """Nanoseconds since `zero_s`; subtracted first, since a wall clock's seconds eat the digits."""
    return round((seconds - zero_s) * NS_PER_S)


def table_of(rows: Sequence[Row]) -> RunTable:
    """The rows ordered by (point, due), with their events in order of time."""
    ordered = sorted(rows, key=lambda row: (row.point, _due(row)))
    columns: dict[str, Any] = {}
    values = [_columns(number, row) for number, row in enumerate(ordered)]
    for one in fields(RunTable):
        if one.name.startswith("event_") or one.name == "output_text":
            continue
        columns[one.name] = _column([row.get(one.name) for row in values], repr(one.type))
    events = [event for row in ordered for event in sorted(row.events)]
    counts = [len(row.events) for row in ordered]
    columns["event_start"] = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    columns["event_at_ns"] = np.array([at_ns for at_ns, _ in events], dtype=np.int64)
    columns["event_kind"] = np.array([int(kind) for _, kind in events], dtype=np.uint8)
    columns["event_read_no"] = np.arange(len(events), dtype=np.int32)
    columns["event_tok"] = np.full(len(events), UNKNOWN_TOK, dtype=np.int32)
    columns["event_chars"] = np.zeros(len(events), dtype=np.int32)
    return RunTable(**columns)


def most_at_once(rows: Sequence[Row]) -> int:
    """Most requests between sent and end at one time."""
    steps = [(row.sent_at_ns, 1) for row in rows] + [(_end(row), -1) for row in rows]
    level = most = 0
    for _, change in sorted(steps):
        level += change
        most = max(most, level)
    return most


def _due(row: Row) -> int:
    return row.sent_at_ns if row.due_at_ns is None else row.due_at_ns


def _end(row: Row) -> int:
    last = max((at_ns for at_ns, _ in row.events), default=row.sent_at_ns)
    return last if row.done_at_ns is None else row.done_at_ns


def _columns(number: int, row: Row) -> dict[str, object]:
    texts = len(row.events)
    return {
        "point": row.point,
        "share": 0,
        "seq": number,
        "session_id": row.session or f"s{number}",
        "turn_id": f"t{row.turn_no}",
        "turn_no": row.turn_no,
        "phase": str(row.phase),
        "outcome": str(row.outcome),
        "due_at_ns": _due(row),
        "sent_at_ns": row.sent_at_ns,
        "headers_at_ns": row.headers_at_ns,
        "done_at_ns": row.done_at_ns,
        "stream_asked": row.streamed,
        "http_status": row.http_status,
        "detail": row.detail,
        "flags": "" if texts or row.outcome is not Outcome.OK else "empty_output",
        "usage_input_tok": row.prompt_tok,
        "usage_cached_tok": row.cached_tok,
        "usage_output_tok": row.output_tok,
        "usage_reasoning_tok": row.reasoning_tok,
        "own_tok": row.counted_tok if row.counted_tok is not None else texts or None,
        "own_tok_source": "tokenizer" if row.counted_tok is not None else "events",
        "input_tok": row.counted_prompt_tok,
        "stamp_kind": str(StampKind.USER),
        "multi_event_reads": 0,
        "stale_reconnects": 0,
        "tool_calls": 0,
        "choices": 1,
        "attempt": 1,
    }


def _column(values: list[object], kind: str) -> np.ndarray[Any, Any]:
    """Absent words are empty, absent flags False, absent numbers ABSENT."""
    if "object_" in kind:
        return np.array(["" if v is None else v for v in values], dtype=object)
    if "bool" in kind:
        return np.array([bool(v) for v in values], dtype=bool)
    return np.array([ABSENT if v is None else v for v in values], dtype=np.int64)
