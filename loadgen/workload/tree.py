"""A recorded session as a tree of turns: who waits for whom, and for how long.

All order and timing of a replay is in the turns' waits. Source: docs/workloads.md#agentx.
"""

from collections.abc import Iterator
from hashlib import sha256

from loadgen.model.session import Turn, Wait
from loadgen.workload.weka import Trace, TraceStream, TraceTurn
from loadgen.workload.weka_json import Ids


def turns_of(trace: Trace, time_scale: float = 1.0) -> tuple[Turn, ...]:
    """The trace's turns without bodies, stream after stream, each stream in its order.

    Turn k of stream s is named `s/k`. Recorded times and delays are multiplied by `time_scale`.
    """
    return tuple(
        Turn(
            turn_id=_name(stream, at),
            body=(),
            input_tok=turn.in_tok,
            max_output_tok=max(turn.out_tok, 1),
            after=tuple(_waits(trace, stream, at, delay_s, time_scale)),
            stream=stream.name,
            at_ns=round(turn.at_s * time_scale * 1e9),
            blocks=runs_of(turn.ids),
        )
        for stream in trace.streams
        for at, (turn, delay_s) in enumerate(zip(stream.turns, delays_s(stream.turns), strict=True))
    )


def delays_s(turns: tuple[TraceTurn, ...]) -> Iterator[float]:
    """How long after the end of all earlier ones each turn started; 0 where one was still going.

    A stream is one chain here, even where its recording overlaps: counting from the last turn's
    own end would then wait out the same time twice.
    """
    ends_s = turns[0].at_s
    for turn in turns:
        yield max(turn.at_s - ends_s, 0.0)
        ends_s = max(ends_s, turn.at_s + turn.api_s)


def runs_of(ids: Ids) -> tuple[int, ...]:
    """The ids as pairs (first id, how many), ids counting up by one within a pair."""
    import numpy as np

    if not ids:
        return ()
    numbers = np.array(ids, dtype=np.int64)
    begins = np.concatenate(([0], np.flatnonzero(numbers[1:] != numbers[:-1] + 1) + 1))
    lengths = np.diff(begins, append=len(ids))
    return tuple(np.stack((numbers[begins], lengths), axis=1).ravel().tolist())


def start_range_ms(trace: Trace, from_frac: float, until_frac: float) -> tuple[float, float]:
    """Between which recorded times (unscaled) first plays start: shares of the turns' starts."""
    starts = [turn.at_s for stream in trace.streams for turn in stream.turns]
    first, span = min(starts), max(starts) - min(starts)
    return (first + from_frac * span) * 1000, (first + until_frac * span) * 1000


def start_ms(seed: int, trace_id: str, lane: int, lo_ms: float, hi_ms: float) -> float:
    """Where in the recording (unscaled) a lane's first play starts, t*: uniform, by SHA-256."""
    from numpy.random import default_rng

    drawn = sha256(f"{seed}:{trace_id}:{lane}".encode()).digest()[:8]
    return float(default_rng(int.from_bytes(drawn, "big")).uniform(lo_ms, hi_ms))


def _waits(
    trace: Trace, stream: TraceStream, at: int, delay_s: float, time_scale: float
) -> Iterator[Wait]:
    root = trace.streams[0]
    if at:
        yield Wait(_name(stream, at - 1), "done", _ns(delay_s, time_scale))
    elif stream.spawned_by is not None:
        yield _spawned(trace, stream, root.turns[stream.spawned_by], time_scale)
    if stream is root:
        for child in trace.streams[1:]:
            if child.joined_by == at:
                yield Wait(_name(child, len(child.turns) - 1))


def _spawned(trace: Trace, stream: TraceStream, spawner: TraceTurn, time_scale: float) -> Wait:
    """What a subagent's first turn waits for.

    Subagents with the same spawner and joiner are a branch. One that starts before its spawner's
    recorded end starts with it; else its first subagent goes as soon as the spawner is done.
    """
    branch_s = min(
        other.starts_s
        for other in trace.streams[1:]
        if (other.spawned_by, other.joined_by) == (stream.spawned_by, stream.joined_by)
    )
    name = _name(trace.streams[0], stream.spawned_by or 0)
    if branch_s < spawner.at_s + spawner.api_s:
        return Wait(name, "sent", _ns(stream.starts_s - spawner.at_s, time_scale))
    return Wait(name, "done", _ns(stream.starts_s - branch_s, time_scale))


def _name(stream: TraceStream, at: int) -> str:
    return f"{stream.name}/{at}"


def _ns(seconds: float, time_scale: float) -> int:
    """Scaled nanoseconds, 0 at least: nothing waits for less than no time."""
    return max(round(seconds * time_scale * 1e9), 0)
