"""How often `compare` is right: simulated runs with a slow wander inside and a spread between runs.

`python -m tests.comparisons [N]` prints the shares of every kind; the tests hold them to bars.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from msgspec.structs import replace as renewed

from loadgen.analysis import summarise
from loadgen.analysis.comparison.compare import compare
from loadgen.model.comparison import Comparison, ReviewedRun
from tests.simulations import Server, served
from tests.tables import recording

LASTS_S = 30.0
SLOTS = 8
WANDER = 0.03
"""Standard deviation of an AR(1) (0.5 an answer) of the speed inside a run."""
CHANGED = ("out_tps", "tpot_s.p50", "tpot_s.p90")
"""Figures that a change of the token time shows in beyond their margins."""


@dataclass(frozen=True)
class Kind:
    """One way of comparing: runs a side, the true change of speed, what differs between runs."""

    name: str
    runs: int
    faster_by: float = 0.0
    between: float = 0.0
    alternating: bool = False


KINDS = (
    Kind("A/A, one run a side", 1),
    Kind("A/A, one run a side, 1 % between runs", 1, between=0.01),
    Kind("A/A, 5 runs a side, 1 % between runs", 5, between=0.01),
    Kind("A/A, 5 runs a side, 3 % between runs", 5, between=0.03),
    Kind("A/A, 5 alternating pairs, 3 % between runs", 5, between=0.03, alternating=True),
    Kind("10 % faster, 5 runs a side, 1 % between runs", 5, 0.10, 0.01),
    Kind("10 % slower, 5 runs a side, 1 % between runs", 5, -0.10, 0.01),
    Kind("10 % faster, 5 alternating pairs, 2 % between runs", 5, 0.10, 0.02, alternating=True),
    Kind("10 % faster, one run a side", 1, 0.10),
)


@dataclass(frozen=True)
class Tally:
    """Shares of comparisons: any wrong verdict; every changed figure's right; any opposite."""

    wrong: float
    right: float
    opposite: float
    rate_right: float
    """The right verdict on the output rate."""


def tally(kind: Kind, count: int, seed: int) -> Tally:
    """How `count` comparisons of this kind end."""
    wrong = right = opposite = rate_right = 0
    truth = {1: "faster", -1: "slower"}.get((kind.faster_by > 0) - (kind.faster_by < 0), "")
    against = {"faster": "slower", "slower": "faster"}.get(truth, "")
    for comparison in comparisons(kind, count, seed):
        found = {row.key: row.verdict for row in comparison.figures}
        moved = {verdict for verdict in found.values() if verdict in {"faster", "slower"}}
        wrong += bool(moved - {truth})
        opposite += against in found.values()
        right += all(found[key] == truth for key in CHANGED)
        rate_right += found["out_tps"] == truth
    shares = (hits / count for hits in (wrong, right, opposite, rate_right))
    return Tally(*shares)


def comparisons(kind: Kind, count: int, seed: int) -> Iterator[Comparison]:
    """`count` independent comparisons."""
    chance = np.random.default_rng(seed)
    for number in range(count):
        sides: list[list[ReviewedRun]] = [[], []]
        for at in range(2 * kind.runs):
            side = (at + at // 2) % 2 if kind.alternating else at // kind.runs
            speed = (1.0 + kind.faster_by * side) * np.exp(chance.normal(0.0, kind.between))
            run = simulated(float(1 / speed), int(chance.integers(1 << 31)))
            name = f"{number}-{at}"
            sides[side].append(renewed(run, name=name, started_wall_ns=(at + 1) * 10**9))
        yield compare(sides[0], sides[1])


def simulated(slower: float, seed: int) -> ReviewedRun:
    """One run of a closed load whose every token takes `slower` times as long."""
    server = Server(slots=SLOTS, lasts_s=LASTS_S, wander=WANDER)
    empty = recording([], f"closed:{SLOTS}")
    told = replace(empty, table=served(server, lambda _: slower, seed))
    return ReviewedRun("run", told.plan, summarise(told))


def main(count: int) -> None:
    print(f"{count} comparisons of each kind")
    for number, kind in enumerate(KINDS):
        found = tally(kind, count, seed=7000 + number)
        print(
            f"{kind.name:52} wrong {found.wrong:6.1%}  right {found.right:6.1%}"
            f"  rate right {found.rate_right:6.1%}  opposite {found.opposite:6.1%}",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
