"""What the server's own metrics said during one point: counters from end to end, gauges inside."""

from dataclasses import dataclass

import numpy as np

from loadgen.analysis.frame import Frame
from loadgen.analysis.looks import Looks, Series
from loadgen.model.table import ABSENT
from loadgen.model.telemetry import ServerView

SERVER = "server"
LATE_NS = 10_000_000_000
"""A look that comes later than this after the last answer says nothing of the point."""


@dataclass(frozen=True, slots=True)
class Span:
    """From the first sending of a point to its last end, warm-up included; monotonic ns."""

    start_at_ns: int
    end_at_ns: int


def span_of(frame: Frame) -> Span | None:
    """The point's whole span; None where nothing was sent."""
    sent = frame.requests.table.sent_at_ns
    rows = sent != ABSENT
    if not rows.any():
        return None
    return Span(int(sent[rows].min()), int(frame.requests.end_at_ns[rows].max()))


def view_of(frame: Frame, point: int) -> ServerView | None:
    """The view of a point; None where no server told anything in or round it."""
    looks, span = frame.known.looks, span_of(frame)
    if span is None or not any(True for _ in looks.of(SERVER, "output_tok")):
        return None
    samples = looks.instants(SERVER, frame.start_at_ns, frame.end_at_ns)
    counted = _Counted(looks, span)
    waiting, kv = _tops(looks, frame, "waiting_requests"), _tops(looks, frame, "kv_used_frac")
    drafts = counted.delta("drafts")
    return ServerView(
        point=point,
        origins=looks.origins(SERVER),
        samples=samples,
        running_mean=_mean(looks, frame, "running_requests"),
        waiting_mean=_mean(looks, frame, "waiting_requests"),
        waiting_max=sum(waiting) if waiting else None,
        kv_max_frac=max(kv, default=None),
        input_tok=counted.delta("input_tok"),
        output_tok=counted.delta("output_tok"),
        cached_tok=counted.delta("cached_tok"),
        ended=counted.delta("ended_ok"),
        preemptions=counted.delta("preemptions"),
        ttft_mean_s=counted.mean("ttft_s"),
        itl_mean_s=counted.mean("itl_s"),
        queue_mean_s=counted.mean("queue_s"),
        prefill_mean_s=counted.mean("prefill_s"),
        decode_mean_s=counted.mean("decode_s"),
        prefill_sum_s=counted.delta("prefill_s", "sum"),
        decode_sum_s=counted.delta("decode_s", "sum"),
        drafted_tok=counted.delta("drafted_tok") if drafts else None,
        accepted_tok=counted.delta("accepted_tok") if drafts else None,
        drafts=drafts or None,
        resets=counted.resets,
    )


@dataclass(frozen=True, slots=True)
class Seen:
    """A mean over samples, their variance, and how many looks there were."""

    mean: float
    variance: float
    n: int


def in_flight_seen(frame: Frame) -> Seen | None:
    """Requests running and waiting by the gauges inside the frame; None where nobody tells."""
    looks, means, variances, n = frame.known.looks, 0.0, 0.0, []
    for origin in looks.origins(SERVER):
        gauges = [
            series.within(frame.start_at_ns, frame.end_at_ns)
            for name in ("running_requests", "waiting_requests")
            for key, series in looks.of(SERVER, name)
            if key.origin == origin
        ]
        at_ns = np.concatenate([series.at_ns for series in gauges]) if gauges else np.empty(0)
        if not len(at_ns):
            continue
        _, look = np.unique(at_ns, return_inverse=True)
        counts = np.bincount(look, np.concatenate([series.value for series in gauges]))
        n.append(len(counts))
        means += float(counts.mean())
        variances += float(counts.var())
    return Seen(means, variances, min(n)) if n else None


def counted_ttfts(frame: Frame) -> float | None:
    """How many first tokens the server's TTFT counts over the point; None where it doesn't tell."""
    span = span_of(frame)
    return None if span is None else _Counted(frame.known.looks, span).delta("ttft_s", "count")


class _Counted:
    """Differences of counters over a span, added over servers and engines."""

    def __init__(self, looks: Looks, span: Span) -> None:
        self._looks, self._span = looks, span
        self._reset = {
            key.origin
            for name in ("output_tok", "input_tok", "ended_ok", "started_at_s")
            for key, series in looks.of(SERVER, name)
            if (self._moves(series) if name == "started_at_s" else self._falls(series))
        }

    @property
    def resets(self) -> int:
        """Servers whose counters began anew within the span."""
        return len(self._reset)

    def delta(self, name: str, part: str | None = None) -> float | None:
        """The increase; None where a server didn't tell at both ends, or began anew between."""
        increases = [
            None if key.origin in self._reset else self._increase(series)
            for key, series in self._looks.of(SERVER, name)
            if part is None or key.part == part
        ]
        known = [increase for increase in increases if increase is not None]
        return sum(known) if known and len(known) == len(increases) else None

    def mean(self, name: str) -> float | None:
        """The mean of what a histogram took in; None where it took in nothing."""
        total, count = self.delta(name, "sum"), self.delta(name, "count")
        return total / count if total is not None and count else None

    def _increase(self, series: Series) -> float | None:
        before = series.last_until(self._span.start_at_ns)
        after = series.first_from(self._span.end_at_ns, self._span.end_at_ns + LATE_NS)
        return None if before is None or after is None else after - before

    def _round(self, series: Series) -> Series:
        """The samples from the last one before the span to the first one after it."""
        first = int(np.searchsorted(series.at_ns, self._span.start_at_ns, side="right")) - 1
        last = int(np.searchsorted(series.at_ns, self._span.end_at_ns, side="left"))
        return Series(
            series.at_ns[max(first, 0) : last + 1], series.value[max(first, 0) : last + 1]
        )

    def _falls(self, series: Series) -> bool:
        return bool((np.diff(self._round(series).value) < 0).any())

    def _moves(self, series: Series) -> bool:
        """Whether a server's start lies elsewhere by more than a second."""
        return bool((np.abs(np.diff(self._round(series).value)) > 1.0).any())


def _inside(looks: Looks, frame: Frame, name: str) -> list[Series]:
    found = (s.within(frame.start_at_ns, frame.end_at_ns) for _, s in looks.of(SERVER, name))
    return [series for series in found if len(series.value)]


def _mean(looks: Looks, frame: Frame, name: str) -> float | None:
    """Means over the samples in the frame, added over servers and engines."""
    inside = _inside(looks, frame, name)
    return sum(float(series.value.mean()) for series in inside) if inside else None


def _tops(looks: Looks, frame: Frame, name: str) -> list[float]:
    return [float(series.value.max()) for series in _inside(looks, frame, name)]
