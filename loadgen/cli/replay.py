"""`loadgen replay`: recorded agentic sessions in lanes, by named rules."""

import math
from dataclasses import dataclass, replace
from typing import Annotated, Any

from loadgen.cli.option import LOAD, Target, option
from loadgen.cli.options import SharedOptions
from loadgen.cli.sweep import carry_out
from loadgen.errors import UsageError

EXAMPLES = """
loadgen replay mock: --traces workloads/agentx --rules smoke -c 2
loadgen replay http://localhost:8000 --traces corpus/ -c 8
loadgen replay http://node:8000 --traces traces.jsonl.zst -c 32 --duration 20m
loadgen replay http://node:8000 --traces corpus/ -c 8 --affinity X-Session-ID
"""
BUNDLED = "agentx"

Traces = Annotated[
    str | None,
    option(
        "--traces",
        says="A trace, or a folder or JSONL of them, also .gz or .zst. Default: the six bundled "
        "ones.",
        group=LOAD,
        metavar="PATH",
    ),
]
Count = Annotated[
    int | None,
    option(
        "--concurrency", "-c", says="Lanes: sessions at once. Default: 1.", group=LOAD, metavar="N"
    ),
]


@dataclass(frozen=True, kw_only=True)
class RuleOptions:
    """The rule set, and what is changed against it."""

    rules: Annotated[
        str | None,
        option(
            "--rules",
            says="agentx: as published; mvp: its predecessor; smoke: a minute, for a first try. "
            "Default: agentx.",
            group=LOAD,
            metavar="NAME",
        ),
    ] = None
    start: Annotated[
        str | None,
        option(
            "--start",
            says="Where in the recordings first plays start, as 0.25..0.75.",
            group=LOAD,
            metavar="RANGE",
        ),
    ] = None
    time_scale: Annotated[
        float | None,
        option("--time-scale", says="Multiplies recorded delays.", group=LOAD, metavar="X"),
    ] = None
    system_idle: Annotated[
        str | None,
        option(
            "--system-idle",
            says="Longest time with nothing in flight, or none.",
            group=LOAD,
            metavar="TIME",
        ),
    ] = None
    tree_idle: Annotated[
        str | None,
        option(
            "--tree-idle", says="The same for one session, or none.", group=LOAD, metavar="TIME"
        ),
    ] = None
    warmup_turns: Annotated[
        int | None,
        option("--warmup-turns", says="One-token requests a lane first.", group=LOAD, metavar="N"),
    ] = None
    max_context: Annotated[
        int | None,
        option(
            "--max-context",
            says="Leaves traces with longer requests out.",
            group=LOAD,
            metavar="TOKENS",
        ),
    ] = None
    skip_bad: Annotated[
        bool, option("--skip-bad", says="Names bad traces and goes on without them.", group=LOAD)
    ] = False

    def changes(self) -> dict[str, Any]:
        """What was said, by the names of `ReplayRules`."""
        from loadgen.specs import parse_duration_ns

        def seconds(text: str) -> float | None:
            return None if text == "none" else parse_duration_ns(text) / 1e9

        said: dict[str, Any] = {}
        if self.start is not None:
            said["start_from_frac"], said["start_until_frac"] = _range(self.start)
        if self.system_idle is not None:
            said["system_idle_s"] = seconds(self.system_idle)
        if self.tree_idle is not None:
            said["tree_idle_s"] = seconds(self.tree_idle)
        plain = {
            "time_scale": self.time_scale,
            "warmup_turns": self.warmup_turns,
            "max_context_tok": self.max_context,
        }
        return said | {name: value for name, value in plain.items() if value is not None}


def replay(
    target: Target = None,
    traces: Traces = None,
    concurrency: Count = None,
    *,
    rules: RuleOptions,
    shared: SharedOptions,
) -> int:
    """Replay recorded agentic sessions: long shared prefixes, tool pauses, subagents.

    Each lane always plays one session with all its subagents, and takes the next at its end.
    Prints the verdict, the speed of a user's slow tail, cache hits designed and measured, and
    whether the result may be compared with published AgentX points, and why not.
    """
    from loadgen.cli.plans import Order

    if shared.prompts.workload is not None:
        raise UsageError("`--workload` and a replay's traces are one thing", "use --traces PATH")
    if shared.load.requests is not None:
        raise UsageError("a replay ends by time, not by requests", "use --duration TIME")
    if concurrency is not None and concurrency < 1:
        raise UsageError(f"`--concurrency {concurrency}`: at least 1")
    order = Order(
        "replay",
        "",
        None if concurrency is None else (f"closed:{concurrency}",),
        ("closed:1",),
        rules=rules.rules,
        rule_changes=rules.changes(),
    )
    named = _workload(traces, configured=shared.results.config is not None, rules=rules)
    return carry_out(
        order, target, replace(shared, prompts=replace(shared.prompts, workload=named))
    )


def _workload(traces: str | None, *, configured: bool, rules: RuleOptions) -> str | None:
    """The traces as a workload; None: those of `--config`."""
    from loadgen.workload.files import bundled_path

    if traces is None and configured:
        return None
    skip = ",skip_bad=true" if rules.skip_bad else ""
    return f"agentx:path='{traces or bundled_path(BUNDLED)}'{skip}"


def _range(text: str) -> tuple[float, float]:
    """`0.25..0.75`, or one share for both. Raises: UsageError."""
    low, dots, high = text.partition("..")
    try:
        shares = float(low), float(high if dots else low)
    except ValueError:
        shares = (math.nan, math.nan)
    if math.isnan(sum(shares)):
        raise UsageError(f"`--start {text}`: two shares were expected", "write it as 0.25..0.75")
    return shares
