"""What a server told, in short: rows of (ms, name, part, value)."""

from collections.abc import Iterable, Sequence

import numpy as np

from loadgen.model.series import Telemetry
from loadgen.units import NS_PER_MS

URL = "http://s/metrics"
Row = tuple[float, str, str, float]


def told(rows: Iterable[Row], source: str = "server", origin: str = URL) -> Telemetry:
    """The samples, ordered by time."""
    ordered = sorted(rows, key=lambda row: row[0])
    n = len(ordered)
    return Telemetry(
        at_ns=np.array([round(row[0] * NS_PER_MS) for row in ordered], dtype=np.int64),
        source=_words([source] * n),
        origin=_words([origin] * n),
        name=_words([row[1] for row in ordered]),
        part=_words([row[2] for row in ordered]),
        value=np.array([row[3] for row in ordered], dtype=np.float64),
    )


def counters(at_ms: float, **values: float) -> list[Row]:
    """One look: values by name; `ttft_s_sum` is the `sum` of `ttft_s`."""
    rows: list[Row] = []
    for name, value in values.items():
        stem, _, part = name.rpartition("_")
        is_part = part in {"sum", "count"}
        rows.append((at_ms, stem if is_part else name, part if is_part else "", value))
    return rows


def _words(words: Sequence[str]) -> "np.ndarray[tuple[int], np.dtype[np.object_]]":
    return np.array(words, dtype=object)
