"""The requests of a table with the columns that every metric starts from, each made once.

Floats in seconds leave this module; integer columns stay monotonic ns. NaN is "not seen".
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from loadgen.analysis.allocation import EventCounts, allocate
from loadgen.analysis.piling import in_blocks
from loadgen.model.exchange import Outcome, Phase
from loadgen.model.record import EventKind
from loadgen.model.table import ABSENT, Flags, Floats, Ints, RunTable, Words
from loadgen.units import NS_PER_S, NS_PER_US

CUT = (Outcome.UNFINISHED, Outcome.CANCELLED)
"""Ended by us and not by the server: right-censored in latencies, no failures."""

BUFFERED_MIN_TOK = 32
BUFFERED_SPAN_FRAC = 0.05
BUFFERED_EVENTS_PER_READ = 8.0
BUFFERED_BLOCK_EVENTS = 2.5
BUFFERED_ZERO_GAP_FRAC = 0.5
BUFFERED_ZERO_GAP_NS = 50 * NS_PER_US


@dataclass(frozen=True)
class Requests:
    """A RunTable and what follows from it, one entry a request unless named `event_*`."""

    table: RunTable

    def __len__(self) -> int:
        return len(self.table)

    @cached_property
    def ok(self) -> Flags:
        """Requests that ended as promised."""
        return self.outcome_in((Outcome.OK,))

    @cached_property
    def cut(self) -> Flags:
        """Requests that the client itself ended."""
        return self.outcome_in(CUT)

    @cached_property
    def failed(self) -> Flags:
        """Requests that neither ended well nor were cut by the client."""
        return ~(self.ok | self.cut)

    @cached_property
    def warmup(self) -> Flags:
        """Requests of the warm-up."""
        return _equal(self.table.phase, (Phase.WARMUP,))

    @cached_property
    def in_window_phase(self) -> Flags:
        """Requests of the measured phase."""
        return _equal(self.table.phase, (Phase.WINDOW,))

    @cached_property
    def streamed(self) -> Flags:
        """Requests whose answer came as a stream, so that its events have instants."""
        return self.table.stream_asked & ~self.flagged("not_streamed")

    @cached_property
    def end_at_ns(self) -> Ints:
        """When the request left the system: done, else the last thing seen of it."""
        table = self.table
        last = np.full(len(self), ABSENT, dtype=np.int64)
        has = np.diff(table.event_start) > 0
        last[has] = table.event_at_ns[table.event_start[1:][has] - 1]
        end = table.done_at_ns.copy()
        for column in (last, table.headers_at_ns, table.written_at_ns, table.sent_at_ns):
            end = np.where(end == ABSENT, column, end)
        return np.where(end == ABSENT, table.due_at_ns, end)

    @cached_property
    def event_row(self) -> Ints:
        """The row that owns each event, int64[n_events]."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.table.event_start))

    @cached_property
    def event_has_text(self) -> Flags:
        """Events with a non-empty piece of any channel, bool[n_events]."""
        return np.asarray(self.table.event_kind != EventKind.OTHER)

    @cached_property
    def text_index(self) -> Ints:
        """Positions of the events with text, in order."""
        return np.flatnonzero(self.event_has_text)

    @cached_property
    def texts(self) -> Ints:
        """Events with text of each request, int64[n_requests]."""
        before = np.concatenate([[0], np.cumsum(self.event_has_text)])
        return np.asarray(np.diff(before[self.table.event_start]), dtype=np.int64)

    @cached_property
    def text_tok(self) -> Floats:
        """Tokens of the events with text of each request, float64[n_requests]."""
        tok = np.where(self.event_has_text, self.event_tok, 0.0)
        return np.asarray(np.bincount(self.event_row, tok, minlength=len(self)))

    @cached_property
    def event_tok(self) -> Floats:
        """Tokens of each event, float64[n_events]; they add up to the request's `output_tok`."""
        first = self.first_text_index
        opens = np.zeros(len(self.event_row), dtype=bool)
        opens[first[first != ABSENT]] = True
        told = self.table.event_tok.astype(np.int64)
        counts = EventCounts(self.event_row, told, self.event_tok_known, self.event_has_text, opens)
        return allocate(counts, self.output_tok)

    @cached_property
    def event_tok_known(self) -> Flags:
        """Events whose tokens somebody counted (ids, running usage), bool[n_events]."""
        told = _equal(self.table.own_tok_source, ("token_ids", "running_usage"))
        if not told.any():
            return np.zeros(len(self.table.event_tok), dtype=bool)
        return np.asarray((self.table.event_tok >= 0) & told[self.event_row])

    @cached_property
    def output_tok(self) -> Floats:
        """Generated tokens: the server's count, else our own, else events with text."""
        counted = number(self.table.usage_output_tok)
        own = number(self.table.own_tok)
        events = self.texts.astype(float)
        events[(events == 0) & ~self.ok] = np.nan
        return np.where(np.isnan(counted), np.where(np.isnan(own), events, own), counted)

    @cached_property
    def prompt_tok(self) -> Floats:
        """Prompt tokens: the server's count, else the designed length."""
        served = number(self.table.usage_input_tok)
        return np.where(np.isnan(served), number(self.table.input_tok), served)

    @cached_property
    def first_text_at_ns(self) -> Ints:
        """First event with text in any channel; ABSENT without one, or where none streamed."""
        return self._edge_of(self.text_index, last=False)

    @cached_property
    def last_text_at_ns(self) -> Ints:
        """Last event with text; ABSENT without one."""
        return self._edge_of(self.text_index, last=True)

    @cached_property
    def first_text_index(self) -> Ints:
        """Position of the first event with text among all events; ABSENT without one."""
        found = np.full(len(self), ABSENT, dtype=np.int64)
        rows, firsts = first_of_each(self.event_row[self.text_index])
        found[rows] = self.text_index[firsts]
        return found

    @cached_property
    def first_reasoning_at_ns(self) -> Ints:
        """First event of the reasoning channel."""
        kind = self.table.event_kind
        return self._edge_of(np.flatnonzero(kind == EventKind.REASONING), last=False)

    @cached_property
    def first_answer_at_ns(self) -> Ints:
        """First event of answer text or of a tool call."""
        kind = self.table.event_kind
        answer = (kind == EventKind.CONTENT) | (kind == EventKind.TOOL)
        return self._edge_of(np.flatnonzero(answer), last=False)

    @cached_property
    def first_token_at_ns(self) -> Ints:
        """First event that shows a token at all: text, or a count that moved without text."""
        counted = self.event_tok_known & (self.table.event_tok > 0)
        return self._edge_of(np.flatnonzero(counted | self.event_has_text), last=False)

    @cached_property
    def buffered(self) -> Flags:
        """Streams that something held back and let go in lumps (`docs/definitions.md#buffered`)."""
        rows, gaps_ns = self.gap_row, self.gap_ns
        n_gaps = np.bincount(rows, minlength=len(self))
        zero = np.bincount(rows[gaps_ns < BUFFERED_ZERO_GAP_NS], minlength=len(self))
        lumped = zero > BUFFERED_ZERO_GAP_FRAC * np.maximum(n_gaps, 1)
        span = self.last_text_at_ns - self.first_text_at_ns
        whole = np.maximum(self.last_text_at_ns - self.table.due_at_ns, 1)
        per_read = self.texts / np.maximum(self.table.reads, 1)
        crowded = (self.table.reads > 0) & (per_read > BUFFERED_EVENTS_PER_READ)
        crowded |= self._in_blocks & (per_read > BUFFERED_BLOCK_EVENTS)
        together = (span < BUFFERED_SPAN_FRAC * whole) | crowded
        return np.asarray(lumped & together & self.buffering_shows)

    @cached_property
    def _in_blocks(self) -> Flags:
        """Streams whose reads pile at the sizes of blocks."""
        taken = number(self.table.received_bytes)
        read_no = self.table.event_read_no[self.text_index].astype(np.int64)
        sizes = taken / np.maximum(self.texts, 1)
        sizes[sizes <= 0] = np.nan
        return in_blocks(self.event_row[self.text_index], read_no, sizes)

    @cached_property
    def buffering_shows(self) -> Flags:
        """Streams long enough to tell whether they were buffered."""
        return self.ok & self.streamed & (np.nan_to_num(self.output_tok) >= BUFFERED_MIN_TOK)

    @cached_property
    def gap_index(self) -> Ints:
        """Positions of the events with text that follow another one of their request."""
        rows = self.event_row[self.text_index]
        later = np.zeros(len(rows), dtype=bool)
        later[1:] = rows[1:] == rows[:-1]
        streamed = self.streamed[rows]
        return self.text_index[later & streamed]

    @cached_property
    def gap_row(self) -> Ints:
        """The row of each gap."""
        return self.event_row[self.gap_index]

    @cached_property
    def gap_ns(self) -> Ints:
        """Time between an event with text and the one before it, int64[n_gaps]."""
        at = self.table.event_at_ns[self.text_index]
        rows = self.event_row[self.text_index]
        same = (rows[1:] == rows[:-1]) & self.streamed[rows[1:]]
        return np.asarray(np.diff(at)[same], dtype=np.int64)

    def forget_events(self) -> None:
        """Lets go of what is as long as the events, once the rest of them is made from it."""
        for name in OF_REQUESTS:
            getattr(self, name)
        for name in OF_EVENTS:
            self.__dict__.pop(name, None)

    def outcome_in(self, outcomes: tuple[str, ...]) -> Flags:
        """Requests that ended in one of these ways."""
        return _equal(self.table.outcome, outcomes)

    def flagged(self, name: str) -> Flags:
        """Requests whose record carries this flag."""
        return np.fromiter(
            (name in text.split(",") if text else False for text in self.table.flags),
            dtype=bool,
            count=len(self),
        )

    def since_due_s(self, at_ns: Ints) -> Floats:
        """Seconds from due to `at_ns`; NaN where it was not seen."""
        return seconds_between(self.table.due_at_ns, at_ns)

    def _edge_of(self, index: Ints, *, last: bool) -> Ints:
        found = np.full(len(self), ABSENT, dtype=np.int64)
        rows = self.event_row[index]
        if last:
            found[rows] = self.table.event_at_ns[index]
        else:
            found[rows[::-1]] = self.table.event_at_ns[index[::-1]]
        return found


OF_EVENTS = (
    "event_row", "event_has_text", "text_index", "event_tok", "event_tok_known",
    "gap_index", "gap_row", "gap_ns",
)  # fmt: skip
OF_REQUESTS = ("output_tok", "texts", "text_tok", "first_text_at_ns", "last_text_at_ns")


def joined(table: RunTable, parts: Sequence[Requests]) -> Requests:
    """All requests of a run: what its points found of each is taken over, not made again.

    `parts` are its points in order; where they leave out rows, everything is made anew.
    """
    whole = Requests(table)
    if parts and sum(map(len, parts)) == len(table):
        for name in OF_REQUESTS:
            whole.__dict__[name] = np.concatenate([getattr(part, name) for part in parts])
    return whole


def rows_of_point(table: RunTable, point: int) -> RunTable:
    """The rows of one point, with their events; the table is ordered by point."""
    found = np.flatnonzero(table.point == point)
    start, stop = (int(found[0]), int(found[-1]) + 1) if len(found) else (0, 0)
    event_from, event_to = int(table.event_start[start]), int(table.event_start[stop])
    cut = {}
    for field in fields(table):
        column = getattr(table, field.name)
        if field.name == "event_start":
            cut[field.name] = column[start : stop + 1] - event_from
        elif field.name.startswith("event_"):
            cut[field.name] = column[event_from:event_to]
        elif len(column):
            cut[field.name] = column[start:stop]
    return replace(table, **cut)


def first_of_each(rows: Ints) -> tuple[Ints, Ints]:
    """The distinct values of a sorted column, and the position where each begins."""
    begins = np.ones(len(rows), dtype=bool)
    begins[1:] = rows[1:] != rows[:-1]
    at = np.flatnonzero(begins)
    return rows[at], at


def number(column: Ints) -> Floats:
    """Floats with NaN for ABSENT."""
    return np.where(column == ABSENT, np.nan, column.astype(np.float64))


def seconds_between(from_ns: Ints, to_ns: Ints) -> Floats:
    """Seconds; NaN where either instant is ABSENT."""
    seen = (from_ns != ABSENT) & (to_ns != ABSENT)
    return np.where(seen, (to_ns - from_ns) / NS_PER_S, np.nan)


def ratio(over: Floats, under: Floats) -> Floats:
    """Element by element; NaN where the denominator is 0 or NaN."""
    safe = np.where(under == 0, np.nan, under)
    return over / safe


def _equal(words: Words, names: tuple[str, ...]) -> Flags:
    found = np.zeros(len(words), dtype=bool)
    for name in names:
        found |= np.asarray(words == str(name), dtype=bool)
    return found
