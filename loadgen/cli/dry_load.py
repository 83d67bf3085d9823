"""How much a plan would send: sessions, all their turns, tokens, and the least time they take.

Sessions are looked at as the run would make them, up to a sample; nothing is sent.
"""

from dataclasses import dataclass
from typing import NamedTuple

from msgspec.structs import replace

from loadgen.model.plan import Plan, PointPlan, WorkloadPlan
from loadgen.model.session import Session
from loadgen.schedule import SHAPES
from loadgen.specs import parse_spec, parse_tokens
from loadgen.units import NS_PER_S, s_from_ns
from loadgen.workload import Sessions, open_workload

SAMPLE = 200
"""Sessions looked at, of all points together."""
SAMPLE_TOK = 4_000_000
"""Prompts are made to be looked at, so long ones make the sample smaller."""


@dataclass(frozen=True, slots=True)
class DryLoad:
    """All points and their warm-ups together. None: what decides it is only known in the run."""

    sessions: float | None
    turns: float
    """Requests of a session, on average."""
    prompt_tok: float | None
    output_tok: float | None
    """A session's, on average, if every answer takes its limit; None: lengths aren't known."""
    pauses_s: float
    """What a session waits between its turns, on average."""
    exact: bool
    """Whether the averages are of all sessions."""

    @property
    def requests(self) -> float | None:
        """Turns of all sessions."""
        return None if self.sessions is None else self.sessions * self.turns

    @property
    def tokens(self) -> tuple[float, float] | None:
        """Prompt and output tokens of all turns."""
        if self.sessions is None or self.prompt_tok is None or self.output_tok is None:
            return None
        return self.sessions * self.prompt_tok, self.sessions * self.output_tok


class _Size(NamedTuple):
    """One session in figures."""

    turns: int
    prompt_tok: int | None
    output_tok: int | None
    pauses_ns: int


def dry_load(plan: Plan) -> DryLoad:
    """What the plan comes to; for plain prompts of one turn without making any.

    Raises:
        InputError, UsageError: as `open_workload`.

    """
    wanted = [_sessions_of(plan, point) for point in plan.points]
    work = plan.workload
    if plan.replay is not None:
        return DryLoad(None, 1.0, None, None, 0.0, exact=False)
    if _is_fixed(work) and work.turns == "1":
        isl, osl = parse_tokens(work.isl), parse_tokens(work.osl)
        return DryLoad(_sum(wanted), 1.0, float(isl), float(osl), 0.0, exact=True)
    return _sampled(plan, wanted)


def _is_fixed(work: WorkloadPlan) -> bool:
    """Whether all sessions have equally many turns of equal lengths: no distribution is named."""
    return work.format == "synthetic" and ":" not in work.isl + work.osl + work.turns


def least_minutes(plan: Plan, load: DryLoad) -> float | None:
    """Minutes of all points by their durations, else by arrivals or pauses alone; None: unknown.

    A lower bound: the last answers, and all answers of a point that a count ends, come on top.
    """
    lengths_s = [_least_s(plan, point, load) for point in plan.points]
    total = _sum(lengths_s)
    return None if total is None else total / 60.0


def _sessions_of(plan: Plan, point: PointPlan) -> float | None:
    """Sessions of a point, warm-up included; None where only the server's speed decides."""
    if point.requests is not None:
        return float(point.requests + point.warmup_requests)
    rate_rps = _rate_rps(point)
    rate_rps = plan.max_rate_rps if rate_rps is None else rate_rps
    if rate_rps is None or point.duration_ns is None:
        return None
    return rate_rps * s_from_ns(point.duration_ns) + point.warmup_requests


def _rate_rps(point: PointPlan) -> float | None:
    """Sessions a second of a load of arrivals."""
    return getattr(parse_spec(point.load, SHAPES), "rate_rps", None)


def _least_s(plan: Plan, point: PointPlan, load: DryLoad) -> float | None:
    if point.duration_ns is not None:
        return s_from_ns(point.duration_ns)
    rate_rps, n = _rate_rps(point), point.requests
    if n is None:
        return None
    if rate_rps is not None:
        return n / rate_rps + load.pauses_s
    shape = parse_spec(point.load, SHAPES)
    pauses_s = load.pauses_s + getattr(shape, "think_ns", 0) / NS_PER_S
    return n / (getattr(shape, "slots", None) or 1) * pauses_s or None


def _sampled(plan: Plan, wanted: list[float | None]) -> DryLoad:
    """Averages over the first sessions of each point, weighed by how many the point sends."""
    workload = replace(plan.workload, history="recorded", isl_is_wire=False)
    sessions = open_workload(replace(plan, workload=workload))
    share = max(1, SAMPLE // max(1, len(wanted)))
    weights: list[float] = []
    sizes: list[_Size] = []
    ends: list[float | None] = []
    for point, n in zip(plan.points, wanted, strict=True):
        found, ended = _first(sessions, point.index, share if n is None else min(share, int(n)))
        n = float(len(found)) if ended else n
        ends.append(n)
        sizes += found
        weights += [(n or 1.0) / max(len(found), 1)] * len(found)
    every = None not in ends and all(weight == 1.0 for weight in weights)
    return DryLoad(
        _sum(ends),
        _mean([size.turns for size in sizes], weights) or 1.0,
        _mean([size.prompt_tok for size in sizes], weights),
        _mean([size.output_tok for size in sizes], weights),
        (_mean([size.pauses_ns for size in sizes], weights) or 0.0) / NS_PER_S,
        exact=every or _is_fixed(workload),
    )


def _first(sessions: Sessions, point: int, count: int) -> tuple[list[_Size], bool]:
    """Up to `count` first sessions of a point, and whether the workload ended there."""
    found: list[_Size] = []
    read_tok = 0
    for index in range(count):
        session = sessions.session(point, index)
        if session is None:
            return found, True
        found.append(_size(session))
        read_tok += found[-1].prompt_tok or 0
        if read_tok > SAMPLE_TOK:
            break
    return found, False


def _size(session: Session) -> _Size:
    """Turns, tokens and pauses; a turn's pause is the longest of its waits."""
    turns = session.turns
    prompts = [turn.input_tok for turn in turns if turn.input_tok is not None]
    answers = [turn.max_output_tok for turn in turns if turn.max_output_tok is not None]
    return _Size(
        len(turns),
        sum(prompts) if len(prompts) == len(turns) else None,
        sum(answers) if len(answers) == len(turns) else None,
        sum(max((wait.gap_ns for wait in turn.after), default=0) for turn in turns),
    )


def _sum(values: list[float | None]) -> float | None:
    """The sum; None where any is."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _mean(values: list[int] | list[int | None], weights: list[float]) -> float | None:
    """The weighted mean; None without any value, or where one isn't known."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    if min(known) == max(known):
        return float(known[0])
    return sum(v * w for v, w in zip(known, weights, strict=True)) / sum(weights)
