"""The recording round the rows: a plan that says what the file says, and nothing more."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from loadgen.errors import InputError
from loadgen.foreign.rows import Row, table_of
from loadgen.model.imported import Imported
from loadgen.model.observed import Observed
from loadgen.model.plan import Plan, PointPlan, TargetPlan, WorkloadPlan
from loadgen.model.provenance import Provenance
from loadgen.model.table import Recording
from loadgen.units import NS_PER_S

NOT_TOLD = "not told"

NS_PER_DAY = 86_400 * NS_PER_S
LONGEST_RUN_NS = 30 * NS_PER_DAY

UNSEEN = ("ttfb_s", "connect_s", "tls_s", "input_asked_tok", "output_asked_tok")
"""Metrics that no other tool's file gives."""


@dataclass(frozen=True, slots=True)
class Source:
    """What a file says of the run as a whole."""

    model: str = ""
    url: str = ""
    isl: str = NOT_TOLD
    osl: str = NOT_TOLD
    started_wall_ns: int = 0
    ended_wall_ns: int = 0
    command_line: str = ""
    platform: str = ""
    stream: bool = True
    endpoint_type: str = "chat"


def recording_of(
    path: Path, source: Source, loads: Sequence[str], rows: Sequence[Row], imported: Imported
) -> Recording:
    """The run as far as the file tells; `loads` are the points' shapes in order.

    Raises:
        InputError: the requests lie further apart than any run lasts; names file and span.

    """
    _refuse_ages(path, rows)
    points = tuple(
        PointPlan(index, load, requests=_issued(rows, index)) for index, load in enumerate(loads)
    )
    completions = source.endpoint_type == "completions"
    plan = Plan(
        run_id=path.stem,
        target=TargetPlan(
            base_url=source.url,
            model=source.model,
            endpoint_type="completions" if completions else "chat",
            stream=source.stream,
        ),
        workload=WorkloadPlan(
            name=f"from {imported.tool}'s file", format="imported", isl=source.isl, osl=source.osl
        ),
        points=points,
        command="run" if len(points) == 1 else "sweep",
        preflight=False,
        canary=False,
        error_limit_frac=1.0,
    )
    return Recording(
        path=str(path),
        plan=plan,
        table=table_of(rows),
        observed=Observed(),
        provenance=Provenance(command_line=source.command_line, platform=source.platform),
        started_wall_ns=source.started_wall_ns,
        ended_wall_ns=source.ended_wall_ns,
        imported=imported,
    )


def _refuse_ages(path: Path, rows: Sequence[Row]) -> None:
    """A damaged instant makes a run of years, which would be cut into a bin a second."""
    told = [
        at_ns
        for row in rows
        for at_ns in (row.sent_at_ns, row.due_at_ns, row.done_at_ns, *(at for at, _ in row.events))
        if at_ns is not None
    ]
    span_ns = max(told, default=0) - min(told, default=0)
    if span_ns > LONGEST_RUN_NS:
        raise InputError(
            f"`{path}`: requests within {LONGEST_RUN_NS / NS_PER_DAY:.0f} days of each other were "
            f"expected; they span {span_ns / NS_PER_DAY:,.0f}",
            "the file's clock jumped, or one of its instants is in another unit",
        )


def untold(tool: str, *names: str) -> dict[str, str]:
    """The reason for each of these metrics and for those that no file gives."""
    return dict.fromkeys((*UNSEEN, *names), f"{tool}'s file doesn't tell")


def _issued(rows: Sequence[Row], point: int) -> int:
    return sum(row.point == point and row.phase != "warmup" for row in rows)
