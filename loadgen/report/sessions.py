"""What a replay amounts to, on the screen: a block a point, 100 columns."""

from collections.abc import Iterator

from loadgen.model.plan import Plan
from loadgen.model.summary import AgentRow, DepthRow, ReplaySummary, Summary
from loadgen.report.figures import format_figure, format_number, format_usd
from loadgen.report.layout import flow, paragraph, printable

LABEL = 16
MS = 1000.0
SUBAGENTS = 3
"""Those with most requests have a line of their own; JSON has more."""
COUNTED_BY = {
    "tokenize": "the server's /tokenize",
    "tokenizer": "the given tokenizer",
    "usage": "the server's usage",
    "assumed": "assumption: a token a word",
}


def session_lines(summary: Summary, plan: Plan) -> Iterator[str]:
    """The replay of each point, then what may be compared; nothing for other runs."""
    if plan.replay is None or not summary.replays:
        return
    lanes = {point.index: point.concurrency for point in summary.points}
    for number, replay in enumerate(summary.replays):
        if number:
            yield ""
        yield from _point(replay, lanes[replay.point], plan)
    yield from _comparable(summary.replays, lanes)


def _point(replay: ReplaySummary, lanes: int | None, plan: Plan) -> Iterator[str]:
    made = [printable(plan.workload.label)] if plan.workload.label else []
    yield from _flow(
        "replay",
        *made,
        f"{lanes} lanes" if lanes != 1 else "1 lane",
        _counted(replay.requests, "request"),
        f"{_counted(replay.sessions, 'session')} of {_counted(replay.traces, 'trace')}",
        f"{replay.finished} finished, {replay.recycled} recycled",
        f"{replay.span_s:,.0f} s",
    )
    yield from _speeds(replay)
    yield from _tokens(replay, plan)
    yield from _flow(
        "in flight",
        f"{replay.fan_out_mean:.2f} on average",
        f"{replay.fan_out_most} at most",
        f"nothing for {_percent(replay.idle_frac)} of the time",
    )
    if replay.fan_out:
        yield from _flow("  over time", " ".join(f"{level:.1f}" for level in replay.fan_out))
    yield from _pace(replay)
    if replay.usd_per_session is not None:
        yield from _flow("cost", f"{format_usd(replay.usd_per_session)} a finished session")
    if replay.joules_per_session is not None:
        yield from _flow(
            "energy", f"{format_figure(replay.joules_per_session)} J a finished session"
        )
    for agent in replay.agents:
        yield from _agent(agent.name, agent)
    for agent in replay.subagents[:SUBAGENTS]:
        yield from _agent("", agent, printable(agent.name))
    for number, row in enumerate(replay.depths):
        yield from _depth("" if number else "by turn", row)


def _pace(replay: ReplaySummary) -> Iterator[str]:
    """Where the replay left the recording's pace; nothing where it kept it, or nobody told."""
    pace = replay.pace
    if pace is None:
        return
    facts = []
    if pace.system_idle_cuts:
        times = _counted(pace.system_idle_cuts, "pause")
        facts.append(f"{times} of all sessions cut by {pace.system_idle_cut_s:,.0f} s")
    if pace.session_idle_cuts:
        times = _counted(pace.session_idle_cuts, "pause")
        facts.append(f"{times} of single sessions cut by {pace.session_idle_cut_s:,.0f} s")
    if pace.late_bodies:
        facts.append(f"{_counted(pace.late_bodies, 'prompt')} not made when due")
    if facts:
        yield from _flow("pace", *facts)


def _speeds(replay: ReplaySummary) -> Iterator[str]:
    """Interactivity without and with the wait for the first token."""
    if replay.withheld:
        yield from _flow("interactivity", f"n/a: {replay.withheld}")
    else:
        speeds = [f"{p} {_figure(value)}" for p, value in replay.intvty_tps.items()]
        meant = "tok/s a user: 1 / that percentile of ITL"
        yield from _flow("interactivity", *speeds, meant)
    speeds = [f"{p} {_figure(value)}" for p, value in replay.e2e_norm_tps.items()]
    yield from _flow("  with TTFT", *speeds, "1 / that percentile of seconds a token")


def _tokens(replay: ReplaySummary, plan: Plan) -> Iterator[str]:
    """Where prompt tokens came from, rates, and how the prompts came out."""
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
        "  tok/s",
        f"{_figure(replay.total_tps)} in all",
        f"{_figure(replay.computed_tps)} computed",
        f"{_figure(replay.output_tps)} generated",
        *_per_gpu(replay, plan),
    )
    yield from _flow(
        "prefix hit",
        f"{_percent(replay.hit_measured)} measured",
        f"{_percent(replay.hit_designed)} designed",
    )
    if replay.drift_frac is not None:
        more = "longer" if replay.drift_frac >= 0 else "shorter"
        yield from _flow(
            "prompts",
            f"{_percent(abs(replay.drift_frac))} {more} than designed",
            f"lengths by {COUNTED_BY[plan.token_fit.source]}",
        )


def _per_gpu(replay: ReplaySummary, plan: Plan) -> list[str]:
    gpus = plan.prices.get("gpus")
    if gpus is None or replay.total_tps is None:
        return []
    return [f"{_figure(replay.total_tps / gpus)} in all a GPU of {gpus:g}"]


def _agent(label: str, agent: AgentRow, *name: str) -> Iterator[str]:
    yield from _flow(
        label,
        *name,
        *([] if agent.streams is None or name else [format_number(agent.streams)]),
        _counted(agent.requests, "request"),
        f"TTFT p50 {_ms(agent.ttft_p50_s)}",
        f"interactivity p90 {_figure(agent.intvty_p90_tps)}",
        f"{_figure(agent.input_tok)} tokens in, {_figure(agent.output_tok)} out",
    )


def _depth(label: str, row: DepthRow) -> Iterator[str]:
    turns = f"{row.first}" if row.last == row.first else f"{row.first}-{row.last or ''}"
    yield from _flow(
        label,
        f"turn {turns}",
        _counted(row.requests, "request"),
        f"TTFT p50 {_ms(row.ttft_p50_s)}, p90 {_ms(row.ttft_p90_s)}",
        f"prompt p50 {_figure(row.input_p50_tok)}",
    )


def _comparable(replays: tuple[ReplaySummary, ...], lanes: dict[int, int | None]) -> Iterator[str]:
    """Whether they may stand beside published points: reasons of all, then of single points."""
    shared = [r for r in replays[0].not_comparable if all(r in o.not_comparable for o in replays)]
    reasons = shared + [
        f"c={lanes[replay.point]}: {reason}"
        for replay in replays
        for reason in replay.not_comparable
        if reason not in shared
    ]
    if not reasons:
        yield from _flow("comparable", "yes, with published AgentX points of this corpus")
    for number, reason in enumerate(reasons):
        label, start = ("", "") if number else ("comparable", "no, because ")
        yield from paragraph(start + reason, f"  {label}".ljust(LABEL), " " * LABEL)


def _flow(label: str, *facts: str) -> list[str]:
    return flow(facts, f"  {label}".ljust(LABEL), " " * LABEL)


def _counted(n: int, word: str) -> str:
    return f"{format_number(n)} {word}{'' if n == 1 else 's'}"


def _figure(value: float | None) -> str:
    return format_figure(value, 2)


def _ms(value: float | None) -> str:
    return "n/a" if value is None else f"{format_figure(value * MS, 2)} ms"


def _percent(value: float | None) -> str:
    return "n/a" if value is None else f"{value * 100:.1f} %"
