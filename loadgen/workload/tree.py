"""A recorded session as a tree of turns: who waits for whom, and for how long.

All order and timing of a replay is in the turns' waits. Source: docs/workloads.md#agentx.
"""

from loadgen.model.session import Turn
from loadgen.workload.weka import Trace


def turns_of(trace: Trace, time_scale: float = 1.0) -> tuple[Turn, ...]:
    """The trace's turns without bodies, stream after stream, each stream in its order.

    Turn k of stream s is named `s/k`. Recorded times and delays are multiplied by `time_scale`.
    """
    raise NotImplementedError


def start_range_ms(trace: Trace, from_frac: float, until_frac: float) -> tuple[float, float]:
    """Between which recorded times (unscaled) first plays start: shares of the turns' starts."""
    raise NotImplementedError


def start_ms(seed: int, trace_id: str, lane: int, lo_ms: float, hi_ms: float) -> float:
    """Where in the recording (unscaled) a lane's first play starts, t*: uniform, by SHA-256."""
    raise NotImplementedError
