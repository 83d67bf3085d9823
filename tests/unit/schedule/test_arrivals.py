import random
import statistics
from itertools import islice, pairwise

import pytest

from loadgen.errors import UsageError
from loadgen.schedule import SHAPES, recorded_speed
from loadgen.specs import parse_spec

N = 4000


def gaps_s(spec: str) -> list[float]:
    shape = parse_spec(spec, SHAPES)
    at = list(islice(shape.arrivals(random.Random("1/arrivals/0")), N))
    return [(b - a) / 1e9 for a, b in pairwise(at)]


def test_closed_is_always_due_and_has_its_slots() -> None:
    shape = parse_spec("closed:16,think=2s", SHAPES)
    assert (shape.slots, shape.think_ns) == (16, 2_000_000_000)
    assert list(islice(shape.arrivals(random.Random(1)), 3)) == [0, 0, 0]


def test_constant_does_not_drift() -> None:
    shape = parse_spec("constant:rate=3/s", SHAPES)
    at = list(islice(shape.arrivals(random.Random(1)), 3001))
    assert at[3000] == 1000 * 10**9
    assert shape.slots is None


@pytest.mark.parametrize(
    ("spec", "variation"),
    [("poisson:rate=200/s", 1.0), ("gamma:rate=200/s,shape=4", 0.5), ("gamma:200/s", 1.0)],
)
def test_random_gaps_have_the_asked_rate_and_variation(spec: str, variation: float) -> None:
    gaps = gaps_s(spec)
    mean = statistics.fmean(gaps)
    assert mean == pytest.approx(1 / 200, rel=0.06)
    assert statistics.stdev(gaps) / mean == pytest.approx(variation, rel=0.08)


def test_the_same_seed_draws_the_same_arrivals() -> None:
    assert gaps_s("poisson:rate=5/s") == gaps_s("poisson:rate=5/s")


@pytest.mark.parametrize(
    "spec", ["closed:0", "closed:-2", "gamma:4/s,shape=0", "gamma:4/s,-1", "trace:0"]
)
def test_a_load_that_can_send_nothing_is_refused(spec: str) -> None:
    with pytest.raises(UsageError, match="must be"):
        parse_spec(spec, SHAPES)


def test_a_trace_leaves_the_instants_to_its_sessions() -> None:
    shape = parse_spec("trace:speed=2", SHAPES)
    assert (recorded_speed(shape), shape.slots) == (2.0, None)
    assert recorded_speed(parse_spec("trace", SHAPES)) == 1.0
    assert list(islice(shape.arrivals(random.Random(1)), 2)) == [0, 0]
