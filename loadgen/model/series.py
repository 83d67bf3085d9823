"""Samples of server, GPUs and client host while a run went on."""

from dataclasses import dataclass

import numpy as np

from loadgen.model.columns import Floats, Ints, Words


@dataclass(frozen=True, slots=True)
class Telemetry:
    """One row a value, ordered by time; `at_ns` is monotonic, on the axis of the requests.

    `source` is `server`, `gpu` or `host`; `origin` who was asked (a URL without credentials,
    `nvml`); `name` is ours (`docs/results-format.md` lists them, units in the name) whatever the
    source calls it; `part` tells apart what must not be summed blindly (engine index, GPU's
    UUID, a histogram's `sum` and `count`), empty where there is one.
    """

    at_ns: Ints
    source: Words
    origin: Words
    name: Words
    part: Words
    value: Floats

    def __len__(self) -> int:
        return len(self.at_ns)


def no_telemetry() -> Telemetry:
    """The table of a run to which nobody told anything."""
    words = np.empty(0, dtype=object)
    return Telemetry(np.empty(0, dtype=np.int64), words, words, words, words, np.empty(0))
