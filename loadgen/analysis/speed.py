"""Decode speed of one request, by the tokens after its first event with text."""

import numpy as np

from loadgen.analysis.allocation import sums_by
from loadgen.analysis.requests import Requests
from loadgen.model.table import ABSENT, Floats
from loadgen.units import NS_PER_S


def tpot_s(requests: Requests) -> Floats:
    """(t_last - t_first) / (n_out - k_first), seconds; NaN where it says nothing.

    n_out leaves out tokens that were counted before the first text (a parser held them back).
    NaN: not ok, not streamed, buffered, fewer than two arrivals, no token after the first event.
    Source: docs/definitions.md#tpot_s.
    """
    span_ns = requests.last_text_at_ns - requests.first_text_at_ns
    tok = visible_tok(requests) - first_event_tok(requests)
    shows = requests.ok & requests.streamed & ~requests.buffered & (span_ns > 0) & (tok > 0)
    return np.where(shows, span_ns / NS_PER_S / np.where(tok > 0, tok, 1.0), np.nan)


def first_event_tok(requests: Requests) -> Floats:
    """Tokens of the first event with text where somebody counted them, else 1; NaN without one."""
    index = requests.first_text_index
    has = index != ABSENT
    tok = np.full(len(requests), np.nan)
    counted = requests.event_tok_known[index[has]]
    tok[has] = np.where(counted, requests.table.event_tok[index[has]], 1.0)
    return tok


def silent_tok(requests: Requests) -> Floats:
    """Tokens that running counts show before the first text, 0 where none are known."""
    if not requests.event_tok_known.any():
        return np.zeros(len(requests))
    first = requests.first_text_index[requests.event_row]
    before = (np.arange(len(first)) < first) & requests.event_tok_known
    tok = np.where(before, requests.table.event_tok, 0).astype(np.float64)
    return sums_by(requests.event_row, tok, len(requests))


def visible_tok(requests: Requests) -> Floats:
    """Output tokens less those counted before the first text."""
    return requests.output_tok - silent_tok(requests)


def decode_span_s(requests: Requests) -> Floats:
    """Seconds from the first to the last event with text; NaN without one."""
    span = (requests.last_text_at_ns - requests.first_text_at_ns) / NS_PER_S
    return np.where(requests.streamed & (requests.first_text_at_ns != ABSENT), span, np.nan)
