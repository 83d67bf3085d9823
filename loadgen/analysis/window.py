"""Where to measure: from issue to issue on the plateau, where every slot has had a first token.

Both edges are instants at which a request was issued, so the window holds whole cycles and an
answer that straddles an edge counts with the tokens that came inside. Measured evidence for
token-stamped windows stands in docs/definitions.md#window.
"""

import numpy as np

from loadgen.analysis.requests import Requests
from loadgen.model.summary import Window
from loadgen.model.table import ABSENT, Flags, Ints

CLOSED_RULE = "tokens by timestamp, from the first issue after all slots had a token to the last"
OPEN_RULE = (
    "tokens by timestamp, from the first issue one median answer after the start to the last"
)


def slots_of(load: str) -> int | None:
    """Concurrency of a closed load (`closed:16,think=2s`); None for any other shape."""
    kind, _, rest = load.partition(":")
    if kind.strip() != "closed":
        return None
    for part in rest.split(","):
        name, equals, value = part.partition("=")
        text = value if equals and name.strip() in {"slots", "concurrency"} else part
        if text.strip().isdigit():
            return int(text)
    return None


def thinks(load: str) -> bool:
    """Whether slots rest between requests, so that fewer than all are busy by design."""
    return "think" in load


def whole_span(requests: Requests, rows: Flags) -> tuple[int, int]:
    """[first due, last end + 1) of these rows, ns; (0, 0) without any."""
    if not rows.any():
        return 0, 0
    start = int(requests.table.due_at_ns[rows].min())
    return start, max(int(requests.end_at_ns[rows].max()), start) + 1


def plateau(requests: Requests, load: str) -> Window | None:
    """The measuring window of one point; None where the load never got level for long enough."""
    measured = requests.in_window_phase & (requests.table.sent_at_ns != ABSENT)
    if not measured.any():
        return None
    slots = slots_of(load)
    if slots is None:
        level_at, rule = _answer_later(requests, measured), OPEN_RULE
    else:
        busy_at = None if thinks(load) else _filled_at(requests, slots)
        level_at, rule = _all_had_a_token(requests, slots, busy_at), CLOSED_RULE
    if level_at is None:
        return None
    issues = requests.table.due_at_ns[measured]
    inside = issues[issues >= level_at]
    if len(inside) < 2 or inside.max() <= inside.min():
        return None
    return Window(int(inside.min()), int(inside.max()), rule)


def _filled_at(requests: Requests, slots: int) -> int | None:
    """When as many requests as there are slots were first in flight together."""
    sent = requests.table.sent_at_ns != ABSENT
    at, level = in_flight_steps(requests.table.sent_at_ns[sent], requests.end_at_ns[sent])
    full = np.flatnonzero(level >= slots)
    return int(at[full[0]]) if len(full) else None


def _all_had_a_token(requests: Requests, slots: int, busy_at: int | None) -> int | None:
    """When every slot's request had its first token (or had ended without one)."""
    sent = requests.table.sent_at_ns
    order = np.flatnonzero(sent != ABSENT)
    if len(order) < slots:
        return None
    if busy_at is None:
        held = order[np.argsort(sent[order], kind="stable")][:slots]
    else:
        held = order[(sent[order] <= busy_at) & (requests.end_at_ns[order] > busy_at)]
    begun = np.where(requests.streamed, requests.first_text_at_ns, ABSENT)
    begun = np.where(begun == ABSENT, requests.end_at_ns, begun)
    return int(begun[held].max()) if len(held) else None


def _answer_later(requests: Requests, measured: Flags) -> int | None:
    """One median answer after the first issue: by then open arrivals have filled the system."""
    ended = measured & requests.ok
    if not ended.any():
        return None
    due = requests.table.due_at_ns
    return int(due[measured].min() + np.median(requests.end_at_ns[ended] - due[ended]))


def in_flight_steps(start_ns: Ints, end_ns: Ints) -> tuple[Ints, Ints]:
    """Instants and the number in flight from each on; ends count before starts of one instant."""
    at = np.concatenate([end_ns, start_ns])
    change = np.concatenate([np.full(len(end_ns), -1), np.ones(len(start_ns), dtype=np.int64)])
    order = np.argsort(at, kind="stable")
    return at[order], np.cumsum(change[order])
