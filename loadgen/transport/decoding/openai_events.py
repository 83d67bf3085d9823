"""The JSON of OpenAI's dialects as typed structs: chat and completions, streamed or whole.

`read_event` decodes one payload. The usual shapes go through msgspec's typed decoder; whatever it
refuses goes through the standard library and is converted by hand, so a stream is called malformed
only where no reading of it keeps every token.
"""

import json
from typing import Any

import msgspec
from msgspec import Struct

_MAX_COUNT = 2**31 - 1


class Malformed(Exception):  # noqa: N818 - a state of one event, handled where it is read
    """The payload is no event of these dialects; the text says why."""


class Function(Struct, gc=False):
    """A called function, whole or a fragment."""

    name: str | None = None
    arguments: str | None = None


class ToolCall(Struct, gc=False):
    """A tool call or a fragment of one; fragments join by `index`."""

    index: int | None = None
    id: str | None = None
    function: Function | None = None


class Delta(Struct, gc=False):
    """What one event adds, or a whole message."""

    content: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    refusal: str | None = None
    tool_calls: list[ToolCall] | None = None
    function_call: Function | None = None


class Choice(Struct, gc=False):
    """One choice of one event. `text` is the completions dialect, `message` a whole answer."""

    index: int = 0
    delta: Delta | None = None
    text: str | None = None
    message: Delta | None = None
    finish_reason: str | None = None
    token_ids: list[int] | None = None
    error: Any = None


class InputDetails(Struct, gc=False):
    """`usage.prompt_tokens_details`."""

    cached_tokens: int | None = None


class OutputDetails(Struct, gc=False):
    """`usage.completion_tokens_details`."""

    reasoning_tokens: int | None = None


class Counts(Struct, gc=False):
    """A `usage` member as sent."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: InputDetails | None = None
    completion_tokens_details: OutputDetails | None = None
    reasoning_tokens: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None

    @property
    def input_tok(self) -> int | None:
        """Prompt tokens under either name; None where absent or absurd."""
        return _count(_first(self.prompt_tokens, self.input_tokens))

    @property
    def output_tok(self) -> int | None:
        """Output tokens under either name; None where absent or absurd."""
        return _count(_first(self.completion_tokens, self.output_tokens))

    @property
    def cached_tok(self) -> int | None:
        """Prompt tokens that came out of a cache, where the server says so."""
        details = self.prompt_tokens_details
        return _count(details.cached_tokens) if details is not None else None

    @property
    def reasoning_tok(self) -> int | None:
        """Output tokens that were reasoning, where the server says so."""
        details = self.completion_tokens_details
        nested = details.reasoning_tokens if details is not None else None
        return _count(_first(nested, self.reasoning_tokens))

    def says_nothing(self) -> bool:
        """True for a placeholder: no count, or zeros for prompt and output alike.

        LiteLLM sends such zeros with each event of a stream whose counts it does not know.
        """
        return not self.input_tok and not self.output_tok


class StreamEvent(Struct, gc=False):
    """One JSON object of a stream, or a whole completion."""

    choices: list[Choice] | None = None
    usage: Counts | None = None
    error: Any = None

    def says_nothing(self) -> bool:
        """True where none of the members that we know was there."""
        return self.choices is None and self.usage is None and self.error is None


_decoder = msgspec.json.Decoder(StreamEvent)
_typed = _decoder.decode


def read_events(payloads: list[bytes]) -> list[StreamEvent] | None:
    """The events of all payloads at once, as `read_event` has them; None where one is unusual."""
    try:
        events: list[StreamEvent] = _decoder.decode_lines(b"\n".join(payloads))
    except (ValueError, RecursionError):
        return None
    # a payload of several lines is no line
    if len(events) != len(payloads) or any(map(StreamEvent.says_nothing, events)):
        return None
    return events


def read_event(payload: bytes) -> StreamEvent | None:
    """The event, or None for JSON `null`, which says nothing.

    An error that stands bare in the object (`{"object":"error","message":...}`) is moved to
    `error`. Raises: Malformed.
    """
    try:
        event = _typed(payload)
    except (ValueError, RecursionError):
        return _read_unusual(payload)
    return _read_unusual(payload) if event.says_nothing() else event


def load_json(payload: bytes) -> Any:
    """Any JSON value, read leniently (NaN, lone surrogates, raw tabs). Raises: Malformed."""
    try:
        return json.loads(payload.decode("utf-8"), strict=False)
    except UnicodeDecodeError as error:
        raise Malformed(f"not UTF-8: {error.reason} at byte {error.start}") from error
    except (ValueError, RecursionError) as error:
        raise Malformed(f"not JSON: {error}") from error


def _read_unusual(payload: bytes) -> StreamEvent | None:
    try:
        return _event(load_json(payload))
    except RecursionError as error:
        raise Malformed("nested too deep") from error


def _event(value: Any) -> StreamEvent | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise Malformed(f"a JSON {type(value).__name__} where an object was expected")
    choices = value.get("choices")
    error = value.get("error")
    if error is None and not choices and _is_bare_error(value):
        error = value
    return StreamEvent(
        choices=None if choices is None else _choices(choices),
        usage=_counts(value.get("usage")),
        error=error,
    )


def _is_bare_error(value: dict[str, Any]) -> bool:
    return value.get("object") == "error" or value.get("type") == "error"


def _choices(value: Any) -> list[Choice]:
    if not isinstance(value, list):
        raise Malformed("`choices` is no array")
    return [_choice(item) for item in value if item is not None]


def _choice(value: Any) -> Choice:
    if not isinstance(value, dict):
        raise Malformed("a choice is no object")
    ids = value.get("token_ids")
    return Choice(
        index=_int(value.get("index")) or 0,
        delta=_delta(value.get("delta")),
        text=_text(value.get("text")),
        message=_delta(value.get("message")),
        finish_reason=_text(value.get("finish_reason")),
        token_ids=[0] * len(ids) if isinstance(ids, list) else None,
        error=value.get("error"),
    )


def _delta(value: Any) -> Delta | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise Malformed("a delta is no object")
    calls = value.get("tool_calls")
    if calls is not None and not isinstance(calls, list):
        raise Malformed("`tool_calls` is no array")
    return Delta(
        content=_text(value.get("content")),
        reasoning=_text(value.get("reasoning")),
        reasoning_content=_text(value.get("reasoning_content")),
        refusal=_text(value.get("refusal")),
        tool_calls=None if calls is None else [_call(item) for item in calls if item is not None],
        function_call=_function(value.get("function_call")),
    )


def _call(value: Any) -> ToolCall:
    if not isinstance(value, dict):
        raise Malformed("a tool call is no object")
    return ToolCall(
        index=_int(value.get("index")),
        id=_text(value.get("id")),
        function=_function(value.get("function")),
    )


def _function(value: Any) -> Function | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise Malformed("a function is no object")
    arguments = value.get("arguments")
    if isinstance(arguments, dict | list):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return Function(name=_text(value.get("name")), arguments=_text(arguments))


def _text(value: Any) -> str | None:
    """A string, or the joined texts of a list of content parts. Raises: Malformed."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(_text(item) or "" for item in value)
    if isinstance(value, dict):
        return _text(value.get("text"))
    raise Malformed(f"text expected, a JSON {type(value).__name__} came")


def _counts(value: Any) -> Counts | None:
    if not isinstance(value, dict):
        return None
    prompt = value.get("prompt_tokens_details")
    output = value.get("completion_tokens_details")
    return Counts(
        prompt_tokens=_int(value.get("prompt_tokens")),
        completion_tokens=_int(value.get("completion_tokens")),
        prompt_tokens_details=InputDetails(_int(prompt.get("cached_tokens")))
        if isinstance(prompt, dict)
        else None,
        completion_tokens_details=OutputDetails(_int(output.get("reasoning_tokens")))
        if isinstance(output, dict)
        else None,
        reasoning_tokens=_int(value.get("reasoning_tokens")),
        input_tokens=_int(value.get("input_tokens")),
        output_tokens=_int(value.get("output_tokens")),
    )


def _int(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if isinstance(value, str):
        return int(value) if value.isdecimal() and len(value) < 10 else None
    return value if isinstance(value, int) else None


def _first(one: int | None, other: int | None) -> int | None:
    return other if one is None else one


def _count(value: int | None) -> int | None:
    return value if value is not None and 0 <= value <= _MAX_COUNT else None
