"""Whether a stream's reads pile at the block sizes in which proxies pass bytes on.

A server that writes the tokens of a step together makes reads of several events too, but of whole
steps: over a few reads they add up to another number of events than blocks of bytes do.
"""

import numpy as np

from loadgen.model.table import Flags, Floats, Ints

BLOCKS_BYTES = (4096, 8192, 16_384, 32_768)
WINDOW_READS = 4
SLACK_EVENTS = 1.0
PILED_FRAC = 0.6
"""Share of a stream's stretches of four reads that must hold what four blocks hold."""


def in_blocks(rows: Ints, read_no: Ints, event_bytes: Floats) -> Flags:
    """Streams whose reads hold what blocks of one size hold, bool[n_requests].

    `rows` and `read_no` are of the events with text, in order; `event_bytes` is the mean size of
    an event of each request, NaN where unknown. Streams of fewer than five reads tell nothing.
    """
    n = len(event_bytes)
    if not len(rows):
        return np.zeros(n, dtype=bool)
    begins = np.ones(len(rows), dtype=bool)
    begins[1:] = (rows[1:] != rows[:-1]) | (read_no[1:] != read_no[:-1])
    at = np.flatnonzero(begins)
    row = rows[at]
    from_to = np.append(at, len(rows))
    whole = row[:-WINDOW_READS] == row[WINDOW_READS:]
    held = (from_to[WINDOW_READS:-1] - at[:-WINDOW_READS])[whole]
    owner = row[:-WINDOW_READS][whole]
    stretches = np.bincount(owner, minlength=n)
    piled = np.zeros(n, dtype=bool)
    for block in BLOCKS_BYTES:
        wanted = WINDOW_READS * block / event_bytes
        fits = np.abs(held - wanted[owner]) <= SLACK_EVENTS
        piled |= np.bincount(owner[fits], minlength=n) >= PILED_FRAC * np.maximum(stretches, 1)
    return piled
