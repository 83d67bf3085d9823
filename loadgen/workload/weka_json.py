"""Weka traces as they stand in files: every member, every check, and what is allowed for.

A wrong trace is refused with the path inside it, never mended. Source: docs/workloads.md#agentx.
"""

import json
import math
from array import array
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta, Struct

from loadgen.errors import InputError
from loadgen.specs import input_error

if TYPE_CHECKING:
    Ids = array[int]
else:
    Ids = array

SLACK_S = 1e-6
"""Recorded times that lie this close together count as equal."""

LONGEST_S = 4e9
"""No recorded time is longer: seconds since 1970 stay below, milliseconds don't."""

Tokens = Annotated[int, Meta(ge=0, le=100_000_000)]
"""A hundred million tokens are beyond any context."""


class Request(Struct, tag_field="type", forbid_unknown_fields=True):
    """One request of an agent; seconds and tokens as recorded."""

    t: float
    model: str
    in_tok: Tokens = msgspec.field(name="in")
    out_tok: Tokens = msgspec.field(name="out")
    ids: Ids = msgspec.field(name="hash_ids", default_factory=lambda: Ids("I"))
    input_types: list[str] = []
    output_types: list[str] = []
    stop: str | None = None
    api_time: float | None = None
    ttft: float | None = None
    think_time: float | None = None

    @property
    def api_s(self) -> float:
        """Seconds that the recorded answer took; 0 where the recording says nothing sensible."""
        return max(self.api_time or 0.0, 0.0)


class Whole(Request, tag="n"):
    """A request whose answer came in one piece."""


class Streamed(Request, tag="s"):
    """A request whose answer was streamed."""


class Subagent(Struct, tag_field="type", tag="subagent", forbid_unknown_fields=True):
    """A subagent's whole life, standing where it was spawned."""

    t: float
    agent_id: str
    requests: list[Whole | Streamed]
    subagent_type: str = ""
    duration_ms: float | None = None
    total_tokens: float | None = None
    tool_use_count: float | None = None
    status: str = ""
    models: list[str] = []
    tool_tokens: Tokens = 0
    system_tokens: Tokens = 0


class Recording(Struct, forbid_unknown_fields=True):
    """One trace file. `label` is ours: what a made-up trace calls itself."""

    id: str
    block_size: Annotated[int, Meta(gt=0)]
    hash_id_scope: Literal["local"]
    requests: list[Whole | Streamed | Subagent]
    models: list[str] = []
    tool_tokens: Tokens = 0
    system_tokens: Tokens = 0
    totals: dict[str, Any] | None = None
    label: str = ""

    @property
    def subagents(self) -> list[Subagent]:
        """The subagents, as they are listed."""
        return [entry for entry in self.requests if isinstance(entry, Subagent)]

    def every_request(self) -> Iterator[Request]:
        """All requests, those of subagents included, as they are listed."""
        for entry in self.requests:
            if isinstance(entry, Subagent):
                yield from entry.requests
            else:
                yield entry


class Oddities(NamedTuple):
    """How often a recording needs one of the loader's allowances."""

    unsorted: int
    """Requests listed after a later one; they are sorted."""
    blocks_cut: int
    """Requests with more block ids than full blocks; the surplus is left out."""
    blocks_short: int
    """Requests with fewer block ids than full blocks; the rest of the prompt is never shared."""
    negative_api: int
    """Requests whose answer took less than no time; it counts as none."""
    overlapping: int
    """Requests that started before their agent's last answer had ended; they wait for it."""


def parse_recording(document: bytes, where: str) -> Recording:
    """The checked recording of one JSON object; `where` names its place in errors.

    Raises:
        InputError: names the place, the path inside the object, the value and what was expected.

    """
    try:
        document.decode("utf-8")
        recording = _DECODER.decode(document)
    except UnicodeDecodeError as error:
        raise InputError(f"`{where}`: not UTF-8 at byte {error.start}") from error
    except RecursionError as error:
        raise InputError(f"`{where}`: no trace is nested that deep") from error
    except msgspec.ValidationError as error:
        raise input_error(where, error, _loaded(document, where), Recording) from error
    except msgspec.DecodeError as error:
        _loaded(document, where)
        raise InputError(f"`{where}`: no JSON: {error}") from error
    for path, value, expected in _wrong(recording):
        raise _refusal(where, path, value, expected)
    return recording


def dialect_of(recording: Recording) -> tuple[int, int]:
    """How many subagents have requests, and how many show that those count from their entry.

    Only times relative to the entry's can lie before it.
    """
    entries = [entry for entry in recording.subagents if entry.requests]
    return len(entries), sum(
        any(inner.t + SLACK_S < entry.t for inner in entry.requests) for entry in entries
    )


def oddities_of(recording: Recording) -> Oddities:
    """What the loader has to make allowance for in this recording."""
    requests = list(recording.every_request())
    blocks = [(len(one.ids), one.in_tok // recording.block_size) for one in requests]
    main = [entry for entry in recording.requests if isinstance(entry, Request)]
    agents = [agent.requests for agent in recording.subagents]
    unsorted = _unsorted([entry.t for entry in recording.requests])
    unsorted += sum(_unsorted([one.t for one in inner]) for inner in agents)
    return Oddities(
        unsorted,
        sum(given > full for given, full in blocks),
        sum(given < full for given, full in blocks),
        sum((one.api_time or 0.0) < 0 for one in requests),
        _overlapping(main) + sum(map(_overlapping, agents)),
    )


def _wrong(recording: Recording) -> Iterator[tuple[str, object, str]]:
    """Path, value and expectation of everything that types alone don't catch."""
    if not (recording.id and recording.id.isprintable()):
        yield "$.id", recording.id, "a name of printable characters was expected"
    names: set[str] = set()
    first: Request | None = None
    for at, entry in enumerate(recording.requests):
        path = f"$.requests[{at}]"
        yield from _wrong_times(path, entry)
        if not isinstance(entry, Subagent):
            first = entry if first is None or entry.t < first.t else first
            continue
        if entry.agent_id in names or entry.agent_id in ("", "root"):
            yield f"{path}.agent_id", entry.agent_id, "a name of its own was expected"
        if not entry.agent_id.isprintable():
            yield f"{path}.agent_id", entry.agent_id, "printable characters were expected"
        names.add(entry.agent_id)
        for number, inner in enumerate(entry.requests):
            yield from _wrong_times(f"{path}.requests[{number}]", inner)
        if entry.requests:
            opening = min(entry.requests, key=lambda one: one.t)
            yield from _wrong_prefix(path, entry, opening, recording.block_size)
    if first is None:
        yield "$.requests", len(recording.requests), "a request of the main agent was expected"
    else:
        yield from _wrong_prefix("$", recording, first, recording.block_size)


def _wrong_times(path: str, entry: Request | Subagent) -> Iterator[tuple[str, object, str]]:
    names = ("t", "duration_ms") if isinstance(entry, Subagent) else ("t", "api_time")
    for name in names:
        value = getattr(entry, name)
        if value is not None and not math.isfinite(value):
            yield f"{path}.{name}", value, "a finite number was expected"
        elif value is not None and abs(value) > LONGEST_S * (1000 if name[-2:] == "ms" else 1):
            yield f"{path}.{name}", value, f"at most {LONGEST_S:.0e} seconds were expected"


def _wrong_prefix(
    path: str, agent: Recording | Subagent, first: Request, block_size: int
) -> Iterator[tuple[str, object, str]]:
    """Whether tools and system prompt are longer than the blocks of the agent's first request."""
    prefix_tok = agent.tool_tokens + agent.system_tokens
    if prefix_tok > block_size * len(first.ids):
        name = "tool_tokens" if agent.tool_tokens else "system_tokens"
        expected = (
            f"tools and system prompt ({prefix_tok} tokens) that fit into the"
            f" {len(first.ids)} blocks of the first request were expected"
        )
        yield f"{path}.{name}", getattr(agent, name), expected


def _unsorted(times: list[float]) -> int:
    latest = -math.inf
    late = 0
    for time in times:
        late += time < latest
        latest = max(latest, time)
    return late


def _overlapping(requests: Sequence[Request]) -> int:
    ends_s = -math.inf
    overlaps = 0
    for one in sorted(requests, key=lambda request: request.t):
        overlaps += one.t + SLACK_S < ends_s
        ends_s = max(ends_s, one.t + one.api_s)
    return overlaps


def _block_ids(kind: type, value: object) -> object:
    """Block ids as an array, 4 bytes each where they fit; called by msgspec."""
    if kind is not array:
        raise NotImplementedError(kind)
    if not isinstance(value, list):
        raise ValueError("a list of block ids was expected")
    if set(map(type, value)) <= {int}:
        with suppress(OverflowError):
            return array("I", value)
        with suppress(OverflowError):
            wide = array("q", value)
            if min(wide) >= 0:
                return wide
    at = next(at for at, one in enumerate(value) if type(one) is not int or not 0 <= one < 2**63)
    raise ValueError(f"whole numbers from 0 on were expected, [{at}] is {value[at]!r:.60}")


_DECODER = msgspec.json.Decoder(Recording, dec_hook=_block_ids)


def _refusal(where: str, path: str, value: object, expected: str) -> InputError:
    return InputError(f"`{where}` at `{path}`: {expected}; the value is {value!r:.80}")


def _loaded(document: bytes, where: str) -> object:
    """The document as plain values.

    Raises:
        InputError: no JSON at all, or with numbers that JSON doesn't know: NaN, infinities.

    """
    try:
        loaded: object = json.loads(document)
    except RecursionError as error:
        raise InputError(f"`{where}`: no trace is nested that deep") from error
    except ValueError as error:
        several = "Extra data" in str(error)
        hint = "one trace a line belongs in a `.jsonl` file" if several else None
        raise InputError(f"`{where}`: no JSON: {str(error).lower()}", hint) from error
    for path, value in _not_finite(loaded, "$"):
        raise _refusal(where, path, value, "a finite number was expected")
    return loaded


def _not_finite(loaded: object, path: str) -> Iterator[tuple[str, float]]:
    if isinstance(loaded, float) and not math.isfinite(loaded):
        yield path, loaded
    elif isinstance(loaded, dict):
        for key, value in loaded.items():
            yield from _not_finite(value, f"{path}.{key}")
    elif isinstance(loaded, list):
        for number, value in enumerate(loaded):
            yield from _not_finite(value, f"{path}[{number}]")
