"""Little's law as a self-test: our books balance (A), and a level point obeys it (B, D).

That a closed load fills its slots (C) is `client_findings.concurrency_not_reached`.
"""

from dataclasses import dataclass

import numpy as np

from loadgen.analysis.frame import Frame
from loadgen.analysis.rates import clipped_ns, out_sums
from loadgen.analysis.speed import first_event_tok
from loadgen.analysis.window import in_flight_steps
from loadgen.model.table import ABSENT, Flags, Floats, Ints
from loadgen.units import NS_PER_S

TOLERANCE = 1e-6
STEADY_FRAC = 0.05
MIN_REQUESTS = 80
MIN_ANSWERS = 8.0
LOOKS_PER_STAY = 16
STAYS_MAX = 1000


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


@dataclass(frozen=True, slots=True)
class Balance:
    """Two figures that agree on a level point, and how far apart they may lie (a share)."""

    seen: float
    expected: float
    allowed_frac: float

    @property
    def off_frac(self) -> float:
        """How far the expected figure lies from the one seen, as a share of it."""
        return (self.expected - self.seen) / self.seen

    @property
    def holds(self) -> bool:
        """Whether the two agree."""
        return abs(self.off_frac) <= self.allowed_frac


def in_flight_balance(frame: Frame) -> Balance | None:
    """Requests in flight against rate of issue times mean stay of those issued in the span.

    Differs by what straddles the edges, on average the rest of an answer, which is allowed beside
    5 %; where slots run in step (answers of one length), as far as that swings within an answer.
    None where it can't be told: too short, cut answers, no plateau. Source: Little 1961.
    """
    stays_s = _stays_s(frame)
    if stays_s is None:
        return None
    rows = frame.requests.table.sent_at_ns != ABSENT
    seen = float(clipped_ns(frame)[rows].sum()) / (frame.end_at_ns - frame.start_at_ns)
    if seen <= 0:
        return None
    expected = float(stays_s.sum()) / frame.span_s
    swing_frac = _swing_s(frame, float(stays_s.mean())) / seen / frame.span_s
    return Balance(seen, expected, STEADY_FRAC + max(_edge_frac(frame, stays_s), swing_frac))


def decode_balance(frame: Frame) -> Balance | None:
    """Output rate against requests decoding times their tokens per second of decoding.

    Speed is all tokens over all decode time of the requests issued in the span, so every second of
    decoding counts alike; first tokens are added at the rate they came. None as above, or where
    answers did not stream, were buffered or failed.
    """
    stays_s = _stays_s(frame)
    requests = frame.requests
    good = requests.streamed & requests.ok
    if stays_s is None or frame.buffered or not good[_sent(frame)].all():
        return None
    first, last = requests.first_text_at_ns, requests.last_text_at_ns
    has = _sent(frame) & (first != ABSENT)
    opening = np.nan_to_num(first_event_tok(requests))
    tok = np.nan_to_num(requests.output_tok) - opening
    spent_ns = (last - first)[has & frame.chosen]
    if not spent_ns.sum():
        return None
    speed = float(tok[has & frame.chosen].sum()) / float(spent_ns.sum())
    inside = np.minimum(last, frame.end_at_ns) - np.maximum(first, frame.start_at_ns)
    decoding_ns = float(np.maximum(inside, 0)[has].sum())
    opened = float(opening[has & frame.contains(first)].sum())
    edges = np.array([frame.start_at_ns, frame.end_at_ns], dtype=np.float64)
    seen = float(out_sums(frame, edges).sum()) / frame.span_s
    if seen <= 0:
        return None
    expected = (decoding_ns * speed + opened) / frame.span_s
    return Balance(seen, expected, STEADY_FRAC + _edge_frac(frame, stays_s))


def _sent(frame: Frame) -> Flags:
    return np.asarray(frame.requests.table.sent_at_ns != ABSENT)


def _stays_s(frame: Frame) -> Floats | None:
    """Seconds from sent to end of the requests issued in a span long enough to tell."""
    rows = frame.chosen & _sent(frame)
    stays = (frame.requests.end_at_ns - frame.requests.table.sent_at_ns)[rows] / NS_PER_S
    if not frame.steady or len(stays) < MIN_REQUESTS or (frame.requests.cut & rows).any():
        return None
    return stays if frame.span_s >= MIN_ANSWERS * float(stays.mean()) else None


def _edge_frac(frame: Frame, stays_s: Floats) -> float:
    """Mean rest of an answer under way, E[s^2] / 2 E[s], as a share of the span."""
    total = float(stays_s.sum())
    return float((stays_s**2).sum()) / (2.0 * total) / frame.span_s if total > 0 else 1.0


def _swing_s(frame: Frame, stay_s: float) -> float:
    """How far the rests of all answers under way, summed, swing within a mean stay; the median.

    Request-seconds: little where slots are spread evenly, a whole answer for each where all begin
    and end together. A median passes over single jumps, and a slow rise is small within a stay.
    """
    rows = _sent(frame)
    sent_ns = frame.requests.table.sent_at_ns[rows] - frame.start_at_ns
    end_ns = frame.requests.end_at_ns[rows] - frame.start_at_ns
    stays = min(int(frame.span_s / stay_s), STAYS_MAX)
    step_ns = int(stay_s * NS_PER_S / LOOKS_PER_STAY)
    at_ns = np.arange(stays * LOOKS_PER_STAY) * step_ns
    begun, begun_ends_ns = _up_to(at_ns, sent_ns, end_ns)
    over, over_ends_ns = _up_to(at_ns, end_ns, end_ns)
    rests_s = (begun_ends_ns - over_ends_ns - at_ns * (begun - over)) / NS_PER_S
    by_stay = rests_s.reshape(stays, LOOKS_PER_STAY)
    return float(np.median(by_stay.max(axis=1) - by_stay.min(axis=1)))


def _up_to(at_ns: Ints, when_ns: Ints, what_ns: Ints) -> tuple[Ints, Ints]:
    """At each instant: how many `when_ns` have passed, and the sum of their `what_ns`."""
    order = np.argsort(when_ns, kind="stable")
    passed = np.searchsorted(when_ns[order], at_ns, side="right")
    sums = np.concatenate([[0], np.cumsum(what_ns[order])])
    return passed, sums[passed]
