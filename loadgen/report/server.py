"""The server's own metrics beside ours: a row a point, and each cross-check with both numbers."""

from collections import Counter
from collections.abc import Iterator

from loadgen.model.summary import Summary
from loadgen.model.telemetry import ServerView
from loadgen.report.figures import format_figure, format_percent
from loadgen.report.layout import flow
from loadgen.report.rows import point_at, point_label

VERDICTS = ("ok", "warn", "fail", "unknown")
HEADS = (
    ("load", 11), ("running", 8), ("waiting", 8), ("KV", 7), ("cached", 7), ("preempt", 8),
    ("TTFT ms", 8), ("queue ms", 9), ("prefill ms", 11), ("decode ms", 10),
)  # fmt: skip
INDENT = "  "
LOAD = 10
"""Letters of a load's name that have room."""
CHECK_HEADS = ("check", "load", "verdict", "what both say", "allowed")


def server_lines(summary: Summary) -> Iterator[str]:
    """What the server told of each point, means; nothing where it told nothing."""
    if not summary.server:
        return
    origins = sorted({origin for view in summary.server for origin in view.origins})
    facts = ["by its own metrics", *origins, _tally(summary)]
    yield from flow(facts, first="  server        ", then=" " * 16)
    yield INDENT + "".join(f"{head:>{width}}" for head, width in HEADS) + "  limited by"
    for view in summary.server:
        cells = zip(_cells(summary, view), HEADS, strict=True)
        line = "".join(f"{cell:>{width}}" for cell, (_, width) in cells)
        yield f"{INDENT}{line}  {', '.join(view.bound)}".rstrip()


def check_rows(summary: Summary) -> list[tuple[str, ...]]:
    """A row a cross-check, as `CHECK_HEADS` names its cells."""
    return [
        (one.check, _load(summary, one.point), one.verdict, one.text, one.tolerance)
        for one in summary.cross_checks
    ]


def _tally(summary: Summary) -> str:
    """`cross-checks: 18 ok, 1 warn`."""
    counts: Counter[str] = Counter(one.verdict for one in summary.cross_checks)
    said = [f"{counts[word]} {word}" for word in VERDICTS if counts[word]]
    return f"cross-checks: {', '.join(said)}" if said else "nothing to check"


def _load(summary: Summary, index: int | None) -> str:
    point = point_at(summary, index)
    if point is None:
        return "run"
    label = point_label(point)
    return label if point.concurrency is None else f"c={label}"


def _cells(summary: Summary, view: ServerView) -> tuple[str, ...]:
    cached = None
    if view.cached_tok is not None and view.input_tok:
        cached = view.cached_tok / view.input_tok
    preempted = None if view.preemptions is None else round(view.preemptions)
    return (
        _short(_load(summary, view.point)),
        _figure(view.running_mean),
        _figure(view.waiting_mean),
        "-" if view.kv_max_frac is None else format_percent(view.kv_max_frac),
        "-" if cached is None else format_percent(cached),
        "-" if preempted is None else f"{preempted:,}",
        *map(_ms, (view.ttft_mean_s, view.queue_mean_s, view.prefill_mean_s, view.decode_mean_s)),
    )


def _short(name: str) -> str:
    return name if len(name) <= LOAD else f"{name[: LOAD - 1]}…"


def _figure(value: float | None) -> str:
    return "-" if value is None else format_figure(value, 2)


def _ms(seconds: float | None) -> str:
    return "-" if seconds is None else format_figure(seconds * 1000, 3)
