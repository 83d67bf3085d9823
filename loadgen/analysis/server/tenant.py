"""Whether the server is ours alone, and the one that we think it is: judged over the whole run."""

from collections.abc import Iterator

from loadgen.analysis.findings.facts import PointFacts, RunFacts
from loadgen.analysis.looks import Looks
from loadgen.analysis.server.view import SERVER, span_of
from loadgen.analysis.words import sized
from loadgen.model.telemetry import CrossCheck
from loadgen.units import NS_PER_S

COUNTERS = {"output_tok": "output tokens", "input_tok": "prompt tokens", "ended_ok": "requests"}
GAUGES = ("running_requests", "waiting_requests")


def sole_tenant(run: RunFacts) -> CrossCheck | None:
    """Nothing moves on the server while we send nothing: before the first point, and between."""
    spans = [span for point in run.points if (span := span_of(point.frame)) is not None]
    if not spans or not run.points:
        return None
    looks = run.points[0].frame.known.looks
    first_ns = min(span.start_at_ns for span in spans)
    quiet_ns = _quiet_ns(looks, first_ns)
    if quiet_ns is None:
        return None
    moved = [*_moved(looks, first_ns), *_busy(looks, run.points)]
    where = f"in {quiet_ns / NS_PER_S:.1f} s before the first request and at each point's start"
    if moved:
        return CrossCheck("sole_tenant", "fail", f"while we sent nothing: {'; '.join(moved)}")
    return CrossCheck("sole_tenant", "ok", f"the server stood still {where}")


def served_model(run: RunFacts) -> CrossCheck | None:
    """The server's metrics speak of the model that we ask for."""
    if not run.points:
        return None
    looks = run.points[0].frame.known.looks
    names = sorted({key.part for key, _ in looks.of(SERVER, "model")})
    asked, listed = run.recording.plan.target.model, run.recording.observed.models
    if not names or not asked:
        return None
    beside = asked in listed and any(name in listed for name in names)
    told = ", ".join(f"`{name}`" for name in names)
    if asked in names or beside:
        return CrossCheck("model", "ok", f"model asked: `{asked}`, in the server's metrics: {told}")
    text = f"model asked: `{asked}`, but the server's metrics speak of {told}"
    return CrossCheck("model", "fail", text)


def _quiet_ns(looks: Looks, first_ns: int) -> int | None:
    """How long the server was looked at before the first request; None under two looks."""
    before = [
        series.at_ns[series.at_ns <= first_ns]
        for name in COUNTERS
        for _, series in looks.of(SERVER, name)
    ]
    spans = [int(at[-1] - at[0]) for at in before if len(at) >= 2]
    return max(spans, default=None)


def _moved(looks: Looks, first_ns: int) -> Iterator[str]:
    """What counters took in before the first request."""
    for name, words in COUNTERS.items():
        more = 0.0
        for _, series in looks.of(SERVER, name):
            early = series.value[series.at_ns <= first_ns]
            more += max(float(early[-1] - early[0]), 0.0) if len(early) else 0.0
        if more:
            yield f"{sized(more, 1)} more {words}"


def _busy(looks: Looks, points: tuple[PointFacts, ...]) -> Iterator[str]:
    """Requests in flight at the start of a point before which all of ours had ended."""
    clean = True
    for point in points:
        span = span_of(point.frame)
        if span is None:
            continue
        found = [
            series.last_until(span.start_at_ns)
            for name in GAUGES
            for _, series in looks.of(SERVER, name)
        ]
        count = sum(value for value in found if value)
        if clean and count:
            yield f"{count:.0f} in flight before {point.named()}"
        clean = bool(point.requests.ok.all())
