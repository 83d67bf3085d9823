"""One streamed answer: tokens in, events out, with the faults that strike in the middle of it."""

import itertools
from typing import Any

import msgspec

from loadgen.mock.answer import CONTENT, REASONING, SILENT, TOOL_ARGS, TOOL_NAME, Answer, Token
from loadgen.mock.ask import Ask
from loadgen.mock.faults import Faults
from loadgen.mock.render import Renderer, Usage
from loadgen.mock.truth import Entry
from loadgen.mock.wire import Wire

_KINDS = {
    CONTENT: "content",
    REASONING: "reasoning",
    TOOL_NAME: "tool",
    TOOL_ARGS: "tool",
    SILENT: "empty",
}
ENGINE_DIED = {
    "error": {"message": "engine died", "type": "InternalServerError", "param": None, "code": 500}
}


class Stream:
    """Turns an answer's tokens into events as they come; ends the wire after the last."""

    def __init__(self, ask: Ask, answer: Answer, renderer: Renderer, wire: Wire) -> None:
        self._ask = ask
        self._answer = answer
        self._renderer = renderer
        self._wire = wire
        self._entry: Entry | None = None
        self._faults = Faults([])
        self.usage = Usage(0, None, None)
        self._prompt: list[int] = []
        self._n_sent = 0
        self._n_token_events = 0
        self._has_role = not renderer.is_chat
        self.is_over = False

    def open(self, entry: Entry, faults: Faults, usage: Usage, prompt: list[int]) -> None:
        """Takes what belongs to the request; call once before the first token."""
        self._entry, self._faults, self.usage, self._prompt = entry, faults, usage, prompt
        self._strike()

    def send_role(self) -> None:
        """Writes the role event, once."""
        if not self._has_role and not self.is_over:
            self._has_role = True
            ids = self._prompt if self._ask.return_token_ids else None
            self._wire.event(self._renderer.role(ids, self._running_usage()), "role")

    def on_tokens(self, n: int) -> None:
        """Takes the next `n` tokens of the answer."""
        if self.is_over:
            return
        if not self._n_sent:
            self.send_role()
            self._long_line()
        tokens = self._answer.tokens[self._n_sent : self._n_sent + n]
        for _, group in itertools.groupby(tokens, key=lambda t: (_KINDS[t.channel], t.call)):
            if not self.is_over:
                self._send(list(group))
        if self._n_sent >= len(self._answer.tokens) and not self.is_over:
            self._finish()

    def _send(self, tokens: list[Token]) -> None:
        self._n_sent += len(tokens)
        ask, answer = self._ask, self._answer
        is_last = self._n_sent == len(answer.tokens)
        is_silent = tokens[0].channel == SILENT
        if self._entry is not None and is_silent:
            self._entry.silent_tokens += len(tokens)
        if is_silent and not is_last and not ask.return_token_ids:
            return
        ids = [token.number for token in tokens] if ask.return_token_ids else None
        end = (answer.finish_reason, answer.stop_reason) if is_last else None
        if tokens[0].channel == TOOL_NAME and len(tokens) > 1:
            self._n_sent -= len(tokens) - 1
            self._send_name_apart(tokens)
            return
        delta = self._renderer.delta(tokens, self._renderer.call_id(tokens[0].call))
        kind = "finish" if is_silent and is_last else _KINDS[tokens[0].channel]
        data = self._renderer.event(delta, ids, end, self._running_usage())
        self._wire.event(data, kind, 0 if is_silent else len(tokens))
        if not is_silent:
            self._n_token_events += 1
            self._strike()

    def _send_name_apart(self, tokens: list[Token]) -> None:
        """A tool's name and its first arguments came in one step: two events, as vLLM does."""
        self._n_sent -= 1
        self._send(tokens[:1])
        if not self.is_over:
            self._send(tokens[1:])

    def _running_usage(self) -> dict[str, Any] | None:
        if self._ask.wants_running_usage and not self._faults.has("no_usage"):
            return self.usage.members(self._n_sent)
        return None

    def _finish(self) -> None:
        self.is_over = True
        if self._ask.wants_usage and not self._faults.has("no_usage"):
            self._wire.event(self._renderer.usage(self.usage.members(self._n_sent)), "usage")
        self._close()

    def _close(self) -> None:
        self.is_over = True
        if not self._faults.has("no_done"):
            self._wire.event(b"[DONE]", "done")
        self._wire.finish("clean")

    def abort(self) -> None:
        """Ends the stream as vLLM does when it is told to stop: `abort`, [DONE], clean."""
        if not self.is_over:
            self.send_role()
            delta = self._renderer.delta([Token(SILENT, "", 0)], "")
            data = self._renderer.event(delta, None, ("abort", None), None)
            self._wire.event(data, "finish")
            self._answer.finish_reason = "abort"
            self._close()

    def _strike(self) -> None:
        """Lets the faults happen that are due after this many token events."""
        for kind in ("stall", "garbage", "error", "abort", "truncate", "reset"):
            fault = self._faults.get(kind)
            if fault is None or fault.count("after") != self._n_token_events or self.is_over:
                continue
            if kind == "stall":
                self._wire.hold(fault.number("ms"))
            elif kind == "garbage":
                self._wire.event(b'{"choices":[{"index":0,"delta":{"content":', "garbage")
            elif kind == "error":
                self._error(is_named=bool(fault.count("named")), is_done=bool(fault.count("done")))
            elif kind == "abort":
                self.abort()
            else:
                self.is_over = True
                self._wire.cut("reset" if kind == "reset" else fault.text("how"))

    def _error(self, *, is_named: bool, is_done: bool) -> None:
        self.is_over = True
        if is_named:
            self._wire.frame(b'event: error\ndata: {"message": "overloaded"}\n\n', "error")
        else:
            self._wire.event(msgspec.json.encode(ENGINE_DIED), "error")
        if is_done:
            self._wire.event(b"[DONE]", "done")
        self._wire.finish("clean")

    def _long_line(self) -> None:
        fault = self._faults.get("long_line")
        if fault is not None:
            text = "r" * fault.count("chars")
            delta = msgspec.json.encode({fault.text("channel"): text})
            data = self._renderer.event(b'"delta":' + delta, None, None, None)
            self._wire.event(data, "reasoning")
