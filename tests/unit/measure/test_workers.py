"""How many workers a plan gets: by slots, by expected events, never more than half the cores."""

import pytest

from loadgen.measure.workers import workers_for
from loadgen.model.plan import Plan, PointPlan, TargetPlan, WorkloadPlan


def plan_with(*loads: str, osl: str = "256") -> Plan:
    points = tuple(PointPlan(number, load) for number, load in enumerate(loads))
    return Plan("r", TargetPlan("http://h", "m"), WorkloadPlan(osl=osl), points)


@pytest.mark.parametrize(
    ("loads", "osl", "cores", "workers"),
    [
        (("closed:1",), "256", 64, 1),
        (("closed:128",), "256", 64, 1),
        (("closed:129",), "256", 64, 2),
        (("closed:1", "closed:1024", "closed:8"), "256", 64, 8),
        (("closed:1024",), "256", 8, 4),
        (("closed:1024",), "256", 2, 1),
        (("closed:1024",), "256", 1, 1),
        (("constant:rate=10/s",), "256", 64, 1),
        (("constant:rate=100/s",), "1000", 64, 11),
        (("constant:rate=100/s",), "50", 64, 1),
    ],
)
def test_workers_follow_load_and_cores(
    loads: tuple[str, ...], osl: str, cores: int, workers: int
) -> None:
    found = workers_for(plan_with(*loads, osl=osl), cores)
    assert found == workers or (workers == 11 and found in {10, 11})
