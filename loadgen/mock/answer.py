"""What a request will be answered, decided before its first token: texts, ids and the end.

The same prompt, seed and directive give the same answer. Lengths are drawn from the profile's
lognormal unless `ignore_eos` or a directive says otherwise; words come from a fixed list, each
one token of `vocabulary`.
"""

import random
from dataclasses import dataclass, field
from math import log
from typing import Any

import msgspec

from loadgen.mock.ask import Ask, ToolCall
from loadgen.mock.engine.vocabulary import EOS, THINK_END, TOOL_TAG, Vocabulary
from loadgen.mock.profiles import Profile

_WORD_LIST = (
    "the a of to and in that is was for on are with as at be by this from or one had not but "
    "what all were when we there can an your which their if do will each about how up out them "
    "then she many some so these would other into has more her two like him see time could no "
    "make than first been its who now people my made over did down only way find use may water "
    "long little very after words called just where most know get through back much before go "
    "good new write our me man too any day same right look think also around another came come"
)
WORDS = _WORD_LIST.split()

CONTENT, REASONING, TOOL_NAME, TOOL_ARGS, SILENT = range(5)


@dataclass(slots=True)
class Token:
    """One output token: its channel, its text (empty for silent ones), its id, its tool call."""

    channel: int
    text: str
    number: int
    call: int = 0


@dataclass(slots=True)
class Answer:
    """All output tokens and how the answer ends; `calls` as (name, arguments)."""

    tokens: list[Token]
    finish_reason: str
    stop_reason: str | None = None
    calls: list[ToolCall] = field(default_factory=list)

    def text(self, channel: int) -> str:
        """All text of one channel."""
        return "".join(token.text for token in self.tokens if token.channel == channel)

    @property
    def n_reasoning(self) -> int:
        """Output tokens of the reasoning channel, its end tag included."""
        return sum(1 for t in self.tokens if t.channel == REASONING or t.number == THINK_END)


class Composer:
    """Draws answers for one profile and seed."""

    def __init__(self, profile: Profile, vocabulary: Vocabulary, seed: int) -> None:
        self._profile = profile
        self._vocabulary = vocabulary
        self._seed = seed
        self._words = [(f" {word}", vocabulary.id_of(f" {word}")) for word in WORDS]

    def rng(self, prompt: list[int], ask: Ask, purpose: str) -> random.Random:
        """Chance for one purpose, the same for the same prompt and seeds."""
        return random.Random(f"{self._seed}:{purpose}:{ask.seed}:{hash(tuple(prompt))}")

    def compose(self, ask: Ask, prompt: list[int]) -> Answer:
        """The whole answer to a request whose prompt has these ids."""
        rng = self.rng(prompt, ask, "answer")
        limit = self._profile.context_tok - len(prompt)
        if ask.limit_tok is not None:
            limit = min(limit, ask.limit_tok)
        calls = self._tool_calls(ask, rng)
        body = self._body(ask, rng, limit, calls)
        named = isinstance(ask.tool_choice, dict)
        finish = "tool_calls" if calls and not named else "stop"
        if calls or not body or not ask.ignore_eos:
            body.append(Token(SILENT, "", EOS))
        if len(body) > limit:
            body, finish = body[:limit], "length"
        answer = Answer(body, finish if body and body[-1].number == EOS else "length", None, calls)
        if ask.stops:
            _cut_at_stop(answer, ask.stops, ask.min_tokens)
        return answer

    def _body(self, ask: Ask, rng: random.Random, limit: int, calls: list[ToolCall]) -> list[Token]:
        n_total = self._length(ask, rng, limit)
        thinking = self._thinking(ask, rng, n_total)
        fixed = self._fixed_text(ask, rng)
        if calls:
            return thinking + self._call_tokens(calls)
        if fixed is not None:
            return thinking + self._text_tokens(fixed, CONTENT)
        return thinking + self._draw_words(rng, max(0, n_total - len(thinking)), CONTENT)

    def _length(self, ask: Ask, rng: random.Random, limit: int) -> int:
        output = self._profile.output
        mu = log(output.mean_tok) - output.sigma**2 / 2
        drawn = round(rng.lognormvariate(mu, output.sigma))
        drawn = min(max(drawn, output.min_tok), output.max_tok)
        wanted = ask.loadgen_mock.output_tokens
        if wanted is not None:
            return wanted
        return limit if ask.ignore_eos else max(drawn, ask.min_tokens)

    def _thinking(self, ask: Ask, rng: random.Random, n_total: int) -> list[Token]:
        if (ask.chat_template_kwargs or {}).get("enable_thinking") is False or not ask.messages:
            return []
        directive = ask.loadgen_mock
        if directive.reasoning is not None:
            tokens = self._text_tokens(directive.reasoning, REASONING)
        else:
            n = directive.reasoning_tokens
            if n is None:
                n = round(n_total * self._profile.output.reasoning_share)
            tokens = self._draw_words(rng, n, REASONING)
        return [*tokens, Token(SILENT, "", THINK_END)] if tokens else []

    def _fixed_text(self, ask: Ask, rng: random.Random) -> str | None:
        directive = ask.loadgen_mock
        if directive.right is not None:
            is_right = rng.random() < directive.p_right
            return directive.right if is_right else (directive.wrong or "no")
        return directive.answer

    def _tool_calls(self, ask: Ask, rng: random.Random) -> list[ToolCall]:
        if ask.loadgen_mock.tool_calls is not None:
            return ask.loadgen_mock.tool_calls
        if not ask.tools or ask.tool_choice == "none":
            return []
        functions = [tool.get("function") or {} for tool in ask.tools]
        if isinstance(ask.tool_choice, dict):
            name = (ask.tool_choice.get("function") or {}).get("name")
            functions = [f for f in functions if f.get("name") == name] or functions
        elif ask.tool_choice != "required" and rng.random() >= self._profile.output.tool_share:
            return []
        chosen = functions[rng.randrange(len(functions))]
        arguments = draw_arguments(chosen.get("parameters") or {}, rng)
        text = msgspec.json.encode(arguments).decode()
        return [ToolCall(str(chosen.get("name", "tool")), text)]

    def _call_tokens(self, calls: list[ToolCall]) -> list[Token]:
        tokens: list[Token] = []
        for index, call in enumerate(calls):
            silent = [Token(SILENT, "", TOOL_TAG)] * self._profile.output.tool_silent_tok
            name = Token(TOOL_NAME, call.name, self._vocabulary.id_of(call.name), index)
            tokens += [*silent, name, *self._text_tokens(call.arguments, TOOL_ARGS, index)]
        return tokens

    def _text_tokens(self, text: str, channel: int, call: int = 0) -> list[Token]:
        vocabulary = self._vocabulary
        pieces = vocabulary.pieces(text)
        return [Token(channel, piece, vocabulary.id_of(piece), call) for piece in pieces]

    def _draw_words(self, rng: random.Random, n: int, channel: int) -> list[Token]:
        tokens = [Token(channel, *word) for word in rng.choices(self._words, k=n)]
        if tokens:
            first = tokens[0].text.lstrip()
            tokens[0] = Token(channel, first, self._vocabulary.id_of(first))
        return tokens


def draw_arguments(schema: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Arguments that fit a tool's flat JSON schema."""
    values: dict[str, Any] = {}
    for name, member in (schema.get("properties") or {}).items():
        kind = member.get("type") if isinstance(member, dict) else None
        if isinstance(member, dict) and member.get("enum"):
            values[name] = rng.choice(member["enum"])
        elif kind in ("integer", "number"):
            values[name] = rng.randrange(100)
        elif kind == "boolean":
            values[name] = rng.random() < 0.5
        elif kind == "array":
            values[name] = [rng.choice(WORDS)]
        elif kind == "object":
            values[name] = draw_arguments(member, rng)
        else:
            values[name] = rng.choice(WORDS)
    return values


def _cut_at_stop(answer: Answer, stops: list[str], min_tokens: int) -> None:
    """Ends the answer before the first stop text that its content holds."""
    text = ""
    for place, token in enumerate(answer.tokens):
        if token.channel != CONTENT:
            continue
        before = len(text)
        text += token.text
        longest = max(map(len, stops))
        tail_from = max(0, before - longest)
        hits = [(at, s) for s in stops if s and (at := text.find(s, tail_from)) >= 0]
        if hits and place + 1 > min_tokens:
            at, stop = min(hits)
            _shorten(answer.tokens[: place + 1], before + len(token.text) - at)
            del answer.tokens[place + 1 :]
            answer.finish_reason, answer.stop_reason = "stop", stop
            return


def _shorten(tokens: list[Token], n_chars: int) -> None:
    """Takes the last `n_chars` characters of content from the tokens' texts."""
    for token in reversed(tokens):
        if token.channel == CONTENT and n_chars > 0:
            cut = min(n_chars, len(token.text))
            token.text = token.text[: len(token.text) - cut]
            n_chars -= cut
