"""What a plan would do, before a rented hour begins: requests, tokens, minutes, dollars."""

from collections.abc import Iterator

from loadgen.cli.dry_cost import cost_lines
from loadgen.cli.dry_load import DryLoad, dry_load, least_minutes
from loadgen.model.plan import Plan, PointPlan
from loadgen.units import s_from_ns


def dry_run_lines(plan: Plan, target: str) -> Iterator[str]:
    """Lines of a screen, each with its newline. Nothing is sent, not even a probe."""
    yield f"would send to {target} · {plan.target.model or 'its first model'}\n"
    yield f"{_prompts(plan)}\n\n"
    load = dry_load(plan)
    unit = "requests" if load.turns == 1.0 else "sessions"
    for point in plan.points:
        yield f"  {point.load:<24}{_extent(point, unit)}\n"
    yield "\n"
    yield f"  workers   {plan.workers}\n"
    yield f"  requests  {_requests(plan, load)}\n"
    yield f"  tokens    {_tokens(plan, load)}\n"
    minutes = least_minutes(plan, load)
    before = "" if plan.replay is None else ", after a warm-up that the server's speed decides"
    yield f"  minutes   {_minutes_text(plan, minutes)}{before}\n"
    for number, line in enumerate(cost_lines(plan, minutes, load.tokens)):
        yield f"  {'' if number else 'cost':<10}{line}\n"


def _prompts(plan: Plan) -> str:
    """Which prompts, in a line; for a replay also by which rules."""
    workload, rules = plan.workload, plan.replay
    if rules is not None:
        changed = "; ".join(rules.deviations) or "unchanged"
        return f"{workload.format} {workload.path} · rules {rules.name}, {changed}"
    turns = "" if workload.turns == "1" else f" · {workload.turns} turns a session"
    return f"{workload.name}: isl {workload.isl} · osl {workload.osl}{turns} · seed {plan.seed}"


def _extent(point: PointPlan, unit: str) -> str:
    """How long a point lasts, and what comes before it."""
    parts = []
    if point.requests is not None:
        parts.append(f"{point.requests:,} {unit}")
    if point.duration_ns is not None:
        parts.append(f"{s_from_ns(point.duration_ns):g} s")
    warmup = f", after {point.warmup_requests:,} for warm-up" if point.warmup_requests else ""
    return (" or ".join(parts) or "until it is stopped") + warmup


def _requests(plan: Plan, load: DryLoad) -> str:
    """All requests, or what decides their number."""
    if load.requests is None:
        if plan.replay is not None:
            return "as recorded, at the pace of the server's answers"
        return "as many as the server answers in that time (--requests N sets a number)"
    if load.turns == 1.0:
        return f"{load.requests:,.0f}"
    of = f"{load.sessions:,.0f} sessions x {load.turns:.3g} turns"
    return f"{_about(load)}{load.requests:,.0f} ({of}{'' if load.exact else ' on average'})"


def _tokens(plan: Plan, load: DryLoad) -> str:
    """Input and output tokens, each turn's prompt with the turns that it quotes."""
    if plan.replay is not None:
        return "as recorded"
    if load.tokens is not None:
        prompt, output = load.tokens
        quoting = "" if load.turns == 1.0 else " (each turn quotes those before it)"
        return f"{_about(load)}{prompt:,.0f} in + {output:,.0f} out at most{quoting}"
    if load.prompt_tok is None or load.output_tok is None:
        return f"isl {plan.workload.isl}, osl {plan.workload.osl} a turn"
    unit = "request" if load.turns == 1.0 else f"session of {load.turns:.3g} turns"
    return f"{_about(load)}{load.prompt_tok:,.0f} in + {load.output_tok:,.0f} out a {unit}"


def _about(load: DryLoad) -> str:
    """What stands before a figure that rests on a sample."""
    return "" if load.exact else "about "


def _minutes_text(plan: Plan, minutes: float | None) -> str:
    """The time in words."""
    if minutes is None:
        return "as long as the requests take (--duration TIME sets a limit)"
    if any(point.duration_ns is None for point in plan.points):
        return f"{minutes:.1f} at least (arrivals and pauses alone), and the answers"
    return f"{minutes:.1f}, and the last answers of each point"
