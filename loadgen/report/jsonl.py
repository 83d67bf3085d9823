"""One request a line: ids, every per-request metric, counts, outcome, times. Streams in batches.

The metrics come with the recording (`Recording.request_metrics`), since this room computes none.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import numpy as np

from loadgen.model.record import UNKNOWN_TOK, EventKind
from loadgen.model.summary import Summary
from loadgen.model.table import ABSENT, Floats, Ints, Recording, RunTable, Words
from loadgen.units import NS_PER_S

BATCH = 1_000
"""Rows turned into Python objects at a time: a run of any size needs the memory of this many."""

WORDS = ("session_id", "turn_id", "phase", "outcome")
MORE_WORDS = (
    "tenant",
    "prompt_id",
    "detail",
    "finish_reason",
    "own_tok_source",
    "base_url",
    "peer",
    "stamp_kind",
)
INTS = ("point", "share", "seq", "turn_no")
COUNTS = (
    "http_status",
    "max_output_tok",
    "usage_input_tok",
    "usage_cached_tok",
    "usage_output_tok",
    "usage_reasoning_tok",
    "own_tok",
    "tool_calls",
    "choices",
    "reasoning_chars",
    "content_chars",
    "tool_chars",
    "sent_bytes",
    "received_bytes",
    "reads",
    "multi_event_reads",
    "stale_reconnects",
)
INSTANTS = ("due", "sent", "written", "headers", "first_byte", "done")
CHANNELS = (EventKind.REASONING, EventKind.CONTENT, EventKind.TOOL)


def format_jsonl(summary: Summary, recording: Recording) -> Iterable[str]:
    """One JSON object a request, in the table's order; null for what was not seen.

    Instants are seconds since the point's start. Counts are the server's (`usage_*`) and our own.
    """
    encoder = msgspec.json.Encoder()
    starts = point_starts(recording)
    for first in range(0, len(recording.table), BATCH):
        rows = slice(first, min(first + BATCH, len(recording.table)))
        for row in _rows(recording, rows, starts):
            yield encoder.encode({"run_id": summary.run_id, **row}).decode() + "\n"


def point_starts(recording: Recording) -> dict[int, int]:
    """The first instant of each point, ns: when a worker began it, else when its first was due."""
    table = recording.table
    starts = {
        int(point): int(table.due_at_ns[table.point == point].min())
        for point in np.unique(table.point)
    }
    for health in recording.health:
        if health.point in starts:
            starts[health.point] = min(starts[health.point], health.started_at_ns)
    return starts


def _rows(recording: Recording, rows: slice, starts: dict[int, int]) -> Iterator[dict[str, Any]]:
    """The objects of one batch."""
    table = recording.table
    columns = {name: getattr(table, name)[rows].tolist() for name in (*INTS, *WORDS)}
    metrics = {name: floats(col[rows]) for name, col in recording.request_metrics.items()}
    columns |= metrics
    columns |= {name: _absent_as_none(getattr(table, name)[rows]) for name in COUNTS}
    columns |= {name: _words(getattr(table, name)[rows]) for name in MORE_WORDS}
    columns["flags"] = [word.split(",") if word else [] for word in table.flags[rows]]
    columns["reused"] = table.reused[rows].tolist()
    columns |= _instants(table, rows, starts) | _events(table, rows)
    if table.output_text.size:
        columns["output_text"] = _words(table.output_text[rows])
    names = list(columns)
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(names, values, strict=True))


def floats(column: Floats) -> list[float | None]:
    """Plain floats, None for NaN."""
    return [None if value != value else value for value in column.tolist()]


def _absent_as_none(column: Ints) -> list[int | None]:
    """Plain ints, None for what was not seen."""
    return [None if value == ABSENT else value for value in column.tolist()]


def _words(column: Words) -> list[str | None]:
    """Plain texts, None where nothing was said."""
    return [str(word) if word else None for word in column]


def _instants(table: RunTable, rows: slice, starts: dict[int, int]) -> dict[str, list[Any]]:
    """`due_at_s` ... `done_at_s`: seconds since the point's start."""
    zero = [starts[point] for point in table.point[rows].tolist()]
    return {
        f"{name}_at_s": [
            None if at_ns == ABSENT else round((at_ns - start) / NS_PER_S, 9)
            for at_ns, start in zip(
                getattr(table, f"{name}_at_ns")[rows].tolist(), zero, strict=True
            )
        ]
        for name in INSTANTS
    }


def _events(table: RunTable, rows: slice) -> dict[str, list[Any]]:
    """Events and tokens by channel; tokens are None where the stream did not tell all of them."""
    bounds = table.event_start[rows.start : rows.stop + 1]
    size = rows.stop - rows.start
    row_of = np.repeat(np.arange(size), np.diff(bounds))
    kinds = table.event_kind[bounds[0] : bounds[-1]].astype(np.int64)
    tok = table.event_tok[bounds[0] : bounds[-1]]
    cell = row_of * len(EventKind) + kinds
    cells = size * len(EventKind)
    shape = (size, len(EventKind))
    events = np.bincount(cell, minlength=cells).reshape(shape)
    known = tok != UNKNOWN_TOK
    tokens = np.bincount(cell[known], weights=tok[known], minlength=cells).reshape(shape)
    unknown = np.bincount(cell[~known], minlength=cells).reshape(shape)
    columns: dict[str, list[Any]] = {"events": np.diff(bounds).tolist()}
    for kind in CHANNELS:
        name = kind.name.lower()
        columns[f"{name}_events"] = events[:, kind].tolist()
        columns[f"{name}_tok"] = [
            None if missing else int(count)
            for count, missing in zip(
                tokens[:, kind].tolist(), unknown[:, kind].tolist(), strict=True
            )
        ]
    return columns
