"""Weka traces (kv-cache-tester and AgentX corpora): one JSON object to streams of recorded turns.

Nothing is played or drawn here. Both dialects are read; which one holds is decided once for a
whole corpus (`loadgen.workload.traces`). Source: docs/workloads.md#agentx.
"""

from array import array

from msgspec import Struct

ROOT = "root"


class TraceTurn(Struct, frozen=True):
    """One recorded request; `ids` are those of its full blocks, `in_tok // block_size` at most."""

    at_s: float
    """When it started, from the recording's start."""
    in_tok: int
    out_tok: int
    ids: "array[int]"
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
    raise NotImplementedError
