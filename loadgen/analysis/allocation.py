"""Which event holds how many tokens, so that a request's events add up to its `output_tok`.

Where somebody counted (token ids, running usage) the counts stand; they are scaled only when
their sum differs from the server's final count. Elsewhere the first event with text is taken for
one token (as TPOT takes it) and the others share the rest equally: usage says 8, five events
came, so 1 and four times 1.75. An event without text holds none unless somebody counted it.
"""

from dataclasses import dataclass

import numpy as np

from loadgen.model.table import Flags, Floats, Ints


@dataclass(frozen=True, slots=True)
class EventCounts:
    """What is known of events: their row, the tokens told (where `known`), whether text came.

    `opens` marks the first event with text of each request. All of length n_events.
    """

    row: Ints
    told_tok: Ints
    known: Flags
    has_text: Flags
    opens: Flags


def sums_by(row: Ints, weight: Floats, n: int) -> Floats:
    """`weight` summed by `row`, float64[n]."""
    return np.asarray(np.bincount(row, weight, minlength=n), dtype=np.float64)


def allocate(events: EventCounts, output_tok: Floats) -> Floats:
    """Tokens of each event, float64[n_events]; `output_tok` is float64[n_requests]."""
    n = len(output_tok)
    wanted = np.nan_to_num(output_tok)
    if not events.known.any():
        return _shared_out(events, wanted)
    unknown = events.has_text & ~events.known
    free = unknown & ~events.opens
    tok = np.where(events.known, events.told_tok, unknown).astype(np.float64)
    fixed = sums_by(events.row, np.where(free, 0.0, tok), n)
    n_free = np.bincount(events.row[free], minlength=n)
    shared = (n_free > 0) & (wanted > fixed)
    each = (wanted - fixed) / np.maximum(n_free, 1)
    tok = np.where(free & shared[events.row], each[events.row], tok)
    total = sums_by(events.row, tok, n)
    rescaled = ~shared & (total > 0) & (wanted > 0)
    scale = np.where(rescaled, wanted / np.where(total > 0, total, 1.0), 1.0)
    return np.asarray(tok * scale[events.row], dtype=np.float64)


def _shared_out(events: EventCounts, wanted: Floats) -> Floats:
    """The same where nobody told of any event: one for the first, equal shares for the others."""
    n = len(wanted)
    texts = np.bincount(events.row[events.has_text], minlength=n)
    later = np.maximum(texts - 1, 0)
    shared = (later > 0) & (wanted > 1)
    each = np.where(shared, (wanted - 1) / np.maximum(later, 1), 1.0)
    first = np.ones(n)
    scaled = ~shared & (texts > 0) & (wanted > 0)
    scale = np.where(scaled, wanted / np.maximum(texts, 1), 1.0)
    tok = (each * scale)[events.row]
    tok[events.opens] = (first * scale)[events.row[events.opens]]
    tok[~events.has_text] = 0.0
    return tok
