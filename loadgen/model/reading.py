"""What one look at a witness gave: values by our own names, before they are a column each."""

from msgspec import Struct


class Reading(Struct, frozen=True, array_like=True):
    """One value; the sampler adds when it was read. Words are those of `series.Telemetry`."""

    source: str
    origin: str
    name: str
    part: str
    value: float


SILENT = "silent"
"""Name of a sample that says that nobody answered; `part` is why, the value 1."""
