"""Samples that events give, several a request: gaps between chunks, between tokens, chunk sizes."""

from dataclasses import dataclass

import numpy as np

from loadgen.analysis.allocation import sums_by
from loadgen.analysis.requests import Requests
from loadgen.model.table import Floats, Ints
from loadgen.units import NS_PER_S

STALL_FACTOR = 3.0


@dataclass(frozen=True, slots=True)
class EventSamples:
    """Values with the request each belongs to; `weights` are tokens where they count by token."""

    values: Floats
    row: Ints
    weights: Floats | None = None


def icl_s(requests: Requests) -> EventSamples:
    """Seconds between an event with text and the one before it, whatever both hold."""
    return EventSamples(requests.gap_ns / NS_PER_S, requests.gap_row)


def itl_s(requests: Requests) -> EventSamples:
    """Seconds per token: a gap before k tokens gives k samples of gap / k.

    An event with text but no token of its own (a running count that stood still) adds its time
    to the next one that has some.
    """
    index = requests.text_index[requests.event_tok[requests.text_index] > 0]
    row, at_ns = requests.event_row[index], requests.table.event_at_ns[index]
    same = (row[1:] == row[:-1]) & requests.streamed[row[1:]]
    tok = requests.event_tok[index[1:]][same]
    return EventSamples(np.diff(at_ns)[same] / NS_PER_S / tok, row[1:][same], tok)


def tok_per_event(requests: Requests) -> EventSamples:
    """Tokens of each event with text; fractions where they were allotted from a total."""
    index = requests.text_index[requests.streamed[requests.event_row[requests.text_index]]]
    return EventSamples(requests.event_tok[index], requests.event_row[index])


def longest_gap_s(requests: Requests) -> Floats:
    """Seconds of the longest gap, one a request; NaN where fewer than two events came."""
    longest = np.full(len(requests), np.nan)
    np.fmax.at(longest, requests.gap_row, requests.gap_ns / NS_PER_S)
    return longest


def stalled_frac(requests: Requests) -> Floats:
    """Share of the decode time spent in gaps over three times the request's median gap.

    NaN with fewer than two gaps, or where the median gap is 0 (events came together).
    """
    n, row = len(requests), requests.gap_row
    gap = requests.gap_ns.astype(np.float64)
    count = np.bincount(row, minlength=n)
    usable = count >= 2
    median = _lower_medians(gap, count)
    total = sums_by(row, gap, n)
    late = gap > STALL_FACTOR * median[row]
    stalled = sums_by(row[late], gap[late], n)
    defined = usable & (np.nan_to_num(median) > 0)
    return np.where(defined, stalled / np.where(total > 0, total, 1.0), np.nan)


def _lower_medians(gap: Floats, count: Ints) -> Floats:
    """The lower median of each request's gaps, which lie side by side; NaN under two."""
    median = np.full(len(count), np.nan)
    stop = np.cumsum(count)
    for row in np.flatnonzero(count >= 2):
        own, middle = gap[stop[row] - count[row] : stop[row]], (count[row] - 1) // 2
        median[row] = np.partition(own, middle)[middle]
    return median
