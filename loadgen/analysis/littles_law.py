"""Bookkeeping test: requests in flight summed over time, computed in two unlike ways."""

import numpy as np

from loadgen.analysis.frame import Frame
from loadgen.analysis.rates import clipped_ns
from loadgen.analysis.window import in_flight_steps
from loadgen.model.table import ABSENT

TOLERANCE = 1e-6


def mismatch(frame: Frame) -> float:
    """|integral of in-flight over time - sum of clipped stays| / the latter; 0 when both are 0.

    An identity (Little's law with edges handled), so more than `TOLERANCE` is a bug of ours.
    """
    sent = frame.requests.table.sent_at_ns
    rows = sent != ABSENT
    if not rows.any():
        return 0.0
    stays = int(clipped_ns(frame)[rows].sum())
    at, level = in_flight_steps(sent[rows], frame.requests.end_at_ns[rows])
    at = np.clip(at, frame.start_at_ns, frame.end_at_ns)
    area = int((level[:-1] * np.diff(at)).sum())
    return abs(area - stays) / stays if stays else float(area != 0)


def in_flight_max(frame: Frame) -> int:
    """Most requests between sent and end at one instant of the whole point."""
    sent = frame.requests.table.sent_at_ns
    rows = sent != ABSENT
    if not rows.any():
        return 0
    _, level = in_flight_steps(sent[rows], frame.requests.end_at_ns[rows])
    return int(level.max())
