"""Files and seeds to sessions. Reads no clock, opens no socket."""

from loadgen.errors import InputError, UsageError
from loadgen.model.plan import Plan, WorkloadPlan
from loadgen.workload.agentx import Agentx, AgentxSpec
from loadgen.workload.chat import Chat, ChatSpec
from loadgen.workload.conflux import Conflux, ConfluxSpec
from loadgen.workload.files import (
    bundled_workloads,
    find_workload,
    plan_of_text,
    workload_sha256,
)
from loadgen.workload.mooncake import Mooncake, MooncakeSpec
from loadgen.workload.recorded import Recorded, RecordedSpec
from loadgen.workload.sessions import Format, Overlong, Sessions, WorkloadContext, context_of
from loadgen.workload.sharegpt import ShareGpt, ShareGptSpec
from loadgen.workload.synthetic import Synthetic, SyntheticSpec

__all__ = [
    "FORMATS",
    "Format",
    "Overlong",
    "Sessions",
    "WorkloadContext",
    "bundled_workloads",
    "context_of",
    "find_workload",
    "load_workload",
    "open_workload",
    "repeat_notice",
    "workload_sha256",
]

FORMATS: dict[str, Format] = {
    "synthetic": Format(SyntheticSpec, Synthetic, makes_text=True),
    "chat": Format(ChatSpec, Chat),
    "sharegpt": Format(ShareGptSpec, ShareGpt),
    "recorded": Format(RecordedSpec, Recorded, has_times=True),
    "agentx": Format(AgentxSpec, Agentx, on_demand=True, makes_text=True),
    "mooncake": Format(MooncakeSpec, Mooncake, makes_text=True, has_times=True),
    "conflux": Format(ConfluxSpec, Conflux),
}


def load_workload(text: str) -> WorkloadPlan:
    """What `text` names: a spec (`synthetic:isl=2k`, `chat:FILE`), a file or a bundled workload.

    Raises:
        UsageError: a wrong spec, or a name that is neither file nor bundled.
        InputError: a workload file that can't be used.

    """
    return plan_of_text(text, {name: made.options for name, made in FORMATS.items()})


def open_workload(plan: Plan) -> Sessions:
    """The plan's sessions, checked as far as files and options can be.

    Raises:
        InputError: a data file that can't be used, or an unknown format.
        UsageError: lengths or options that make no prompt.

    """
    made = FORMATS.get(plan.workload.format)
    if made is None:
        known = ", ".join(FORMATS)
        raise InputError(f"unknown workload format `{plan.workload.format}`", f"known: {known}")
    context = context_of(plan)
    if context.by_time and not made.has_times:
        timed = ", ".join(name for name, known in FORMATS.items() if known.has_times)
        raise UsageError(
            f"`{plan.workload.format}` has no recorded times that `--load trace` could keep",
            f"formats with times: {timed}; `loadgen replay` keeps those of coding sessions",
        )
    return made.open(plan.workload, context)


def repeat_notice(sessions: Sessions, wanted: int, *, once: bool) -> str | None:
    """What to tell the user where a data set has fewer rows than the sessions wanted of it."""
    rows = sessions.n_rows
    if rows is None or wanted <= rows:
        return None
    if once:
        return f"{rows} rows for {wanted} sessions: each point ends after one pass (`--once`)"
    return f"{rows} rows for {wanted} sessions: rows repeat, {wanted - rows} of {wanted} times"
