"""The columns of a stored request: one source for segments, `requests.parquet` and tables.

Knows no file. pyarrow is imported inside, since a run must send before it pays for that.
"""

from array import array
from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Literal, NamedTuple

from loadgen.model.record import Record
from loadgen.store.folder import FORMAT_VERSION
from loadgen.store.utf8 import storable

VERSION_KEY = b"loadgen.format_version"
TRUNCATED_KEY = b"loadgen.truncated_segments"

Kind = Literal["int", "flag", "word", "names", "numbers", "text"]


class Column(NamedTuple):
    """One value a request: its name on disk and in `RunTable`, and where a `Record` has it."""

    name: str
    kind: Kind
    attribute: str


class EventColumn(NamedTuple):
    """One list a request, an entry an event: its name on disk, in `Events`, and its width."""

    name: str
    attribute: str
    arrow_type: Literal["int64", "int32", "uint8"]


def _own(kind: Kind, *names: str) -> tuple[Column, ...]:
    return tuple(Column(name, kind, name) for name in names)


COLUMNS: tuple[Column, ...] = (
    Column("point", "int", "key.point"),
    Column("share", "int", "key.share"),
    Column("seq", "int", "key.seq"),
    Column("session_id", "word", "key.session_id"),
    Column("turn_id", "word", "key.turn_id"),
    Column("turn_no", "int", "key.turn_no"),
    Column("tenant", "word", "key.tenant"),
    Column("prompt_id", "word", "key.prompt_id"),
    Column("phase", "word", "key.phase"),
    Column("stream", "word", "key.stream"),
    *_own("numbers", "blocks"),
    *_own("word", "outcome"),
    *_own("int", "due_at_ns", "sent_at_ns", "written_at_ns", "headers_at_ns"),
    *_own("int", "first_byte_at_ns", "done_at_ns"),
    Column("reused", "flag", "connection.reused"),
    Column("stale_reconnects", "int", "connection.stale_reconnects"),
    Column("peer", "word", "connection.peer"),
    Column("proxy", "word", "connection.proxy"),
    *_own("word", "base_url"),
    Column("conn_asked_at_ns", "int", "connection.asked_at_ns"),
    Column("conn_resolved_at_ns", "int", "connection.resolved_at_ns"),
    Column("conn_connected_at_ns", "int", "connection.connected_at_ns"),
    Column("conn_tls_done_at_ns", "int", "connection.tls_done_at_ns"),
    *_own("flag", "stream_asked"),
    *_own("int", "attempt", "http_status"),
    *_own("word", "detail", "finish_reason"),
    *_own("names", "flags"),
    Column("usage_input_tok", "int", "usage.input_tok"),
    Column("usage_cached_tok", "int", "usage.cached_tok"),
    Column("usage_output_tok", "int", "usage.output_tok"),
    Column("usage_reasoning_tok", "int", "usage.reasoning_tok"),
    *_own("int", "own_tok"),
    *_own("word", "own_tok_source"),
    *_own("int", "input_tok", "max_output_tok", "sent_bytes", "received_bytes", "reads"),
    *_own("int", "multi_event_reads", "seen_lag_max_ns", "seen_lag_sum_ns"),
    *_own("word", "stamp_kind"),
    *_own("int", "tool_calls", "choices", "reasoning_chars", "content_chars", "tool_chars"),
    *_own("text", "output_text"),
)

EVENT_COLUMNS: tuple[EventColumn, ...] = (
    EventColumn("event_at_ns", "at_ns", "int64"),
    EventColumn("event_read_no", "read_no", "int32"),
    EventColumn("event_kind", "kind", "uint8"),
    EventColumn("event_tok", "tok", "int32"),
    EventColumn("event_chars", "chars", "int32"),
)

SINCE_REPLAYS = ("stream", "blocks")
"""Columns that results from before replays lack; they read as empty."""

ON_DISK_ONLY = ("proxy", "attempt")
"""Columns that `RunTable` leaves out: no metric is made of them."""

_TYPE_CODES = {"int64": "q", "int32": "i", "uint8": "B"}


def arrow_schema() -> Any:
    """The `pyarrow.Schema` of a stored request, its format version in the metadata."""
    import pyarrow as pa

    types = {"int": pa.int64(), "flag": pa.bool_()}
    fields = [pa.field(column.name, types.get(column.kind, pa.string())) for column in COLUMNS]
    fields += [
        pa.field(column.name, pa.list_(pa.type_for_alias(column.arrow_type)))
        for column in EVENT_COLUMNS
    ]
    return pa.schema(fields, metadata={VERSION_KEY: str(FORMAT_VERSION).encode()})


def stored_version(schema: Any) -> int:
    """The format version that a file's schema names; 0 where it names none."""
    text = (schema.metadata or {}).get(VERSION_KEY, b"")
    return int(text) if text.isdigit() else 0


def arrow_batch(records: Sequence[Record], schema: Any) -> Any:
    """A `pyarrow.RecordBatch` of `records`, one row each in their order."""
    import pyarrow as pa

    columns = [_values(records, column, schema) for column in COLUMNS]
    starts = array("i", [0])
    for record in records:
        starts.append(starts[-1] + len(record.events))
    offsets = pa.Array.from_buffers(pa.int32(), len(starts), [None, pa.py_buffer(starts)])
    for column in EVENT_COLUMNS:
        entries = array(_TYPE_CODES[column.arrow_type])
        for record in records:
            entries.extend(getattr(record.events, column.attribute))
        arrow_type = pa.type_for_alias(column.arrow_type)
        values = pa.Array.from_buffers(arrow_type, len(entries), [None, pa.py_buffer(entries)])
        columns.append(pa.ListArray.from_arrays(offsets, values))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _values(records: Sequence[Record], column: Column, schema: Any) -> Any:
    import pyarrow as pa

    arrow_type = schema.field(column.name).type
    values = list(map(attrgetter(column.attribute), records))
    if column.kind in {"names", "numbers"}:
        values = [",".join(map(str, several)) for several in values]
    try:
        return pa.array(values, arrow_type)
    except UnicodeEncodeError:
        repaired = [None if value is None else storable(value) for value in values]
        return pa.array(repaired, arrow_type)
