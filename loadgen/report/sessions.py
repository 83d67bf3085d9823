"""What a replay amounts to, on the screen: a block a point, 100 columns."""

from collections.abc import Iterator

from loadgen.model.plan import Plan
from loadgen.model.summary import ReplaySummary, Summary
from loadgen.report.figures import format_figure
from loadgen.report.layout import flow, paragraph

LABEL = 16
MS = 1000.0


def session_lines(summary: Summary, plan: Plan) -> Iterator[str]:
    """The replay of each point; nothing for other runs."""
    if plan.replay is None:
        return
    for number, replay in enumerate(summary.replays):
        if number:
            yield ""
        point = next(point for point in summary.points if point.index == replay.point)
        made = [plan.workload.label] if plan.workload.label else []
        yield from _point(replay, " · ".join([*made, f"lanes {point.concurrency}"]))
    for replay in summary.replays[:1]:
        yield from _comparable(replay)


def _point(replay: ReplaySummary, name: str) -> Iterator[str]:
    speeds = [f"{p} {_figure(v)}" for p, v in replay.intvty_tps.items()]
    yield from _flow(
        "replay",
        name,
        f"{replay.requests} requests",
        f"{replay.sessions} sessions of {replay.traces} traces, {replay.recycled} recycled",
        f"{replay.span_s:,.0f} s",
    )
    yield from _flow("interactivity", *speeds, "tok/s a user: 1 / that percentile of ITL")
    yield from _flow(
        "in flight",
        f"{replay.fan_out_mean:.2f} on average",
        f"{replay.fan_out_most} at most",
        f"{replay.idle_frac:.1%} of the time nothing",
    )
    if replay.fan_out:
        yield from _flow("  over time", " ".join(f"{level:.1f}" for level in replay.fan_out))
    computed = None
    if replay.input_tok is not None and replay.cached_tok is not None:
        computed = replay.input_tok - replay.cached_tok
    yield from _flow(
        "tokens",
        f"{_figure(replay.cached_tok)} read from cache",
        f"{_figure(computed)} computed",
        f"{_figure(replay.output_tok)} generated",
    )
    yield from _flow(
        "prefix hit",
        f"{_percent(replay.hit_measured)} measured",
        f"{_percent(replay.hit_designed)} designed",
        f"prompts {_percent(replay.drift_frac)} longer than designed",
    )
    if replay.usd_per_session is not None:
        usd = f"${replay.usd_per_session:,.4g} a finished session"
        yield from _flow("cost", usd, f"{replay.finished} finished")
    for agent in replay.agents:
        yield from _flow(
            agent.name,
            f"{agent.requests} requests",
            f"TTFT p50 {_ms(agent.ttft_p50_s)}",
            f"p90 interactivity {_figure(agent.intvty_p90_tps)} tok/s",
            f"{_figure(agent.input_tok)} tokens in, {_figure(agent.output_tok)} out",
        )
    for label, row in zip(("by turn", *[""] * len(replay.depths)), replay.depths, strict=False):
        turns = f"{row.first}" if row.last == row.first else f"{row.first}-{row.last or ''}"
        yield from _flow(
            label,
            f"turn {turns}",
            f"{row.requests} requests",
            f"TTFT p50 {_ms(row.ttft_p50_s)}, p90 {_ms(row.ttft_p90_s)}",
            f"prompt p50 {_figure(row.input_p50_tok)}",
        )


def _comparable(replay: ReplaySummary) -> Iterator[str]:
    """Whether it may stand beside published points."""
    if not replay.not_comparable:
        yield from _flow("comparable", "yes, with published AgentX points of this corpus")
        return
    for number, reason in enumerate(replay.not_comparable):
        label = "" if number else "comparable"
        yield from paragraph(
            ("" if number else "no: ") + reason, f"  {label}".ljust(LABEL), " " * LABEL
        )


def _flow(label: str, *facts: str) -> list[str]:
    return flow(facts, f"  {label}".ljust(LABEL), " " * LABEL)


def _figure(value: float | None) -> str:
    return "n/a" if value is None else format_figure(value, 2)


def _ms(value: float | None) -> str:
    return "n/a" if value is None else f"{format_figure(value * MS, 2)} ms"


def _percent(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.1%}"
