"""How sure percentiles are: what withheld ones still need, and bounds that are certified."""

from collections.abc import Iterable

from loadgen.model.summary import Measure, PointSummary, Summary
from loadgen.report.figures import (
    format_duration,
    format_figure,
    format_number,
    requests_needed,
)
from loadgen.report.rows import point_label

BOUNDED = (("ttft_s", "TTFT"), ("tpot_s", "TPOT"), ("e2e_s", "E2E"))
MS = 1000.0


def is_short(measure: Measure) -> bool:
    """Whether a percentile is withheld since its requests are too few, or too alike."""
    if measure.value is not None or not measure.n:
        return False
    needed = requests_needed(measure.stat)
    return measure.needs_more is not None or (needed is not None and measure.n < needed)


def still_needed(missing: Iterable[tuple[PointSummary, Measure]], several: bool) -> list[str]:
    """`n/a: a p99 needs 267 more requests (c=1, about 8 min); --requests 299`; none without any.

    One clause a percentile, of the point that lacks most; it is named where there are `several`.
    """
    worst: dict[str, tuple[PointSummary, Measure]] = {}
    for point, measure in missing:
        if is_short(measure):
            known = worst.get(measure.stat)
            if known is None or _lacks(measure) > _lacks(known[1]):
                worst[measure.stat] = (point, measure)
    if not worst:
        return []
    rising = sorted(worst.values(), key=lambda found: float(found[1].stat[1:]))
    verbs = ["needs {} more requests", *["{}"] * (len(rising) - 1)]
    clauses = [
        f"a {measure.stat} {verb.format(format_number(_lacks(measure)))}"
        f"{_beside(point, measure, several)}"
        for verb, (point, measure) in zip(verbs, rising, strict=True)
    ]
    most = max(point.counts.issued + _lacks(measure) for point, measure in rising)
    return [f"n/a: {', '.join(clauses)}; --requests {most}"]


def _beside(point: PointSummary, measure: Measure, several: bool) -> str:
    """` (c=1, about 8 min)`."""
    facts = [_where(point)] if several else []
    if measure.needs_more_s:
        facts.append(f"about {format_duration(measure.needs_more_s)}")
    if measure.n >= (requests_needed(measure.stat) or 0):
        facts.append("neighbours are alike")
    return f" ({', '.join(facts)})" if facts else ""


def _lacks(measure: Measure) -> int:
    """Requests that the percentile still needs; by its least n where nothing better is known."""
    if measure.needs_more is not None:
        return measure.needs_more
    return max(0, (requests_needed(measure.stat) or 0) - measure.n)


def certified_line(summary: Summary) -> str:
    """`TTFT p99 at most 470 ms, ... at c=32`; empty without any.

    The highest percentile of each time that has a bound, at the point with the most throughput,
    else at the last one that has any. A replay has definitions of its own, and none here.
    """
    replayed = {replay.point for replay in summary.replays}
    points = [point for point in summary.points if point.index not in replayed]
    points.sort(key=lambda point: point.index == summary.headline.best_aggregate)
    for point in reversed(points):
        bounds = [said for name, words in BOUNDED if (said := _bound(point, name, words))]
        if bounds:
            at = f" at {_where(point)}" if len(summary.points) > 1 else ""
            return f"{', '.join(bounds)}{at}"
    return ""


def _bound(point: PointSummary, name: str, words: str) -> str:
    """`TTFT p99 at most 470 ms`; empty where no percentile of it has a bound."""
    held = [
        measure
        for measure in point.measures.values()
        if measure.name == name and measure.certified is not None and measure.stat.startswith("p")
    ]
    if not held:
        return ""
    top = max(held, key=lambda measure: float(measure.stat[1:]))
    seconds = top.certified or 0.0
    figure = f"{format_figure(seconds)} s" if seconds >= 1 else f"{format_figure(seconds * MS)} ms"
    return f"{words} {top.stat} at most {figure}"


def _where(point: PointSummary) -> str:
    """`c=32`, or the load as it was written."""
    label = point_label(point)
    return label if point.concurrency is None else f"c={label}"
