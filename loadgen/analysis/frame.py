"""One load point as figures are made of it: its requests, the span, whose latencies count."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from loadgen.analysis.allocation import sums_by
from loadgen.analysis.looks import Looks
from loadgen.analysis.requests import Requests
from loadgen.analysis.statistics.quantiles import batches_for, quantile
from loadgen.analysis.window import plateau, slots_of, whole_span
from loadgen.model.exchange import Outcome
from loadgen.model.summary import Window
from loadgen.model.table import ABSENT, Flags, Floats, Ints
from loadgen.units import NS_PER_S

DELIVERING = (Outcome.OK, Outcome.UNFINISHED, Outcome.CANCELLED)
"""Outcomes whose tokens count as output; those of failed requests were of no use to anybody."""

BUFFERED_POINT_FRAC = 0.2


@dataclass(frozen=True)
class Power:
    """What is known of the power that witnesses tell of, beside their readings."""

    boundary: str = "gpu"
    gpus: int | None = None
    """Declared; None: not said."""
    provisioned_w: float | None = None
    """What the declared GPUs may draw, all-in, by their rating."""
    idle_ns: tuple[int, int] | None = None
    """Nothing was sent before the first instant and after the second; None: not watched."""


@dataclass(frozen=True)
class Known:
    """What figures need beside the table: round trip, price, one user's speed alone, witnesses."""

    rtt_s: float | None = None
    usd_per_s: float | None = None
    single_tpot_s: float | None = None
    looks: Looks = field(default_factory=Looks)
    power: Power = Power()


@dataclass(frozen=True)
class Frame:
    """A span [start, end) of one point, and `chosen`: the requests whose latencies count in it.

    `steady` says that the span is a plateau, so that its batches may carry an interval;
    `withheld` says why latencies must not be shown, `tails_withheld` why the tails of pooled gaps
    must not (empty: they may).
    """

    requests: Requests
    load: str
    start_at_ns: int
    end_at_ns: int
    chosen: Flags
    steady: bool
    known: Known = Known()
    withheld: str = ""
    tails_withheld: str = ""

    @property
    def slots(self) -> int | None:
        """Concurrency of a closed load."""
        return slots_of(self.load)

    @property
    def span_s(self) -> float:
        """Length of the span, seconds."""
        return (self.end_at_ns - self.start_at_ns) / NS_PER_S

    @cached_property
    def first_at_ns(self) -> Ints:
        """When a request's first token came; its end where no stream told."""
        requests = self.requests
        first = np.where(requests.streamed, requests.first_text_at_ns, ABSENT)
        return np.where((first == ABSENT) & requests.ok, requests.end_at_ns, first)

    @cached_property
    def prefilled(self) -> Flags:
        """Requests whose first token came inside the span: those whose prompt it processed."""
        return self.contains(self.first_at_ns)

    @cached_property
    def ended(self) -> Flags:
        """Requests that ended inside the span; one that was never sent has no end."""
        dropped = self.requests.outcome_in((Outcome.DROPPED,))
        return np.asarray(self.contains(self.requests.end_at_ns) & ~dropped)

    @cached_property
    def batch_edges_ns(self) -> Floats:
        """Edges of the equal batches of a steady span; of the span itself where none fit."""
        cycle_s = np.nan
        if self.steady and self.requests.ok.any():
            ok = self.requests.ok
            took = self.requests.end_at_ns[ok] - self.requests.table.due_at_ns[ok]
            cycle_s = float(took.mean()) / NS_PER_S
        k = max(1, batches_for(self.span_s, cycle_s))
        return np.linspace(self.start_at_ns, self.end_at_ns, k + 1)

    @cached_property
    def block_s(self) -> float:
        """Twice the p90 answer, seconds: how far apart requests hardly share a fate; 0 unknown."""
        ok = self.requests.ok & self.chosen
        took = self.requests.end_at_ns[ok] - self.requests.table.due_at_ns[ok]
        return 2.0 * quantile(took / NS_PER_S, 0.9) if len(took) else 0.0

    @cached_property
    def buffered(self) -> bool:
        """Whether more than a fifth of the streams that can tell were buffered on their way."""
        shows = self.requests.buffering_shows & self.chosen
        return bool(shows.any() and self.requests.buffered[shows].mean() > BUFFERED_POINT_FRAC)

    def contains(self, at_ns: Ints) -> Flags:
        """Instants inside [start, end)."""
        return (at_ns >= self.start_at_ns) & (at_ns < self.end_at_ns)

    def batch_sums(self, at_ns: Ints, weight: Floats) -> Floats:
        """`weight` summed by the batch in which `at_ns` falls; what falls outside is left out."""
        edges = self.batch_edges_ns
        inside = self.contains(at_ns)
        batch = np.searchsorted(edges, at_ns[inside], side="right") - 1
        k = len(edges) - 1
        return sums_by(np.minimum(batch, k - 1), weight[inside], k)


PROFILING_RULE = "the whole profiling of a replay, from its first turn to its last token"


def window_frame(requests: Requests, load: str, known: Known) -> tuple[Frame, Window | None]:
    """The frame that figures come from: the plateau, or all but the warm-up without one."""
    window = plateau(requests, load)
    if window is None:
        rows = ~requests.warmup
        start, end = whole_span(requests, rows)
        return Frame(requests, load, start, end, rows, steady=False, known=known), None
    return frame_in(requests, load, window, known), window


def profiling_frame(requests: Requests, load: str, known: Known) -> tuple[Frame, Window | None]:
    """The frame of a replay: all of its profiling, from the first sending to the last token."""
    rows = requests.in_window_phase
    if not rows.any():
        return window_frame(requests, load, known)
    start, end = whole_span(requests, rows)
    window = Window(start, end, PROFILING_RULE)
    return Frame(requests, load, start, end, rows, steady=False, known=known), window


def frame_in(requests: Requests, load: str, window: Window, known: Known) -> Frame:
    """The frame of a window: what arrives in it, and the latencies of what was due in it."""
    due = requests.table.due_at_ns
    issued = (due >= window.start_at_ns) & (due <= window.end_at_ns) & requests.in_window_phase
    span = window.start_at_ns, window.end_at_ns
    return Frame(requests, load, *span, issued, steady=True, known=known)


def whole_frame(requests: Requests, load: str, known: Known) -> Frame:
    """Everything of the point, ramp, warm-up and drain included."""
    rows = np.ones(len(requests), dtype=bool)
    return Frame(requests, load, *whole_span(requests, rows), rows, steady=False, known=known)
