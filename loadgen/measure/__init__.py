"""The measuring wing assembled: a plan goes in, a run folder comes out.

Workers and scribes are modules of this room, so what only the parent needs is loaded inside: it
would cost each of them 0.1 s before the first request.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from loadgen.errors import LoadgenError
from loadgen.measure.status import Status
from loadgen.model.observed import Observed
from loadgen.model.plan import Plan

__all__ = ["Status", "measure"]


def measure(
    plan: Plan,
    out: Path,
    secrets: Mapping[str, str],
    observed: Observed,
    watch: Callable[[Status], None],
) -> Path:
    """Runs the plan and returns its folder; `secrets` are header values by name, never stored.

    Ctrl-C drains and still returns: the recording's state then is `interrupted`.
    Raises `LoadgenError` where the run can't start or a worker died.
    """
    import asyncio

    from loadgen.measure.conductor import Conductor
    from loadgen.store.folder import create_run_folder, name_hint
    from loadgen.store.requests import finish
    from loadgen.store.samples import finish_samples
    from loadgen.transport.wire.descriptors import raise_descriptor_limit

    raise_descriptor_limit(_connections_max(plan))
    folder = create_run_folder(out, name_hint(plan))
    try:
        asyncio.run(Conductor(plan, folder, secrets, observed, watch).conduct())
    except LoadgenError as error:
        error.hint = error.hint or f"what was measured is kept: `loadgen report {folder}`"
        raise
    finally:
        finish(folder)
        finish_samples(folder)
    return folder


def _connections_max(plan: Plan) -> int:
    from loadgen.schedule import SHAPES
    from loadgen.specs import parse_spec

    return max((parse_spec(point.load, SHAPES).slots or 0) for point in plan.points)
