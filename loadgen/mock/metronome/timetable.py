"""What a metronome stream will send and when: read from the request, rendered once."""

import re
from dataclasses import dataclass
from functools import lru_cache

from loadgen.mock.metronome.truthdump import CONTENT, DONE, ROLE, USAGE, meta_of

MODEL = "metronome"
NS_PER_MS = 1_000_000
_EDGE = 32_768
_WORDS = (b"tick", b" tock", b" tick", b" tack")

_NUMBER = rb'"%b"\s*:\s*([0-9]+(?:\.[0-9]+)?)'
_MEMBERS = {
    name: re.compile(_NUMBER % name.encode())
    for name in (
        "ttft_ms",
        "itl_ms",
        "step_ms",
        "max_tokens",
        "max_completion_tokens",
        "tokens_per_chunk",
    )
}
_HEADERS = {
    "ttft_ms": b"x-ttft-ms",
    "itl_ms": b"x-itl-ms",
    "step_ms": b"x-step-ms",
    "max_tokens": b"x-tokens",
    "tokens_per_chunk": b"x-tokens-per-chunk",
}
_STREAM = re.compile(rb'"stream"\s*:\s*true')
_USAGE = re.compile(rb'"include_usage"\s*:\s*true')


@dataclass(frozen=True, slots=True)
class Timetable:
    """When and how much; `step_ns` > 0 puts every event on one grid, as an engine's steps do."""

    ttft_ns: int
    itl_ns: int
    step_ns: int
    n_tok: int
    tok_per_event: int
    is_stream: bool
    wants_usage: bool
    is_chat: bool

    def due_ns(self, received_ns: int, place: int) -> int:
        """The instant of the content event at this place, from 0."""
        at_ns = received_ns + self.ttft_ns + place * self.itl_ns
        if self.step_ns:
            at_ns += -at_ns % self.step_ns
        return at_ns

    @property
    def n_events(self) -> int:
        """Content events."""
        return -(-self.n_tok // self.tok_per_event)


def read_timetable(
    path: bytes, headers: dict[bytes, bytes], body: bytes, defaults: dict[str, float]
) -> Timetable:
    """What a request asks for: headers first, then the body's members, then the defaults.

    Members are looked for in the body's first and last 32 KB, so that a long prompt costs nothing.
    """
    edges = body if len(body) <= 2 * _EDGE else body[:_EDGE] + b" " + body[-_EDGE:]

    def number(name: str) -> float:
        header = headers.get(_HEADERS.get(name, b""))
        if header is not None:
            return float(header)
        match = _MEMBERS[name].search(edges)
        if match is None and name == "max_tokens":
            match = _MEMBERS["max_completion_tokens"].search(edges)
        return float(match[1]) if match else defaults[name]

    return Timetable(
        ttft_ns=round(number("ttft_ms") * NS_PER_MS),
        itl_ns=round(number("itl_ms") * NS_PER_MS),
        step_ns=round(number("step_ms") * NS_PER_MS),
        n_tok=max(1, int(number("max_tokens"))),
        tok_per_event=max(1, int(number("tokens_per_chunk"))),
        is_stream=bool(_STREAM.search(edges)),
        wants_usage=bool(_USAGE.search(edges)),
        is_chat=path.endswith(b"/chat/completions"),
    )


def chunk(data: bytes) -> bytes:
    """One event as a chunk of a chunked body."""
    event = b"data: " + data + b"\n\n"
    return b"%x\r\n%b\r\n" % (len(event), event)


def _opening(*, is_chat: bool) -> bytes:
    kind = b"chat.completion.chunk" if is_chat else b"text_completion"
    return b'{"id":"metronome-0","object":"%b","created":0,"model":"metronome","choices":[' % kind


def _choice(text: bytes, finish: bytes, *, is_chat: bool) -> bytes:
    body = b'"delta":{"content":"%b"}' if is_chat else b'"text":"%b"'
    return b'{"index":0,%b,"logprobs":null,"finish_reason":%b}' % (body % text, finish)


@lru_cache(maxsize=256)
def content_events(*, is_chat: bool, n_tok: int, is_last: bool) -> list[tuple[bytes, int]]:
    """Ready chunks for the places of a cycle of four, each with its `meta_of`."""
    ready = []
    for shift in range(len(_WORDS)):
        words = b"".join(_WORDS[(shift + i) % len(_WORDS)] for i in range(n_tok))
        choice = _choice(words, b'"length"' if is_last else b"null", is_chat=is_chat)
        text = chunk(_opening(is_chat=is_chat) + choice + b"]}")
        ready.append((text, meta_of(CONTENT, n_tok, len(text))))
    return ready


def role_event() -> tuple[bytes, int]:
    """The first event of a chat stream: the role, no text."""
    delta = b'{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}'
    text = chunk(_opening(is_chat=True) + delta + b"]}")
    return text, meta_of(ROLE, 0, len(text))


def tail_events(timetable: Timetable) -> list[tuple[bytes, int]]:
    """What follows the last content event: usage if wanted, [DONE] with the body's end."""
    tail = []
    if timetable.wants_usage:
        text = chunk(_opening(is_chat=timetable.is_chat) + b'],"usage":%b}' % _usage(timetable))
        tail.append((text, meta_of(USAGE, 0, len(text))))
    text = chunk(b"[DONE]") + b"0\r\n\r\n"
    return [*tail, (text, meta_of(DONE, 0, len(text)))]


def _usage(timetable: Timetable) -> bytes:
    counts = b'{"prompt_tokens":8,"completion_tokens":%d,"total_tokens":%d}'
    return counts % (timetable.n_tok, timetable.n_tok + 8)


def whole_body(timetable: Timetable) -> bytes:
    """A body that is not streamed."""
    words = b"".join(_WORDS[i % len(_WORDS)] for i in range(timetable.n_tok))
    choice = _choice(words, b'"length"', is_chat=timetable.is_chat)
    if timetable.is_chat:
        choice = choice.replace(b'"delta":{', b'"message":{"role":"assistant",')
    opening = _opening(is_chat=timetable.is_chat).replace(b".chunk", b"")
    return opening + choice + b'],"usage":%b}' % _usage(timetable)
