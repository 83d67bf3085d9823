"""`loadgen report RUN... --ladder`: what runs together yield a GPU at each speed a user."""

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from loadgen.analysis.frontier import TARGETS_TPS
from loadgen.analysis.ladders import ladders_of
from loadgen.cli.sides import written
from loadgen.errors import UsageError
from loadgen.model.measured import MeasuredRun
from loadgen.model.plan import Plan
from loadgen.report.ladders import LADDER_OUTPUTS
from loadgen.review import measured

LADDER_BELOW = frozenset({"text", "md"})
"""Outputs in which the ladder of all runs follows the runs."""


def ladder_pieces(
    runs: Sequence[str],
    targets: str | None,
    output: str,
    priced: Callable[[Plan], Plan] | None,
) -> Iterable[str]:
    """The page of one output.

    Raises: UsageError for targets or a format that can't be; InputError, as `review`.
    """
    wanted = TARGETS_TPS if targets is None else parse_targets(targets)
    changes = () if priced is None else (priced,)
    if output not in LADDER_OUTPUTS:
        raise UsageError(f"unknown format `{output}`", f"known: {', '.join(LADDER_OUTPUTS)}")
    told = ladders_of([measured(Path(run), changes) for run in runs], wanted)
    return written(output, LADDER_OUTPUTS, told)


def ladders_below(runs: Sequence[MeasuredRun], output: str) -> Iterable[str]:
    """The page that follows several runs in one of LADDER_BELOW."""
    return LADDER_OUTPUTS[output](ladders_of(runs))


def parse_targets(text: str) -> tuple[float, ...]:
    """`30,50,75` as rising tok/s a user. Raises: UsageError for what is no number above 0."""
    found = set()
    for part in text.split(","):
        try:
            value = float(part)
        except ValueError:
            value = math.nan
        if not 0 < value < math.inf:
            raise UsageError(
                f"`--targets {text}`: `{part.strip()}` is no speed above 0",
                "tok/s a user, parted by commas: `--targets 30,50,100`",
            )
        found.add(value)
    return tuple(sorted(found))
