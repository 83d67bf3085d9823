"""The ladder of a sweep: what a GPU yields at each speed a user, and what that costs."""

from collections.abc import Iterator
from itertools import groupby

from loadgen.model.summary import LadderRung, Summary
from loadgen.report.figures import format_figure, format_usd
from loadgen.report.layout import paragraph

LABEL = 16


def ladder_lines(summary: Summary) -> Iterator[str]:
    """A line a target, none without a ladder; 100 columns."""
    if not summary.ladder:
        return
    yield "  ladder        tok/s/user   total tok/s per GPU   $/1M total   measured at or above"
    for reason, group in groupby(summary.ladder, key=lambda rung: rung.reason):
        rungs = list(group)
        if reason:
            best = _measured(rungs[-1])
            words = f"n/a: {reason}" + (f"; {best} is at or above" if best else "")
            targets = " to ".join(dict.fromkeys(f"{rungs[n].target_tps:g}" for n in (0, -1)))
            yield from paragraph(words, first=f"{targets:>26}   ", then=" " * 29)
        else:
            yield from map(_rung, rungs)
    user = "p90 interactivity" if summary.replays else "p50 speed a user"
    yield from paragraph(
        f"read off a monotone cubic through the frontier of {user}, never outside what"
        " was measured; total tokens are prompt and output, cached prompts too",
        first=" " * LABEL,
    )


def _rung(rung: LadderRung) -> str:
    """One target that the frontier reaches."""
    usd = "" if rung.usd_per_1m is None else format_usd(rung.usd_per_1m)
    figure = format_figure(rung.interpolated_tps, 2)
    return f"{rung.target_tps:>26g}{figure:>22}{usd:>13}   {_measured(rung)}"


def _measured(rung: LadderRung) -> str:
    """The best point that is at least so fast; empty where none is."""
    if rung.measured_tps is None:
        return ""
    return f"{format_figure(rung.measured_tps, 2)} at {rung.measured_at}"
