"""Answers as JSON in the shapes of vLLM 0.32: events of a stream, and whole bodies."""

import time
from typing import Any

import msgspec

from loadgen.mock.answer import CONTENT, REASONING, TOOL_ARGS, TOOL_NAME, Answer, Token

FINGERPRINT = "mock-0.32.0"
VERSION = "0.32.0"

_encode = msgspec.json.encode


class Usage:
    """Token counts of one request as the member `usage`."""

    def __init__(self, prompt_tok: int, cached_tok: int | None, reasoning_tok: int | None) -> None:
        self.prompt_tok = prompt_tok
        self.cached_tok = cached_tok
        self.reasoning_tok = reasoning_tok

    def members(self, n_out: int) -> dict[str, Any]:
        """The counts after `n_out` output tokens; details only where they are reported."""
        counts: dict[str, Any] = {
            "prompt_tokens": self.prompt_tok,
            "total_tokens": self.prompt_tok + n_out,
            "completion_tokens": n_out,
        }
        if self.cached_tok is not None:
            counts["prompt_tokens_details"] = {"cached_tokens": self.cached_tok}
        if self.reasoning_tok is not None:
            counts["completion_tokens_details"] = {"reasoning_tokens": self.reasoning_tok}
        return counts


class Renderer:
    """Bytes for one request's answer."""

    def __init__(self, answer_id: str, model: str, reasoning_field: str, *, is_chat: bool) -> None:
        self.is_chat = is_chat
        self._reasoning_field = reasoning_field
        self._id = answer_id
        self._model = model
        self._created = int(time.time())
        kind = "chat.completion.chunk" if is_chat else "text_completion"
        self._head = _encode(self._opening(kind))[:-1] + b',"choices":['

    def _opening(self, kind: str) -> dict[str, Any]:
        return {"id": self._id, "object": kind, "created": self._created, "model": self._model}

    def role(self, prompt_ids: list[int] | None, usage: dict[str, Any] | None) -> bytes:
        """The first event of a chat stream: the role, no text."""
        choice = b'{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,'
        ids = b',"prompt_token_ids":' + _encode(prompt_ids) + b',"prompt_text":null'
        return self._event(choice + b'"finish_reason":null}', usage, ids)

    def delta(self, tokens: list[Token], call_id: str) -> bytes:
        """The member `delta` (chat) or `text` for tokens of one channel."""
        text = "".join(token.text for token in tokens)
        channel = tokens[0].channel if tokens else CONTENT
        if not self.is_chat:
            return b'"text":' + _encode(text)
        if channel == CONTENT:
            return b'"delta":{"content":' + _encode(text) + b"}"
        if channel == REASONING:
            return b'"delta":{"' + self._reasoning_field.encode() + b'":' + _encode(text) + b"}"
        if channel == TOOL_NAME:
            call = {"id": call_id, "type": "function", "index": tokens[0].call}
            call["function"] = {"name": text}
            return b'"delta":' + _encode({"content": None, "tool_calls": [call]})
        if channel == TOOL_ARGS:
            part = {"index": tokens[0].call, "function": {"arguments": text}}
            return b'"delta":' + _encode({"content": None, "tool_calls": [part]})
        return b'"delta":{}'

    def event(
        self,
        delta: bytes,
        ids: list[int] | None,
        end: tuple[str, str | None] | None,
        usage: dict[str, Any] | None,
    ) -> bytes:
        """One event; `end` is (finish_reason, stop_reason) on the last one."""
        finish = b"null"
        if end is not None:
            finish = _encode(end[0]) + b',"stop_reason":' + _encode(end[1])
        choice = b'{"index":0,%b,"logprobs":null,"finish_reason":%b,"token_ids":%b}'
        return self._event(choice % (delta, finish, _encode(ids)), usage, b"")

    def usage(self, counts: dict[str, Any]) -> bytes:
        """The last event: no choices, the counts."""
        tail = b',"system_fingerprint":' + _encode(FINGERPRINT)
        return self._event(b"", counts, tail)

    def _event(self, choice: bytes, usage: dict[str, Any] | None, tail: bytes) -> bytes:
        counts = b"" if usage is None else b',"usage":' + _encode(usage)
        return b"%b%b]%b%b}" % (self._head, choice, counts, tail)

    def whole(self, answer: Answer, counts: dict[str, Any], ids: list[int] | None) -> bytes:
        """A body that is not streamed."""
        choice: dict[str, Any] = {"index": 0}
        if self.is_chat:
            choice["message"] = self._message(answer)
        else:
            choice["text"] = answer.text(CONTENT)
        choice |= {
            "logprobs": None,
            "finish_reason": answer.finish_reason,
            "stop_reason": answer.stop_reason,
            "token_ids": ids,
        }
        body = self._opening("chat.completion" if self.is_chat else "text_completion")
        body |= {"choices": [choice], "system_fingerprint": FINGERPRINT, "usage": counts}
        return _encode(body)

    def _message(self, answer: Answer) -> dict[str, Any]:
        message: dict[str, Any] = {
            "role": "assistant",
            "content": answer.text(CONTENT) or None,
            "refusal": None,
            self._reasoning_field: answer.text(REASONING) or None,
        }
        named = [t.call for t in answer.tokens if t.channel == TOOL_NAME]
        if named:
            message["tool_calls"] = [
                {
                    "id": self.call_id(index),
                    "type": "function",
                    "function": {
                        "name": answer.calls[index].name,
                        "arguments": "".join(
                            t.text
                            for t in answer.tokens
                            if t.channel == TOOL_ARGS and t.call == index
                        ),
                    },
                }
                for index in named
            ]
        return message

    def call_id(self, index: int) -> str:
        """A tool call's id."""
        return f"chatcmpl-tool-{self._id.rpartition('-')[2]}{index}"


def models_body(model: str, context_tok: int, created: int) -> bytes:
    """The body of /v1/models."""
    card = {
        "id": model,
        "object": "model",
        "created": created,
        "owned_by": "vllm",
        "root": model,
        "parent": None,
        "max_model_len": context_tok,
        "permission": [],
    }
    return _encode({"object": "list", "data": [card]})
