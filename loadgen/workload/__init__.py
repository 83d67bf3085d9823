"""Files and seeds to sessions. Reads no clock, opens no socket."""

from collections.abc import Callable

from loadgen.errors import InputError
from loadgen.model.plan import Plan, WorkloadPlan
from loadgen.workload.chat import Chat
from loadgen.workload.files import (
    bundled_workloads,
    find_workload,
    load_workload,
    read_workload,
    workload_sha256,
)
from loadgen.workload.sessions import Overlong, Sessions, WorkloadContext, context_of
from loadgen.workload.sharegpt import ShareGpt
from loadgen.workload.synthetic import Synthetic

__all__ = [
    "FORMATS",
    "Overlong",
    "Sessions",
    "WorkloadContext",
    "bundled_workloads",
    "context_of",
    "find_workload",
    "load_workload",
    "open_workload",
    "read_workload",
    "repeat_notice",
    "workload_sha256",
]

FORMATS: dict[str, Callable[[WorkloadPlan, WorkloadContext], Sessions]] = {
    "synthetic": Synthetic,
    "chat": Chat,
    "sharegpt": ShareGpt,
}


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
    return made(plan.workload, context_of(plan))


def repeat_notice(sessions: Sessions, wanted: int, *, once: bool) -> str | None:
    """What to tell the user where a data set has fewer rows than the sessions wanted of it."""
    rows = sessions.n_rows
    if rows is None or wanted <= rows:
        return None
    if once:
        return f"{rows} rows for {wanted} sessions: each point ends after one pass (`--once`)"
    return f"{rows} rows for {wanted} sessions: rows repeat, {wanted - rows} of {wanted} times"
