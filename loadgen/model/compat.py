"""The same records by another tool's rules: its names, its units, its definitions."""

from msgspec import Struct


class CompatFigure(Struct, frozen=True):
    """One figure as the tool would print it. `value` is None where it can't be given."""

    name: str
    """The tool's own name; families of statistics share what stands before `family_end`."""
    unit: str
    value: float | None
    n: int
    """How many values it rests on."""
    definition: str
    """What the tool counts, in our words."""
    reason: str = ""
    """Why the value is absent, and what would give it."""
    printed: float | None = None
    """What the tool itself printed, where the records were read from its own file."""


class CompatPoint(Struct, frozen=True):
    """The figures of one load point, in the tool's order."""

    index: int
    load: str
    concurrency: int | None
    figures: tuple[CompatFigure, ...]


class CompatTable(Struct, frozen=True):
    """A run by one rule set."""

    rules: str
    """Its name on the command line."""
    tool: str
    """Whose rules, and the version that they were read from."""
    notes: tuple[str, ...]
    """What a reader must know beside the figures: how we differ where we can't do the same."""
    points: tuple[CompatPoint, ...]
    label: str = ""
    """Stands over every output: what this is not."""
