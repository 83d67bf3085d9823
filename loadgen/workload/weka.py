"""Weka traces (kv-cache-tester and AgentX corpora): one JSON object to streams of recorded turns.

Nothing is played or drawn here. Both dialects are read; which one holds is decided once for a
whole corpus (`loadgen.workload.traces`). Source: docs/workloads.md#agentx.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from loadgen.workload.weka_json import SLACK_S, Ids, Recording, Request, Subagent, parse_recording

ROOT = "root"


class TraceTurn(Struct, frozen=True):
    """One recorded request; `ids` are those of its full blocks, `in_tok // block_size` at most."""

    at_s: float
    """When it started, from the recording's start."""
    in_tok: int
    out_tok: int
    ids: Ids
    api_s: float
    """How long the recorded answer took; 0 where the recording doesn't say."""
    model: str
    tool_result: bool = False
    """Whether what it adds to the conversation is a tool's result."""


class TraceStream(Struct, frozen=True):
    """One conversation: the main agent's (`root`) or a subagent's.

    `spawned_by` and `joined_by` are turn numbers of the root: whose answer started this stream,
    and who waits for its end. None: the root itself, or a stream in the background.
    """

    name: str
    kind: str
    """`root`, or what kind of subagent (`Explore`)."""
    turns: tuple[TraceTurn, ...]
    prefix_tok: int = 0
    """Tokens of tools and system prompt at the head of its prompts."""
    spawned_by: int | None = None
    joined_by: int | None = None
    starts_s: float = 0.0
    status: str = ""


class Trace(Struct, frozen=True):
    """One recorded session. `streams[0]` is the root; a stream has one turn at least."""

    trace_id: str
    block_size: int
    streams: tuple[TraceStream, ...]
    models: tuple[str, ...]
    """Every model named, in the order of its first request."""
    label: str = ""
    """What the file says of itself, `AgentX-like synthetic`; empty for recordings."""

    @property
    def prefix_tok(self) -> int:
        """Tokens of tools and system prompt at the head of the root's prompts."""
        return self.streams[0].prefix_tok

    @property
    def longest_tok(self) -> int:
        """The largest prompt together with its answer."""
        return max(turn.in_tok + turn.out_tok for stream in self.streams for turn in stream.turns)


def read_trace(document: bytes, where: str, relative: bool) -> Trace:
    """The trace of one JSON object; `where` names its place in errors.

    `relative`: times inside subagents count from their entry's, not from the recording's start.

    Raises:
        InputError: names the place, the path inside the object, the value and what was expected.

    """
    return trace_of(parse_recording(document, where), relative)


def trace_of(recording: Recording, relative: bool) -> Trace:
    """The recording as streams. Subagents without a request or without a spawner are left out."""
    entries = sorted(recording.requests, key=lambda entry: entry.t)
    main = [entry for entry in entries if isinstance(entry, Request)]
    block_size = recording.block_size
    prefix_tok = recording.tool_tokens + recording.system_tokens
    turns = _turns(main, 0.0, block_size)
    streams = [TraceStream(ROOT, ROOT, turns, prefix_tok, starts_s=turns[0].at_s)]
    spawner = -1
    for entry in entries:
        if isinstance(entry, Request):
            spawner += 1
        elif spawner >= 0 and entry.requests:
            inner = _turns(entry.requests, entry.t if relative else 0.0, block_size)
            streams.append(_stream(entry, inner, turns, spawner))
    models = dict.fromkeys(_models(entries, main[0].model))
    return Trace(recording.id, block_size, tuple(streams), tuple(models), recording.label)


def _stream(
    entry: Subagent, inner: tuple[TraceTurn, ...], root: tuple[TraceTurn, ...], spawner: int
) -> TraceStream:
    """A subagent among the root's turns: the first later one that starts after its end joins it."""
    if entry.duration_ms is not None:
        ends_s = entry.t + entry.duration_ms / 1000
    else:
        ends_s = max(turn.at_s + turn.api_s for turn in inner)
    later = range(spawner + 1, len(root))
    return TraceStream(
        entry.agent_id,
        entry.subagent_type,
        inner,
        entry.tool_tokens + entry.system_tokens,
        spawner,
        next((at for at in later if root[at].at_s + SLACK_S >= ends_s), None),
        entry.t,
        entry.status,
    )


def _turns(requests: Sequence[Request], origin_s: float, block_size: int) -> tuple[TraceTurn, ...]:
    """One stream's requests in the order of their starts."""
    turns: list[TraceTurn] = []
    stop: str | None = None
    for one in sorted(requests, key=lambda request: request.t):
        ids = one.ids[: one.in_tok // block_size]
        answers_tool = "tool_result" in one.input_types or stop == "tool_use"
        at_s = origin_s + one.t
        turns.append(
            TraceTurn(at_s, one.in_tok, one.out_tok, ids, one.api_s, one.model, answers_tool)
        )
        stop = one.stop
    return tuple(turns)


def _models(entries: Sequence[Request | Subagent], first: str) -> Iterator[str]:
    yield first
    for entry in entries:
        if isinstance(entry, Request):
            yield entry.model
        else:
            yield from (inner.model for inner in entry.requests)
