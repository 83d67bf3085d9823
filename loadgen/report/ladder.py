"""The ladder of a sweep: what a GPU yields at each speed a user, and what that costs."""

from collections.abc import Iterator

from loadgen.model.summary import Summary
from loadgen.report.figures import format_figure, format_usd
from loadgen.report.layout import paragraph

LABEL = 16


def ladder_lines(summary: Summary) -> Iterator[str]:
    """A line a target, none without a ladder; 100 columns."""
    if not summary.ladder:
        return
    yield "  ladder        tok/s/user   total tok/s per GPU   $/1M total   measured at or above"
    for rung in summary.ladder:
        start = f"{rung.target_tps:>26g}"
        if rung.interpolated_tps is None:
            yield from paragraph(f"n/a: {rung.reason}", first=f"{start}   ", then=" " * 29)
            continue
        usd = "" if rung.usd_per_1m is None else format_usd(rung.usd_per_1m)
        beside = ""
        if rung.measured_tps is not None:
            beside = f"{format_figure(rung.measured_tps, 2)} at {rung.measured_at}"
        yield f"{start}{format_figure(rung.interpolated_tps, 2):>22}{usd:>13}   {beside}"
    user = "p90 interactivity" if summary.replays else "p50 speed a user"
    yield from paragraph(
        f"read off a monotone cubic through the frontier of {user}, never outside what"
        " was measured; total tokens are prompt and output, cached prompts too",
        first=" " * LABEL,
    )
