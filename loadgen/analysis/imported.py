"""Figures of another tool's file: what it can't tell is absent, with the reason, never guessed."""

from collections.abc import Mapping

import numpy as np
from msgspec import structs

from loadgen.analysis.findings.facts import Doubt, RunFacts
from loadgen.model.imported import Imported
from loadgen.model.summary import Measure
from loadgen.model.table import Floats


def told_only(measures: dict[str, Measure], source: Imported | None) -> dict[str, Measure]:
    """The measures, those that the file lacks without a value; all of them for our own records."""
    if source is None:
        return measures
    return {
        key: _absent(measure, source.lacks[measure.name])
        if measure.name in source.lacks
        else measure
        for key, measure in measures.items()
    }


def told_columns(columns: dict[str, Floats], source: Imported | None) -> dict[str, Floats]:
    """The same for figures by request: NaN where the file lacks them."""
    lacks: Mapping[str, str] = {} if source is None else source.lacks
    return {
        name: np.full(len(values), np.nan) if name in lacks else values
        for name, values in columns.items()
    }


def imported(run: RunFacts) -> Doubt | None:
    """The records are another tool's: nobody vouches for its client."""
    source = run.recording.imported
    if source is None:
        return None
    lacks = ", ".join(sorted(source.lacks))
    notes = "; ".join(source.notes)
    text = (
        f"read from {source.name}'s file: nothing vouches for its client, times are as it took "
        f"them ({notes}). Missing: {lacks}"
    )
    hint = f"--compat {source.tool} recomputes its own figures; measure with loadgen for the rest"
    return Doubt("doubt", text, hint)


def _absent(measure: Measure, reason: str) -> Measure:
    return structs.replace(
        measure, value=None, low=None, high=None, interval="", certified=None, n=0, reason=reason
    )
