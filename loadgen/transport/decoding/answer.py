"""What one response said, gathered event by event: texts by choice and channel, tool calls, ends.

An event's kind is its most answer-like channel (tool, then content, then reasoning): the time to
the first answer is the one that must not be missed where a server puts two into one event. A tool
event counts from the function's name on, since that is what the caller sees first.
"""

import json
from dataclasses import dataclass, field

from loadgen.model.record import EventKind
from loadgen.transport.decoding.openai_events import Choice, Delta, Function, StreamEvent, ToolCall

_OTHER = int(EventKind.OTHER)
_REASONING = int(EventKind.REASONING)
_CONTENT = int(EventKind.CONTENT)
_TOOL = int(EventKind.TOOL)


@dataclass(slots=True)
class Call:
    """One tool call, joined from its fragments."""

    id: str = ""
    name: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Said:
    """What one choice said."""

    content: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    by_index: dict[int, Call] = field(default_factory=dict)
    finish_reason: str = ""

    def text(self) -> str:
        """All channels in one string, as a tokenizer should count them."""
        calls = [piece for call in self.calls for piece in (*call.name, *call.arguments)]
        return _whole([*self.reasoning, *self.content, *calls])

    def as_json(self) -> dict[str, object]:
        """The members of `output_text` for this choice; channels without text are left out."""
        members: dict[str, object] = {"content": _whole(self.content)}
        if self.reasoning:
            members["reasoning"] = _whole(self.reasoning)
        if self.calls:
            members["tool_calls"] = [
                {"name": _whole(call.name), "arguments": _whole(call.arguments)}
                for call in self.calls
            ]
        return members


@dataclass(slots=True)
class Answer:
    """The sum of the events added so far. `ids` and `chat` describe what the events carried."""

    said: dict[int, Said] = field(default_factory=dict)
    reasoning_chars: int = 0
    content_chars: int = 0
    tool_chars: int = 0
    chat: bool = False
    """Some choice was in the chat dialect (`delta` or `message`), so there is one prompt."""

    def add(self, event: StreamEvent) -> tuple[int, int]:
        """(kind, chars over all channels) of the event, whose texts are taken in."""
        choices = event.choices
        if not choices:
            return _OTHER, 0
        if len(choices) == 1:
            return self._add_plain(choices[0]) or self._add_choice(choices[0])
        kind = chars = 0
        for choice in choices:
            one_kind, one_chars = self._add_choice(choice)
            kind = max(kind, one_kind)
            chars += one_chars
        return kind, chars

    def _add_plain(self, choice: Choice) -> tuple[int, int] | None:
        """The same for nearly all events: more content for a known choice. None for any other."""
        delta = choice.delta
        said = self.said.get(choice.index)
        if delta is None or said is None or choice.finish_reason or not delta.content:
            return None
        if delta.reasoning or delta.reasoning_content or delta.refusal:
            return None
        if delta.tool_calls or delta.function_call:
            return None
        said.content.append(delta.content)
        chars = len(delta.content)
        self.content_chars += chars
        self.chat = True
        return _CONTENT, chars

    def _add_choice(self, choice: Choice) -> tuple[int, int]:
        said = self.said.get(choice.index)
        if said is None:
            said = self.said[choice.index] = Said()
        if choice.finish_reason:
            said.finish_reason = choice.finish_reason
        delta = choice.delta or choice.message
        if delta is not None:
            self.chat = True
            return self._add_delta(said, delta)
        if choice.text:
            said.content.append(choice.text)
            self.content_chars += len(choice.text)
            return _CONTENT, len(choice.text)
        return _OTHER, 0

    def _add_delta(self, said: Said, delta: Delta) -> tuple[int, int]:
        kind = chars = 0
        # gateways send one thought under both names, so the two are never added
        reasoning = delta.reasoning or delta.reasoning_content
        if reasoning:
            said.reasoning.append(reasoning)
            kind = _REASONING
            chars = len(reasoning)
            self.reasoning_chars += chars
        content = delta.content
        if delta.refusal:
            content = (content or "") + delta.refusal
        if content:
            said.content.append(content)
            kind = _CONTENT
            chars += len(content)
            self.content_chars += len(content)
        if delta.tool_calls or delta.function_call:
            added = _add_calls(said, delta)
            if added:
                kind = _TOOL
                chars += added
                self.tool_chars += added
        return kind, chars

    @property
    def tool_calls(self) -> int:
        """Calls of all choices; never fragments."""
        return sum(len(said.calls) for said in self.said.values())

    @property
    def finish_reason(self) -> str:
        """The lowest choice's; `abort` or `error` where any choice ended so."""
        reasons = [said.finish_reason for _, said in sorted(self.said.items())]
        for reason in reasons:
            if reason in ABORTS or reason == "error":
                return reason
        return next(filter(None, reasons), "")

    def texts(self) -> list[str]:
        """The whole text of each choice, all channels joined."""
        return [said.text() for _, said in sorted(self.said.items())]

    def output_text(self) -> dict[str, object]:
        """The lowest choice's members, the others under `other_choices`."""
        choices = [said.as_json() for _, said in sorted(self.said.items())]
        if not choices:
            return {"content": ""}
        first, *others = choices
        return {**first, "other_choices": others} if others else first


ABORTS = frozenset({"abort", "aborted", "cancelled", "canceled"})
"""Finish reasons by which a server says that it did not finish."""


def _add_calls(said: Said, delta: Delta) -> int:
    """Characters of names and arguments that the fragments brought."""
    chars = 0
    for fragment in delta.tool_calls or ():
        chars += _extend(_call_of(said, fragment), fragment.function)
    if delta.function_call is not None:
        legacy = said.by_index.get(-1)
        if legacy is None:
            legacy = _new_call(said, -1, "")
        chars += _extend(legacy, delta.function_call)
    return chars


def _call_of(said: Said, fragment: ToolCall) -> Call:
    """The call that the fragment belongs to: by index; a new id with a name opens a new one."""
    names_one = fragment.function is not None and bool(fragment.function.name)
    index = fragment.index
    if index is None:
        index = len(said.calls) if names_one or not said.calls else len(said.calls) - 1
    call = said.by_index.get(index)
    if call is None:
        return _new_call(said, index, fragment.id or "")
    if fragment.id and call.id and fragment.id != call.id and names_one:
        # some servers send every whole call under index 0
        return _new_call(said, index, fragment.id)
    return call


def _new_call(said: Said, index: int, call_id: str) -> Call:
    call = Call(id=call_id)
    said.calls.append(call)
    said.by_index[index] = call
    return call


def _extend(call: Call, function: Function | None) -> int:
    if function is None:
        return 0
    chars = 0
    if function.name:
        call.name.append(function.name)
        chars += len(function.name)
    if function.arguments:
        call.arguments.append(function.arguments)
        chars += len(function.arguments)
    return chars


def _whole(pieces: list[str]) -> str:
    """The joined text; a character sent as two half surrogates is made whole, a lone half marked.

    Servers written in JavaScript may cut a text between the halves.
    """
    text = "".join(pieces)
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def output_json(value: object) -> str:
    """Compact JSON as in `Record.output_text`, characters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
