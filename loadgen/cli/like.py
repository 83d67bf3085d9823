"""`--like RUN`: the plan of an earlier run as it was, and whether its result came again."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from loadgen.cli.errors import say
from loadgen.cli.options import SharedOptions
from loadgen.errors import InputError, UsageError

if TYPE_CHECKING:
    from loadgen.model.plan import Plan

SAME = ("points", "seed", "deadlines", "max_rate_rps", "replay", "between_points", "workload")
SAME_TARGET = ("endpoint_type", "path", "stream", "extra_body", "affinity", "fresh_connections")
"""What decides which requests are sent when. The target itself may be another one."""


@dataclass(frozen=True)
class Earlier:
    """The run that is repeated."""

    folder: Path
    plan: "Plan"

    @property
    def target(self) -> str:
        """What was measured, as TARGET is written."""
        mock = self.plan.target.mock
        return f"mock:{mock}" if mock else self.plan.target.base_url


def load_earlier(text: str) -> Earlier:
    """The run of this folder. Raises: InputError where it is none or holds no plan."""
    from loadgen.store.folder import read_run_file

    folder = Path(text)
    plan = read_run_file(folder).plan
    if not plan.points:
        raise InputError(f"`{folder}` has no plan to repeat", "name a run that loadgen measured")
    return Earlier(folder, plan)


def configured(shared: SharedOptions, earlier: Earlier) -> SharedOptions:
    """The options with the earlier run as their `--config`. Raises: UsageError for a second one."""
    if shared.results.config is not None:
        raise UsageError("`--like` and `--config` both name a plan", "give one of them")
    path = str(earlier.folder / "run.json")
    return replace(shared, results=replace(shared.results, config=path))


def require_same(earlier: Earlier, plan: "Plan") -> None:
    """Raises: UsageError where an option changed the plan, InputError where its data did."""
    before = earlier.plan
    then, now = before.workload.sha256, plan.workload.sha256
    if then and then != now and _unhashed(before) == _unhashed(plan):
        raise InputError(
            f"`{plan.workload.path or plan.workload.name}` has changed since `{earlier.folder}`"
            f" was measured: hash {then[:12]} then, {now[:12]} now",
            "restore the data, or measure both anew",
        )
    changed = [name for name in SAME if getattr(before, name) != getattr(plan, name)]
    changed += [n for n in SAME_TARGET if getattr(before.target, n) != getattr(plan.target, n)]
    if changed:
        raise UsageError(
            f"`--like` repeats a plan as it was, and these would change: {', '.join(changed)}",
            f"to change a plan: --config {earlier.folder / 'run.json'}",
        )


def _unhashed(plan: "Plan") -> object:
    """The workload without its hash."""
    return structs.replace(plan.workload, sha256="")


def tell_repetition(earlier: Earlier, again: Path, *, to_stdout: bool) -> None:
    """Says whether the earlier result came again; on stdout after a screen, else on stderr."""
    from loadgen.analysis.comparison.noise import repetition_of
    from loadgen.cli.output import write_pieces
    from loadgen.report.compare import repetition_lines
    from loadgen.review import reviewed

    lines = repetition_lines(repetition_of(reviewed(earlier.folder), reviewed(again)))
    if to_stdout:
        write_pieces(["\n", *lines])
    else:
        say("".join(lines).rstrip())
