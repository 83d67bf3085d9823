"""One load point as another client would have seen it: when its clock starts, what it counts.

Two starts of the clock are recorded: the instant a request was handed to the client (asked for
its connection; the first byte where a kept one served) and the instant its first byte went out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from loadgen.analysis.requests import Requests, number, seconds_between
from loadgen.analysis.window import in_flight_steps
from loadgen.model.record import EventKind
from loadgen.model.table import ABSENT, Flags, Floats, Ints
from loadgen.units import NS_PER_S


@dataclass(frozen=True)
class Calls:
    """The measured requests of a point; arrays are one entry a request unless named `event_*`.

    `lacks` says by metric what the records can't tell; `span_told_s` is the tool's own duration
    where the records come from its file, `asked_by_client` that its prompt lengths are its own.
    """

    requests: Requests
    load: str = ""
    reasoning_field: str | None = None
    gpus: float | None = None
    replayed: bool = False
    lacks: Mapping[str, str] = field(default_factory=dict)
    span_told_s: float | None = None
    asked_by_client: bool = False

    @cached_property
    def rows(self) -> Flags:
        """Requests that were sent outside the warm-up."""
        sent = self.requests.table.sent_at_ns != ABSENT
        return np.asarray(~self.requests.warmup & sent)

    @cached_property
    def good(self) -> Flags:
        """Those of them that ended well."""
        return self.rows & self.requests.ok

    @cached_property
    def failed(self) -> Flags:
        """Measured requests that failed, unsent ones too."""
        return ~self.requests.warmup & self.requests.failed

    @cached_property
    def handed_at_ns(self) -> Ints:
        """When a client's call began: connecting inside, as far as it was waited for.

        A connection that was asked for before the request was due had been opened ahead.
        """
        table = self.requests.table
        asked = table.conn_asked_at_ns
        known = (asked != ABSENT) & (asked >= table.due_at_ns) & (asked <= table.sent_at_ns)
        return np.where(known, asked, table.sent_at_ns)

    @cached_property
    def prompt_tok(self) -> Floats:
        """Prompt tokens: the server's count, or the tool's own where its file has that."""
        own = number(self.requests.table.input_tok)
        served = self.requests.prompt_tok
        return np.where(np.isnan(own), served, own) if self.asked_by_client else served

    @cached_property
    def output_tok(self) -> Floats:
        """Output tokens: the server's count, else our own."""
        return self.requests.output_tok

    @cached_property
    def retokenised_tok(self) -> Floats:
        """Output tokens by a tokenizer of the client's; NaN where none counted."""
        table = self.requests.table
        counted = np.asarray(table.own_tok_source == "tokenizer", dtype=bool)
        return np.where(counted, number(table.own_tok), np.nan)

    @cached_property
    def first_text_at_ns(self) -> Ints:
        """First event with text of any channel; ABSENT where none streamed."""
        return np.where(self.requests.streamed, self.requests.first_text_at_ns, ABSENT)

    @cached_property
    def last_text_at_ns(self) -> Ints:
        """Last event with text; the end of an answer that did not stream."""
        requests = self.requests
        return np.where(requests.streamed, requests.last_text_at_ns, requests.end_at_ns)

    @cached_property
    def done_at_ns(self) -> Ints:
        """End of the stream: its closing marker, else the last that was seen."""
        return self.requests.end_at_ns

    @cached_property
    def event_closing(self) -> Flags:
        """Events that carry nothing but the finish reason, bool[n_events].

        Of the events after the last text the first is one, unless it is the only one and usage
        came: then the finish reason came with the text.
        """
        requests, starts = self.requests, self.requests.table.event_start
        last = np.full(len(requests), ABSENT, dtype=np.int64)
        last[requests.event_row[requests.text_index]] = requests.text_index
        after = np.where(last == ABSENT, 0, starts[1:] - 1 - last)
        usage = requests.table.usage_output_tok != ABSENT
        apart = (after >= 2) | ((after == 1) & ~usage)
        closing = np.zeros(len(requests.table.event_kind), dtype=bool)
        closing[last[apart] + 1] = True
        return closing

    def event_kind_in(self, *kinds: EventKind) -> Flags:
        """Events of these channels, bool[n_events]."""
        return np.asarray(np.isin(self.requests.table.event_kind, [int(kind) for kind in kinds]))

    def first_of(self, counted: Flags) -> Ints:
        """When the first of the counted events came; ABSENT without one."""
        requests, at_ns = self.requests, np.full(len(self.requests), ABSENT, dtype=np.int64)
        index = np.flatnonzero(counted)[::-1]
        at_ns[requests.event_row[index]] = requests.table.event_at_ns[index]
        return np.where(requests.streamed, at_ns, ABSENT)

    def last_of(self, counted: Flags) -> Ints:
        """When the last of the counted events came; ABSENT without one."""
        requests, at_ns = self.requests, np.full(len(self.requests), ABSENT, dtype=np.int64)
        index = np.flatnonzero(counted)
        at_ns[requests.event_row[index]] = requests.table.event_at_ns[index]
        return np.where(requests.streamed, at_ns, ABSENT)

    def gaps_s(self, counted: Flags) -> Floats:
        """Seconds between consecutive counted events of the good requests, pooled."""
        requests = self.requests
        index = np.flatnonzero(counted & (self.good & requests.streamed)[requests.event_row])
        at_ns, row = requests.table.event_at_ns[index], requests.event_row[index]
        return np.asarray(np.diff(at_ns)[row[1:] == row[:-1]] / NS_PER_S)

    def span_s(self, start_ns: Ints, end_ns: Ints, rows: Flags) -> float:
        """The tool's own duration where it told it; else first start to last end, seconds."""
        if self.span_told_s is not None:
            return self.span_told_s
        return self.seen_span_s(start_ns, end_ns, rows)

    def seen_span_s(self, start_ns: Ints, end_ns: Ints, rows: Flags) -> float:
        """First start to last end of these requests, seconds; 0 without any."""
        seen = rows & (start_ns != ABSENT) & (end_ns != ABSENT)
        if not seen.any():
            return 0.0
        return float(end_ns[seen].max() - start_ns[seen].min()) / NS_PER_S

    def most_in_flight(self, start_ns: Ints, end_ns: Ints) -> int:
        """Most good requests under way at once."""
        _, level = in_flight_steps(start_ns[self.good], end_ns[self.good])
        return int(level.max()) if len(level) else 0

    def sum_of(self, values: Floats, rows: Flags | None = None) -> float:
        """Total over the good requests; what nobody counted counts as nothing."""
        return float(np.nansum(values[self.good if rows is None else rows]))

    def among_good(self, values: Floats) -> Floats:
        """The values that good requests have."""
        chosen = values[self.good]
        return chosen[~np.isnan(chosen)]

    def seconds(self, from_ns: Ints, to_ns: Ints) -> Floats:
        """Seconds between two instants, NaN where either is unknown."""
        return seconds_between(from_ns, to_ns)
