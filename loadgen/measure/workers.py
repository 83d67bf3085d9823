"""How many sending processes a plan gets where its user said nothing."""

import os
import random
from itertools import islice

from loadgen.errors import LoadgenError
from loadgen.model.plan import Plan, PointPlan
from loadgen.schedule import SHAPES, Shape
from loadgen.specs import parse_spec
from loadgen.units import NS_PER_S
from loadgen.workload.lengths import parse_length

SLOTS_A_WORKER = 128
EVENTS_A_WORKER = 10_000
"""Events a second: under half of what one worker stamps to 1 ms on a core of a small machine."""
LOOKED_AT = 200


def workers_for(plan: Plan, cores: int | None = None) -> int:
    """One for every 128 slots or 10,000 expected events a second, on half of the cores at most.

    Half, since each worker has a scribe that decodes beside it.
    """
    wanted = max((_wanted(plan, point) for point in plan.points), default=1)
    return max(1, min(wanted, (cores or own_cores()) // 2))


def own_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _wanted(plan: Plan, point: PointPlan) -> int:
    shape: Shape = parse_spec(point.load, SHAPES)
    if shape.slots is not None:
        return -(-shape.slots // SLOTS_A_WORKER)
    last_ns = list(islice(shape.arrivals(random.Random("workers")), LOOKED_AT))[-1]
    rate_rps = LOOKED_AT / max(last_ns / NS_PER_S, 1e-9)
    return -(-int(rate_rps * _mean_output_tok(plan)) // EVENTS_A_WORKER)


def _mean_output_tok(plan: Plan) -> float:
    chance = random.Random("workers")
    try:
        length = parse_length(plan.workload.osl, "--osl")
    except LoadgenError:
        return 256.0
    return sum(length.draw(chance) for _ in range(LOOKED_AT)) / LOOKED_AT
