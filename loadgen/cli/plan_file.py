"""What `--config` reads: a run.json, or a plan written by hand as YAML (docs/plans.md)."""

from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from loadgen.model.plan import Deadlines, Plan, PointPlan, TargetPlan, TokenFit, WorkloadPlan
from loadgen.specs import load_yaml
from loadgen.units import NS_PER_S
from loadgen.workload import load_workload

DEFAULT_DURATION_NS = 30 * NS_PER_S
DEFAULT_WORKLOAD = "chat-1k-256"


class _Target(TargetPlan, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`target`; a URL of the command line stands in for a missing one."""

    base_url: str = ""
    model: str = ""


class _Workload(WorkloadPlan, frozen=True, forbid_unknown_fields=True):
    """`workload` in full; plain numbers may stand without quotes."""

    isl: str | int = "1024"  # type: ignore[assignment]
    osl: str | int = "256"  # type: ignore[assignment]
    turns: str | int = "1"  # type: ignore[assignment]
    think: str | int = "0"  # type: ignore[assignment]


class _Point(PointPlan, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A point; its place in the list is its index."""

    index: int = 0


class _Deadlines(Deadlines, frozen=True, forbid_unknown_fields=True):
    """`deadlines`."""


class _Plan(Plan, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A plan in which only what a person can know need be said."""

    run_id: str = ""
    target: _Target = _Target()
    workload: _Workload | str = DEFAULT_WORKLOAD  # type: ignore[assignment]
    points: tuple[_Point, ...] = ()
    deadlines: _Deadlines = _Deadlines()
    token_fit: TokenFit = TokenFit()
    workers: int | UnsetType = UNSET  # type: ignore[assignment]


class _RunFile(msgspec.Struct):
    """As much of a run.json as is fed back."""

    plan: _Plan


class PlanFile(msgspec.Struct, frozen=True):
    """The plan of a file, and whether it says how many workers send."""

    plan: Plan
    says_workers: bool


def load_plan(path: Path) -> PlanFile:
    """The plan of a YAML file, or of a run.json, completed with defaults.

    Raises:
        InputError: unreadable, or a member that can't be; names file, line, member and value.

    """
    is_run = path.suffix == ".json"
    said = load_yaml(path, _RunFile).plan if is_run else load_yaml(path, _Plan)
    members: dict[str, Any] = {
        name: getattr(said, name) for name in said.__struct_fields__ if name != "workers"
    }
    members["target"] = _plain(said.target, TargetPlan)
    members["deadlines"] = _plain(said.deadlines, Deadlines)
    members["workload"] = _workload(said.workload)
    members["points"] = tuple(_point(index, point) for index, point in enumerate(said.points))
    says_workers = said.workers is not UNSET
    if says_workers:
        members["workers"] = said.workers
    return PlanFile(Plan(**members), says_workers)


def _plain(struct: Any, kind: type[Any]) -> Any:
    """The same members in the courtyard's own type."""
    return kind(**msgspec.structs.asdict(struct))


def _workload(said: Any) -> WorkloadPlan:
    """The named workload, or the one written out; numbers become the texts that specs are."""
    if isinstance(said, str):
        return load_workload(said)
    members = msgspec.structs.asdict(said)
    texts = {name: str(members[name]) for name in ("isl", "osl", "turns", "think")}
    return WorkloadPlan(**(members | texts))


def _point(index: int, said: _Point) -> PointPlan:
    """The point at its place; 30 s where neither a time nor a number of requests was said."""
    point: PointPlan = replace(_plain(said, PointPlan), index=index)
    if point.duration_ns is None and point.requests is None:
        return replace(point, duration_ns=DEFAULT_DURATION_NS)
    return point
