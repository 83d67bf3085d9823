"""Loops over whole runs, one floor above both wings: measure, review, measure again.

Knows no terminal and computes nothing: what so many runs say together is `analysis`'s to tell.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from loadgen import measure as measuring
from loadgen import review as reviewing
from loadgen.measure import Status
from loadgen.model.observed import Observed
from loadgen.model.plan import Plan
from loadgen.model.summary import Summary
from loadgen.model.table import Recording

Watching = Callable[[], AbstractContextManager[Callable[[Status], None]]]
SIDES = ("base", "new")


@dataclass(frozen=True)
class Leg:
    """One thing to be measured again and again: its plan, ready to be run, and where runs go."""

    plan: Plan
    observed: Observed
    secrets: Mapping[str, str]
    out: Path


@dataclass(frozen=True)
class Made:
    """One run of a campaign; `number` counts from 1."""

    leg: int
    number: int
    folder: Path
    summary: Summary
    recording: Recording


def order_of(legs: int, repeats: int) -> tuple[int, ...]:
    """Which leg each run is of: 0 0 0 for one; ABBA for two, so that a drift meets both alike."""
    turns = [
        tuple(range(legs)) if n % 2 == 0 else tuple(reversed(range(legs))) for n in range(repeats)
    ]
    return tuple(leg for turn in turns for leg in turn)


def repeated(
    legs: Sequence[Leg], repeats: int, new_id: Callable[[], str], watching: Watching
) -> Iterator[Made]:
    """Each run as soon as it was measured and reviewed, its reports written.

    Prompts, arrivals and order are those of the plan every time; only the salt is new, so that no
    run finds the last one's prompts in a cache. Raises as `measure` and `review`.
    """
    for number, at in enumerate(order_of(len(legs), repeats), start=1):
        leg = legs[at]
        with watching() as watch:
            plan = renewed(leg.plan, new_id())
            folder = measuring.measure(plan, leg.out, leg.secrets, leg.observed, watch)
        summary, recording = reviewing.review(folder)
        reviewing.write_reports(folder, summary, recording)
        yield Made(at, number, folder, summary, recording)


def renewed(plan: Plan, run_id: str) -> Plan:
    """The same plan as another run: a salt that was the run's own becomes the new one's."""
    salt = run_id if plan.salt == plan.run_id else plan.salt
    return replace(plan, run_id=run_id, salt=salt)
