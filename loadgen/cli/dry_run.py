"""What a plan would do, before a rented hour begins: requests, tokens, minutes, dollars."""

from collections.abc import Iterator

from loadgen.cli.dry_cost import cost_lines
from loadgen.model.plan import Plan, PointPlan
from loadgen.schedule import SHAPES
from loadgen.specs import parse_spec
from loadgen.units import s_from_ns

SECONDS_PER_MINUTE = 60.0


def dry_run_lines(plan: Plan, target: str) -> Iterator[str]:
    """Lines of a screen, each with its newline. Nothing is sent, not even a probe."""
    yield f"would send to {target} · {plan.target.model or 'its first model'}\n"
    yield f"{_prompts(plan)}\n\n"
    for point in plan.points:
        yield f"  {point.load:<24}{_extent(point)}\n"
    yield "\n"
    yield f"  workers   {plan.workers}\n"
    yield f"  requests  {_requests(plan)}\n"
    yield f"  tokens    {_tokens(plan)}\n"
    minutes = _minutes(plan)
    before = "" if plan.replay is None else ", after a warm-up that the server's speed decides"
    yield f"  minutes   {_minutes_text(minutes)}{before}\n"
    for number, line in enumerate(cost_lines(plan, minutes, _token_counts(plan))):
        yield f"  {'' if number else 'cost':<10}{line}\n"


def _prompts(plan: Plan) -> str:
    """Which prompts, in a line; for a replay also by which rules."""
    workload, rules = plan.workload, plan.replay
    if rules is not None:
        changed = "; ".join(rules.deviations) or "unchanged"
        return f"{workload.format} {workload.path} · rules {rules.name}, {changed}"
    turns = "" if workload.turns == "1" else f" · {workload.turns} turns a session"
    return f"{workload.name}: isl {workload.isl} · osl {workload.osl}{turns} · seed {plan.seed}"


def _extent(point: PointPlan) -> str:
    """How long a point lasts, and what comes before it."""
    parts = []
    if point.requests is not None:
        parts.append(f"{point.requests:,} requests")
    if point.duration_ns is not None:
        parts.append(f"{s_from_ns(point.duration_ns):g} s")
    warmup = f", after {point.warmup_requests:,} for warm-up" if point.warmup_requests else ""
    return (" or ".join(parts) or "until it is stopped") + warmup


def _wanted(plan: Plan, point: PointPlan) -> float | None:
    """Requests of a point, warm-up included; None where only the server's speed decides."""
    if point.requests is not None:
        return point.requests + point.warmup_requests
    rate_rps = getattr(parse_spec(point.load, SHAPES), "rate_rps", None) or plan.max_rate_rps
    if rate_rps is None or point.duration_ns is None:
        return None
    return float(rate_rps) * s_from_ns(point.duration_ns) + point.warmup_requests


def _requests(plan: Plan) -> str:
    """All requests, or what decides their number."""
    wanted = [_wanted(plan, point) for point in plan.points]
    known = [count for count in wanted if count is not None]
    if len(known) == len(wanted):
        turns = "" if plan.workload.turns == "1" else " (each turn is one)"
        return f"{sum(known):,.0f}{turns}"
    if plan.replay is not None:
        return "as recorded, at the pace of the server's answers"
    return "as many as the server answers in that time (--requests N sets a number)"


def _tokens(plan: Plan) -> str:
    """Input and output tokens, where lengths and requests are plain numbers."""
    wanted = [_wanted(plan, point) for point in plan.points]
    known = [count for count in wanted if count is not None]
    if plan.replay is not None:
        return "as recorded"
    isl, osl = plan.workload.isl, plan.workload.osl
    if not (isl.isdigit() and osl.isdigit()):
        return f"isl {isl}, osl {osl} a request"
    if plan.workload.turns != "1":
        return f"isl {isl}, osl {osl} a turn, and each turn quotes those before it"
    if len(known) < len(wanted):
        return f"{int(isl):,} in + {int(osl):,} out a request"
    return f"{sum(known) * int(isl):,.0f} in + {sum(known) * int(osl):,.0f} out at most"


def _minutes(plan: Plan) -> float | None:
    """Time of all points, without the end of their last answers; None where nothing limits it."""
    lengths = [point.duration_ns for point in plan.points]
    known = [length for length in lengths if length is not None]
    if len(known) < len(lengths):
        return None
    return s_from_ns(sum(known)) / SECONDS_PER_MINUTE


def _minutes_text(minutes: float | None) -> str:
    """The time in words."""
    if minutes is None:
        return "as long as the requests take (--duration TIME sets a limit)"
    return f"{minutes:.1f}, and the last answers of each point"


def _token_counts(plan: Plan) -> tuple[float, float] | None:
    """Prompt and output tokens of all requests, where both are plain numbers."""
    wanted = [_wanted(plan, point) for point in plan.points]
    known = [count for count in wanted if count is not None]
    isl, osl = plan.workload.isl, plan.workload.osl
    plain = isl.isdigit() and osl.isdigit() and plan.workload.turns == "1"
    if not plain or plan.replay is not None or len(known) < len(wanted):
        return None
    return sum(known) * int(isl), sum(known) * int(osl)
