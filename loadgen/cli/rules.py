"""The rule sets of a replay by name, and what was changed against the one that was named."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import asdict, replace

from loadgen.errors import UsageError
from loadgen.model.plan import ReplayRules

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


def rules_of(name: str, changed: Mapping[str, Any]) -> ReplayRules:
    """The named rules with what was said over them; each change stands in `deviations`.

    Raises: UsageError for a name that is none, or values that make no replay.
    """
    if name not in RULES:
        raise UsageError(f"`--rules {name}`: {', '.join(RULES)} are known")
    base = asdict(RULES[name])
    told = {key: value for key, value in changed.items() if base[key] != value}
    deviations = tuple(f"{key}: {_shown(base[key])} -> {_shown(told[key])}" for key in told)
    rules = replace(RULES[name], deviations=deviations, **told)
    if rules.duration_s <= 0:
        raise UsageError("a replay longer than nothing was expected", "give --duration 10m")
    if not 0 <= rules.start_from_frac <= rules.start_until_frac <= 1:
        raise UsageError(
            f"`--start {rules.start_from_frac:g}..{rules.start_until_frac:g}`: two shares of the"
            " recording, the lower one first",
            "write it as 0.25..0.75",
        )
    if rules.time_scale <= 0:
        raise UsageError(f"`--time-scale {rules.time_scale:g}`: above 0")
    return rules


def _shown(value: Any) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
