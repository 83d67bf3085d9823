"""The tables of doubts. A rule is a code and a function; its docstring is its condition.

Codes are described in docs/definitions.md#findings (a test compares).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from loadgen.analysis.disclosure import declared
from loadgen.analysis.findings import client, host, plausible, power, server
from loadgen.analysis.findings import point as answers
from loadgen.analysis.findings import replay as replay_findings
from loadgen.analysis.findings import run as run_rules
from loadgen.analysis.findings import steady as steadiness
from loadgen.analysis.findings.facts import Doubt, PointFacts, RunFacts
from loadgen.analysis.imported import imported
from loadgen.model.summary import Finding

SEVERITIES = ("fatal", "doubt", "note")


@dataclass(frozen=True, slots=True)
class PointRule:
    """A doubt about one load point."""

    code: str
    check: Callable[[PointFacts], Doubt | None]


@dataclass(frozen=True, slots=True)
class RunRule:
    """A doubt about the run."""

    code: str
    check: Callable[[RunFacts], Doubt | None]


POINT_RULES: tuple[PointRule, ...] = tuple(
    PointRule(check.__name__, check)
    for check in (
        client.accounting,
        client.lost_requests,
        client.client_bound,
        client.client_unknown,
        client.late_sends,
        host.host_contended,
        host.client_stalled,
        host.gc_pauses,
        host.cpu_throttled,
        host.retransmits,
        host.scribe_behind,
        host.near_ceiling,
        host.canary_silent,
        client.concurrency_not_reached,
        client.rate_not_reached,
        client.rate_ceiling_bit,
        client.no_plateau,
        steadiness.anomaly,
        steadiness.drifting,
        steadiness.warmup_cut,
        steadiness.in_flight_unbalanced,
        steadiness.rate_unbalanced,
        steadiness.floor_missed,
        steadiness.below_strict,
        client.phase_cut_short,
        client.first_wave_cold,
        client.warmup_failed,
        answers.errors,
        answers.truncated,
        answers.dropped,
        answers.censored,
        answers.buffered,
        answers.cached_input,
        answers.repeated_prompts,
        answers.output_short,
        answers.input_length_off,
        replay_findings.coverage_short,
        replay_findings.context_overflows,
        plausible.impossible_times,
        plausible.values_missing,
        plausible.ttft_below_rtt,
        plausible.ttft_below_floor,
        plausible.tpot_below_floor,
        plausible.above_compute_bound,
        power.energy_withheld,
        server.counter_reset,
        server.server_counts_differ,
        server.in_flight_differs,
        server.server_ttft_differs,
        server.cached_differs,
        server.acceptance_differs,
        server.kv_bound,
        server.queue_bound,
        server.prefill_bound,
        server.network_bound,
    )
)

RUN_RULES: tuple[RunRule, ...] = tuple(
    RunRule(check.__name__, check)
    for check in (
        imported,
        run_rules.no_tokens,
        run_rules.all_failed,
        run_rules.interrupted,
        run_rules.killed,
        run_rules.segments_cut,
        run_rules.usage_missing,
        run_rules.tokens_disagree,
        run_rules.silent_tokens_possible,
        run_rules.coalesced,
        run_rules.empty_outputs,
        run_rules.not_streamed,
        run_rules.user_stamps,
        run_rules.clock_stepped,
        run_rules.proxy_used,
        run_rules.insecure,
        run_rules.stale_reconnects,
        run_rules.too_few,
        server.not_sole_tenant,
        server.other_model_served,
        server.server_silent,
        declared.declared_contradicted,
        declared.declared_name_differs,
        plausible.system_too_small,
        plausible.ttft_uniform,
        steadiness.steadiness_unknown,
    )
)


NOT_OF_REPLAYS = frozenset(
    {
        "concurrency_not_reached",
        "no_plateau",
        "cached_input",
        "repeated_prompts",
        "first_wave_cold",
        "anomaly",
        "drifting",
        "warmup_cut",
        "in_flight_unbalanced",
        "rate_unbalanced",
        "below_strict",
        "steadiness_unknown",
        "input_length_off",
    }
)
"""What is no doubt where sessions think, share prefixes and come again: see `Summary.replays`."""


def findings_of(run: RunFacts) -> tuple[Finding, ...]:
    """All doubts, worst first; within a severity in the order of the tables, then by point."""
    found = [*_about_run(run), *_about_points(run)]
    if run.recording.plan.replay is not None:
        found = [finding for finding in found if finding.code not in NOT_OF_REPLAYS]
    return tuple(sorted(found, key=lambda finding: SEVERITIES.index(finding.severity)))


def _about_run(run: RunFacts) -> Iterator[Finding]:
    for rule in RUN_RULES:
        doubt = rule.check(run)
        if doubt is not None:
            yield Finding(rule.code, doubt.severity, doubt.text, doubt.hint)


def _about_points(run: RunFacts) -> Iterator[Finding]:
    for rule in POINT_RULES:
        for point in run.points:
            doubt = rule.check(point)
            if doubt is not None:
                yield Finding(rule.code, doubt.severity, doubt.text, doubt.hint, point.plan.index)
