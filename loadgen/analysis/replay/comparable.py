"""Why a replayed point can't stand beside published AgentX points. Source: docs/howto-agentx.md."""

from collections.abc import Iterator

import numpy as np

from loadgen.analysis.findings.facts import PointFacts
from loadgen.analysis.requests import Requests
from loadgen.model.exchange import CONTEXT_TOO_LONG, Outcome
from loadgen.model.plan import Plan, ReplayRules
from loadgen.model.table import ABSENT, Flags
from loadgen.units import NS_PER_S

PUBLISHED = ReplayRules()
"""The rules of published points, also where the run's own rule set asks for less."""


def not_comparable(facts: PointFacts) -> Iterator[str]:
    """Every reason: first what holds for all points of the run, then what happened at this one."""
    plan = facts.recording.plan
    if plan.replay is None:
        return
    yield from _rules_reasons(plan.replay)
    yield from _corpus_reasons(plan)
    if len(plan.points) > 1 and not plan.between_points:
        yield "several points on one server; published ones restart it between (`--between-points`)"
    if facts.recording.state != "complete":
        yield f"the run was {facts.recording.state}"
    yield from _outcome_reasons(facts.requests, plan.replay)


def _rules_reasons(rules: ReplayRules) -> Iterator[str]:
    if rules.name != "agentx":
        yield f"the rules are `{rules.name}`, not `agentx`"
    yield from (f"changed: {told}" for told in rules.deviations)
    if rules.duration_s < PUBLISHED.duration_floor_s:
        floor_s = PUBLISHED.duration_floor_s
        yield f"{rules.duration_s:g} s of profiling, at least {floor_s:g} s are asked for"


def _corpus_reasons(plan: Plan) -> Iterator[str]:
    made = plan.workload.label
    yield f"the traces are {made}" if made else "the traces are no verified AgentX v1.0 corpus"
    yield "the text is filler of words that cost one token each, not of code"
    if plan.workload.history != "recorded":
        yield "later prompts quote live answers, published ones the recorded"
    if not plan.workload.ignore_eos:
        yield "answers may end before their recorded length"
    if plan.target.endpoint_type != "chat":
        yield "not the chat endpoint"
    if not plan.target.stream:
        yield "answers were not streamed"


def _outcome_reasons(requests: Requests, rules: ReplayRules) -> Iterator[str]:
    n = ended(requests)
    failed = int((requests.failed & requests.in_window_phase).sum())
    if n and rules.error_limit_frac is not None and failed > rules.error_limit_frac * n:
        yield f"{failed} of {n} requests failed, over {rules.error_limit_frac:.0%}"
    too_long = int((overflowed(requests) & requests.in_window_phase).sum())
    if too_long > rules.overflow_limit_frac * n:
        limit = f"{rules.overflow_limit_frac:.0%}"
        yield f"{too_long} of {n} prompts were over the server's context, more than {limit}"
    if coverage_missed(requests, rules):
        covered, wanted = coverage(requests, rules) or 0.0, rules.coverage_frac
        yield f"the last token came at {covered:.1%} of the duration, {wanted:.0%} is wanted"


def ended(requests: Requests) -> int:
    """Requests of the profiling that the server ended, well or not."""
    return int(((requests.ok | requests.failed) & requests.in_window_phase).sum())


def overflowed(requests: Requests) -> Flags:
    """Requests that the server refused as longer than its context, bool[n_requests]."""
    refused = requests.outcome_in((Outcome.HTTP_ERROR,))
    found = np.zeros(len(requests), dtype=bool)
    for row in np.flatnonzero(refused).tolist():
        said = str(requests.table.detail[row]).lower()
        found[row] = any(words in said for words in CONTEXT_TOO_LONG)
    return found


def coverage(requests: Requests, rules: ReplayRules) -> float | None:
    """How much of the profiling had answers: its last token's time over the planned duration."""
    measured = requests.in_window_phase
    last = requests.last_text_at_ns[measured & requests.ok]
    last = last[last != ABSENT]
    if not len(last):
        return None
    begun = int(requests.table.due_at_ns[measured].min())
    return min((int(last.max()) - begun) / NS_PER_S / rules.duration_s, 1.0)


def coverage_missed(requests: Requests, rules: ReplayRules) -> bool:
    """Whether the last token came too early; nobody asks under the least duration."""
    wanted = rules.coverage_frac
    if wanted is None or rules.duration_s < PUBLISHED.duration_floor_s:
        return False
    covered = coverage(requests, rules)
    return covered is not None and covered < wanted
