"""The options of repeated runs. Imports nothing but typer: `--help` must be quick."""

from dataclasses import dataclass
from typing import Annotated

from loadgen.cli.option import LOAD, option

PAIRS = 3
"""Runs of each target under `--vs`, where no number is given."""


@dataclass(frozen=True, kw_only=True)
class RepeatOptions:
    """How often, and against what else."""

    repeat: Annotated[
        int | None,
        option(
            "--repeat",
            says="Make the whole run N times and tell the spread from run to run.",
            group=LOAD,
            metavar="N",
        ),
    ] = None
    vs: Annotated[
        str | None,
        option(
            "--vs",
            says="Measure this target too, in turns (ABBA), and compare. Default: 3 runs each.",
            group=LOAD,
            metavar="TARGET2",
        ),
    ] = None

    @property
    def asked(self) -> bool:
        """Whether there is more than one run to be made."""
        return self.vs is not None or self.repeat is not None

    @property
    def count(self) -> int:
        """Runs of each target."""
        return self.repeat or PAIRS
