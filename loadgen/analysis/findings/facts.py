"""What the rules of `findings` look at: one point with its figures, or the whole run."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from loadgen.analysis.fidelity import Fidelity
from loadgen.analysis.frame import Frame
from loadgen.analysis.requests import Requests, seconds_between
from loadgen.analysis.window import slots_of
from loadgen.analysis.words import counted, in_percent
from loadgen.model.exchange import Outcome
from loadgen.model.observed import ClientHealth
from loadgen.model.plan import PointPlan
from loadgen.model.summary import Counts, Measure, Severity, Steadiness, Window
from loadgen.model.table import ABSENT, Flags, Recording

TIMEOUTS = (
    Outcome.TIMEOUT_CONNECT,
    Outcome.TIMEOUT_FIRST_TOKEN,
    Outcome.TIMEOUT_STALL,
    Outcome.TIMEOUT_TOTAL,
)


@dataclass(frozen=True, slots=True)
class Doubt:
    """What a rule found: how much it matters, the figures, one thing to do."""

    severity: Severity
    text: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class FirstWave:
    """Median time to first token of the first request of each slot against all later ones."""

    n: int
    first_s: float
    rest_s: float

    @property
    def times(self) -> float:
        """How many times slower the first wave was."""
        return self.first_s / self.rest_s if self.rest_s > 0 else 1.0


@dataclass(frozen=True)
class PointFacts:
    """One load point. `frame` is where its figures come from."""

    recording: Recording
    plan: PointPlan
    frame: Frame
    window: Window | None
    measures: dict[str, Measure]
    counts: Counts
    health: tuple[ClientHealth, ...]
    fidelity: Fidelity
    steady: Steadiness

    @property
    def requests(self) -> Requests:
        """All requests of the point, warm-up included."""
        return self.frame.requests

    @property
    def slots(self) -> int | None:
        """Concurrency of a closed load."""
        return slots_of(self.plan.load)

    @property
    def stop_reason(self) -> str:
        """What ended the point, by the workers; joined where they differ."""
        return ",".join(sorted({h.stop_reason for h in self.health if h.stop_reason}))

    @property
    def failed(self) -> int:
        """Measured requests that failed."""
        return int((self.requests.failed & ~self.requests.warmup).sum())

    @cached_property
    def first_wave(self) -> FirstWave | None:
        """The first request of each slot against the rest; None where either has no first token."""
        requests, n = self.requests, self.slots or 1
        order = np.argsort(requests.table.due_at_ns, kind="stable")
        first_at = np.where(requests.streamed, requests.first_text_at_ns, ABSENT)
        ttft = seconds_between(requests.table.sent_at_ns, first_at)
        ttft[~requests.ok] = np.nan
        first, rest = ttft[order[:n]], ttft[order[n:]]
        first, rest = first[~np.isnan(first)], rest[~np.isnan(rest)]
        if not len(first) or len(rest) < max(n, 3):
            return None
        return FirstWave(n, float(np.median(first)), float(np.median(rest)))

    @property
    def first_wave_counts(self) -> bool:
        """Whether a request of the first wave is among those that the figures come from."""
        order = np.argsort(self.requests.table.due_at_ns, kind="stable")
        return bool(self.frame.chosen[order[: self.slots or 1]].any())

    def value(self, key: str) -> float | None:
        """A figure of this point; None where absent."""
        measure = self.measures.get(key)
        return None if measure is None else measure.value

    def named(self) -> str:
        """How a text calls the point: `c=16`, or its load."""
        return f"c={self.slots}" if self.slots else f"`{self.plan.load}`"


@dataclass(frozen=True)
class RunFacts:
    """The whole run: every request that was measured, of every point."""

    recording: Recording
    requests: Requests
    points: tuple[PointFacts, ...]

    @cached_property
    def measured(self) -> Flags:
        """Requests outside the warm-up."""
        return ~self.requests.warmup

    @cached_property
    def good(self) -> Flags:
        """Measured requests that ended well."""
        return self.measured & self.requests.ok

    def flagged(self, name: str) -> int:
        """Measured requests that carry a flag."""
        return int((self.requests.flagged(name) & self.measured).sum())

    def share(self, count: int) -> str:
        """`12 of 80 requests (15.0 %)`."""
        total = int(self.measured.sum())
        whole = counted(total, "request", "requests")
        return f"{count} of {whole} ({in_percent(count / max(total, 1))})"


def counts_of(requests: Requests, health: tuple[ClientHealth, ...]) -> Counts:
    """Issued, outcomes and kinds of errors of the measured requests; warm-up apart."""
    measured = ~requests.warmup
    outcomes = Counter(str(outcome) for outcome in requests.table.outcome[measured])
    classes: Counter[str] = Counter()
    for row in np.flatnonzero(measured & requests.failed):
        outcome, status = str(requests.table.outcome[row]), int(requests.table.http_status[row])
        by_status = outcome == Outcome.HTTP_ERROR and status != ABSENT
        classes[f"http_{status}" if by_status else outcome] += 1
    return Counts(
        issued=int(measured.sum()),
        outcomes=dict(sorted(outcomes.items())),
        warmup=int(requests.warmup.sum()),
        skipped=sum(h.skipped for h in health),
        errors_by_class=dict(sorted(classes.items())),
    )
