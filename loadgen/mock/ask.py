"""A request's body, read and checked as vLLM would: what was asked, or the error to answer."""

import re
from typing import Any

import msgspec

_MEMBER_LIST = (
    "model messages prompt stream stream_options max_tokens max_completion_tokens temperature "
    "top_p n stop seed presence_penalty frequency_penalty logit_bias logprobs top_logprobs user "
    "tools tool_choice parallel_tool_calls response_format echo best_of suffix metadata store "
    "service_tier reasoning_effort"
)
_OPENAI_MEMBERS = frozenset(_MEMBER_LIST.split())


class AskError(Exception):
    """An answer with status >= 400: `body` is the JSON text."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(body.decode())
        self.status = status
        self.body = body


def error_body(status: int, message: str, kind: str, param: str | None = None) -> bytes:
    """The error shape of vLLM."""
    error = {"message": message, "type": kind, "param": param, "code": status}
    return msgspec.json.encode({"error": error})


def bad_request(message: str, param: str | None = None) -> AskError:
    """A 400 in vLLM's words."""
    return AskError(400, error_body(400, message, "BadRequestError", param))


class StreamOptions(msgspec.Struct):
    """Members of `stream_options`."""

    include_usage: bool | None = None
    continuous_usage_stats: bool | None = None


class ToolCall(msgspec.Struct):
    """A tool call that a directive wants: arguments are JSON text."""

    name: str
    arguments: str = "{}"


class ScriptStep(msgspec.Struct):
    """Bytes of a scripted body, at `at_ms` after the request: JSON as an event, or raw text."""

    at_ms: float = 0.0
    data: Any = None
    raw: str | None = None
    base64: bytes | None = None


class Directive(msgspec.Struct, forbid_unknown_fields=True):
    """The extra member `loadgen_mock`: what a test wants of this one request."""

    faults: list[str] = []
    ttft_ms: float | None = None
    itl_ms: float | None = None
    tokens_per_event: int = 1
    answer: str | None = None
    right: str | None = None
    wrong: str | None = None
    p_right: float = 1.0
    output_tokens: int | None = None
    reasoning: str | None = None
    reasoning_tokens: int | None = None
    tool_calls: list[ToolCall] | None = None
    script: list[ScriptStep] | None = None
    script_status: int = 200
    script_type: str = "text/event-stream; charset=utf-8"
    script_end: str = "clean"


class Ask(msgspec.Struct):
    """The members that the mock heeds; others are ignored, as vLLM does."""

    model: str | None = None
    messages: list[dict[str, Any]] | None = None
    prompt: str | list[Any] | None = None
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    min_tokens: int = 0
    ignore_eos: bool = False
    n: int | None = 1
    stop: str | list[str] | None = None
    seed: int | None = None
    return_token_ids: bool | None = False
    tools: list[dict[str, Any]] | None = None
    tool_choice: str | dict[str, Any] | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    loadgen_mock: Directive = msgspec.field(default_factory=Directive)

    @property
    def limit_tok(self) -> int | None:
        """The asked limit of output tokens, by either name."""
        return self.max_completion_tokens if self.max_tokens is None else self.max_tokens

    @property
    def stops(self) -> list[str]:
        """Stop texts."""
        return [self.stop] if isinstance(self.stop, str) else (self.stop or [])

    @property
    def wants_usage(self) -> bool:
        """Whether the last event shall hold usage."""
        return bool(self.stream_options and self.stream_options.include_usage)

    @property
    def wants_running_usage(self) -> bool:
        """Whether every event shall hold the usage so far."""
        options = self.stream_options
        return bool(options and options.include_usage and options.continuous_usage_stats)


_DECODER = msgspec.json.Decoder(Ask)


def read_ask(body: bytes, *, is_chat: bool, model: str, strict: bool) -> Ask:
    """The request in a body. Raises: AskError (400 or 404)."""
    try:
        ask = _DECODER.decode(body)
    except msgspec.ValidationError as exc:
        param = re.sub(r".*\$\.?(.*)`$", r"body.\1", str(exc))
        raise AskError(
            400, error_body(400, f"1 validation error: {exc}", "Bad Request", param)
        ) from exc
    except msgspec.DecodeError as exc:
        raise AskError(400, error_body(400, f"JSON decode error: {exc}", "Bad Request")) from exc
    if strict:
        _refuse_unknown(body)
    if ask.model is not None and ask.model != model:
        text = f"The model `{ask.model}` does not exist. Valid aliases: {model}."
        raise AskError(404, error_body(404, text, "NotFoundError", "model"))
    _check_members(ask, is_chat=is_chat)
    return ask


def _refuse_unknown(body: bytes) -> None:
    unknown = sorted(set(msgspec.json.decode(body)) - _OPENAI_MEMBERS - {"loadgen_mock"})
    if unknown:
        raise bad_request(f"Unrecognized request argument supplied: {unknown[0]}", unknown[0])


def _check_members(ask: Ask, *, is_chat: bool) -> None:
    wanted = "messages" if is_chat else "prompt"
    if getattr(ask, wanted) is None:
        text = f"1 validation error: 'loc': 'body.{wanted}', 'msg': 'Field required'"
        raise AskError(400, error_body(400, text, "Bad Request", f"body.{wanted}"))
    if is_chat and not ask.messages:
        raise bad_request("Cannot apply chat template to an empty conversation.")
    if ask.n is not None and ask.n != 1:
        raise bad_request(f"n must be 1 here, got {ask.n}.", "n")
    limit = ask.limit_tok
    if limit is not None and limit < 1:
        raise bad_request(f"max_tokens must be at least 1, got {limit}.", "max_tokens")
    if not is_chat and not _is_one_prompt(ask.prompt):
        raise bad_request("prompt must be one text or one list of token ids here.", "prompt")


def _is_one_prompt(prompt: str | list[Any] | None) -> bool:
    if not isinstance(prompt, list):
        return True
    return _is_ids(prompt) or (len(prompt) == 1 and isinstance(prompt[0], str))


def _is_ids(prompt: list[Any]) -> bool:
    return bool(prompt) and all(isinstance(number, int) for number in prompt)


def message_text(message: dict[str, Any]) -> str:
    """A message's text: content (a text, or its text parts), then tool calls as JSON."""
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(str(p.get("text", "")) for p in content if isinstance(p, dict))
    calls = message.get("tool_calls")
    tail = msgspec.json.encode(calls).decode() if calls else ""
    return f"{content or ''}{tail}"
