"""Which blocks of replayed prompts a prefix cache should have found, from how they were designed.

Source: the rule of published AgentX points, docs/howto-agentx.md.
"""

from bisect import bisect_left, bisect_right

import numpy as np

from loadgen.analysis.requests import Requests
from loadgen.model.table import ABSENT, Flags

Runs = list[tuple[int, int]]
"""Blocks of a prompt in order, as (first id, how many): ids count up in a run."""


class SeenBlocks:
    """Block ids that came before, as spans that neither touch nor overlap, by rising id.

    Prompts of a million tokens are thousands of blocks and few runs: work and memory go by runs.
    """

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def leading(self, runs: Runs) -> int:
        """How many of the first blocks came before, up to the first that did not."""
        found = 0
        for first, n in runs:
            at = bisect_right(self._starts, first) - 1
            held = max(0, self._ends[at] - first) if at >= 0 else 0
            found += min(held, n)
            if held < n:
                break
        return found

    def add(self, runs: Runs) -> None:
        """These blocks have come."""
        for first, n in runs:
            start, end = first, first + n
            low = bisect_left(self._ends, start)
            high = bisect_right(self._starts, end)
            if low < high:
                start, end = min(start, self._starts[low]), max(end, self._ends[high - 1])
            self._starts[low:high], self._ends[low:high] = [start], [end]


def designed_hit(requests: Requests, rows: Flags) -> float | None:
    """Share of the blocks of `rows` that a cache without bounds would find: leading ones seen.

    Requests in the order of their sending, one set of seen blocks a play of a trace. What was sent
    outside `rows` (the warm-up) fills the set and doesn't count. None without designed blocks.
    """
    table = requests.table
    seen: dict[str, SeenBlocks] = {}
    hits = blocks = 0
    for row in np.argsort(table.sent_at_ns, kind="stable").tolist():
        if not table.blocks[row] or table.sent_at_ns[row] == ABSENT:
            continue
        known = seen.setdefault(str(table.session_id[row]), SeenBlocks())
        runs = runs_of(str(table.blocks[row]))
        if rows[row]:
            hits += known.leading(runs)
            blocks += sum(n for _, n in runs)
        known.add(runs)
    return hits / blocks if blocks else None


def runs_of(blocks: str) -> Runs:
    """The runs of a stored request: `3,2,10,1` is blocks 3, 4 and 10."""
    flat = [int(number) for number in blocks.split(",")]
    return list(zip(flat[::2], flat[1::2], strict=True))
