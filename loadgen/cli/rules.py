"""The rule sets of a replay by name, what was changed against them, and plans that go by them."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import asdict, replace

from loadgen.errors import UsageError
from loadgen.model.plan import Plan, ReplayRules
from loadgen.units import NS_PER_S
from loadgen.workload import FORMATS
from loadgen.workload.corpus import signature
from loadgen.workload.traces import first_label

AFFINITY = "X-Correlation-ID"
GRACE_NS = 1800 * NS_PER_S
"""As long as the warm-up's: answers to long prompts take minutes on a loaded server."""
LONG_READ_BYTES = 200_000_000
"""Traces of this size take seconds to read."""

RULES: dict[str, ReplayRules] = {
    "agentx": ReplayRules(),
    "mvp": ReplayRules(
        name="mvp",
        duration_s=1800.0,
        start_from_frac=0.0,
        start_until_frac=1.0,
        tree_idle_s=None,
        warmup_turns=0,
        error_limit_frac=None,
        coverage_frac=None,
    ),
    "smoke": ReplayRules(
        name="smoke",
        duration_s=60.0,
        duration_floor_s=0.0,
        start_from_frac=0.0,
        start_until_frac=0.0,
        time_scale=0.01,
        warmup_turns=1,
        coverage_frac=None,
    ),
}
"""`agentx` is what published points were made by, `mvp` its predecessor, `smoke` a first try."""


def as_replay(plan: Plan, command: str, name: str | None, changed: Mapping[str, Any]) -> Plan:
    """Recorded sessions in lanes under rules; any other plan as it is.

    Raises: UsageError where the one was asked for and the other found.
    """
    made = FORMATS.get(plan.workload.format)
    if made is None or not made.on_demand:
        if name is not None:
            raise UsageError(
                f"`--rules {name}`: these are rules for recorded sessions",
                "name some: --workload agentx:PATH",
            )
        return replace(plan, replay=None)
    if command == "run":
        raise UsageError(
            "recorded sessions are replayed, not sent as a load",
            "use `loadgen replay`, or `loadgen sweep --workload` for several concurrencies",
        )
    rules = rules_of(name, changed, plan.replay)
    if any(point.slots is None for point in plan.points):
        raise UsageError("recorded sessions need lanes", "use -c N")
    all_have = {
        "duration_ns": round(rules.duration_s * NS_PER_S),
        "requests": None,
        "warmup_requests": 0,
        "grace_ns": GRACE_NS,
    }
    return replace(
        plan,
        replay=rules,
        points=tuple(replace(point, **all_have) for point in plan.points),
        target=replace(plan.target, affinity=plan.target.affinity or (AFFINITY,)),
        workload=replace(plan.workload, label=first_label(Path(plan.workload.path))),
    )


def rules_of(
    name: str | None, changed: Mapping[str, Any], before: ReplayRules | None = None
) -> ReplayRules:
    """The named rules, else those of an earlier plan, else the published ones, with the changes.

    Whatever differs from the rules of that name stands in `deviations`. Raises: UsageError for a
    name that is none, or values that make no replay.
    """
    if name is not None and name not in RULES:
        raise UsageError(f"`--rules {name}`: {', '.join(RULES)} are known")
    start = before or RULES["agentx"] if name is None else RULES[name]
    rules = replace(start, **changed)
    base, used = asdict(RULES[rules.name]), asdict(replace(rules, deviations=()))
    deviations = tuple(
        f"{key}: {_shown(base[key])} -> {_shown(used[key])}"
        for key in base
        if base[key] != used[key]
    )
    rules = replace(rules, deviations=deviations)
    if rules.duration_s <= 0:
        raise UsageError("a replay longer than nothing was expected", "give --duration 10m")
    if not 0 <= rules.start_from_frac <= rules.start_until_frac <= 1:
        raise UsageError(
            f"`--start {rules.start_from_frac:g}..{rules.start_until_frac:g}`: two shares of the"
            " recording, the lower one first",
            "write it as 0.25..0.75",
        )
    if not 0 < rules.time_scale < math.inf:
        raise UsageError(f"`--time-scale {rules.time_scale:g}`: above 0")
    if rules.warmup_turns < 0:
        raise UsageError(f"`--warmup-turns {rules.warmup_turns}`: at least 0")
    if rules.max_context_tok is not None and rules.max_context_tok < 1:
        raise UsageError(f"`--max-context {rules.max_context_tok}`: at least 1")
    return rules


def _shown(value: Any) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def reading_notice(plan: Plan) -> str | None:
    """What to say before traces are read that take long to read; None for others."""
    if plan.replay is None:
        return None
    size_bytes = sum(file_bytes for _, file_bytes, _ in signature(Path(plan.workload.path)))
    if size_bytes < LONG_READ_BYTES:
        return None
    return f"reading {size_bytes / 1e9:.1f} GB of traces; the load begins once they are read"
