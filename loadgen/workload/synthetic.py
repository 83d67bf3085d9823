"""Prompts made of words: any length, unlike any prompt sent before, the same for the same plan.

A prompt is f(seed, point, index) behind an opening that also depends on the run's salt, so no
prefix cache is hit but on purpose (`shared_prefix_tok`, or `salted: false`).
"""

from collections.abc import Callable
from functools import cached_property
from random import Random

from msgspec import Struct

from loadgen.errors import UsageError
from loadgen.model.plan import WorkloadPlan
from loadgen.model.session import Answer, Session, Turn, Wait
from loadgen.tokens import TextPool
from loadgen.workload.bodies import json_text, limits, message, refuse_live_completions
from loadgen.workload.lengths import Fixed, parse_gap, parse_length
from loadgen.workload.sessions import History, Overlong, WorkloadContext

SALT_TOK = 16
"""Tokens of the opening that differs from run to run, within the asked length."""
_SAMPLE = 200


class SyntheticSpec(Struct, frozen=True):
    """`synthetic:isl=1024,osl=256`; distributions stand in quotes: `isl='uniform:512,2048'`."""

    isl: str = "1024"
    osl: str = "256"
    shared_prefix_tok: int = 0
    turns: str = "1"
    think: str = "0"
    system: str = ""
    ignore_eos: bool = False
    isl_is_wire: bool = False
    history: History = "recorded"
    salted: bool = True


class Synthetic:
    """Sessions of one or more turns. `isl` is a session's first prompt, shared prefix included.

    Every later turn adds `isl` less that prefix of new text behind the history so far.
    """

    n_rows: int | None = None
    notices: tuple[str, ...] = ()

    def __init__(self, plan: WorkloadPlan, context: WorkloadContext) -> None:
        self._plan = plan
        self._context = context
        self._isl = parse_length(plan.isl, "isl")
        self._osl = parse_length(plan.osl, "osl")
        self._turns = parse_length(plan.turns, "turns")
        self._think = parse_gap(plan.think, "think")
        self._pool = TextPool(context.token_fit, context.seed)
        self._pool.make_ready()
        self._salt = "" if plan.salted is False else context.salt
        self._chat = context.endpoint_type == "chat"
        refuse_live_completions(plan, context.endpoint_type)
        self._taken_tok = plan.shared_prefix_tok + self._wire_tok()
        if isinstance(self._isl, Fixed) and self._isl.n_tok <= self._taken_tok:
            raise UsageError(
                f"isl `{plan.isl}` leaves no token for the prompt itself: shared prefix and what "
                f"the endpoint adds take {self._taken_tok}",
                "ask for longer prompts or a shorter shared prefix",
            )

    def session(self, point: int, index: int) -> Session:
        """Session `index` of a point; never None, since words don't run out."""
        rng = Random(f"{self._context.seed}/lengths/{point}/{index}")
        text = Random(f"{self._context.seed}/text/{point}/{index}")
        salt = Random(f"{self._salt}/{self._context.seed}/salt/{point}/{index}")
        n_turns = self._turns.draw(rng)
        body: list[bytes | Answer] = [*self._head]
        total_tok: int | None = self._taken_tok
        turns: list[Turn] = []
        for number in range(n_turns):
            new_tok = max(1, self._isl.draw(rng) - self._taken_tok)
            answer_tok = self._osl.draw(rng)
            asked = self._user(new_tok, text, salt if number == 0 else None)
            body.extend(asked if n_turns == 1 else [b"".join(asked)])
            total_tok = None if total_tok is None else total_tok + new_tok
            gap_ns = self._think.draw_ns(rng)
            after = (Wait(str(number - 1), "done", gap_ns),) if number else ()
            tail = self._tail + limits(answer_tok, ignore_eos=self._plan.ignore_eos)
            parts = (*body, tail) if n_turns > 1 else (_joined(body, tail),)
            turns.append(Turn(str(number), parts, total_tok, answer_tok, after))
            if number + 1 < n_turns:
                body.extend(self._assistant(str(number), answer_tok, text))
                live = self._plan.history == "live"
                total_tok = None if total_tok is None or live else total_tok + answer_tok
        name = f"{point}-{index}"
        return Session(name, tuple(turns), history=self._plan.history, prompt_id=name)

    def rows_over(self, limit_tok: int, count: Callable[[str], int] | None = None) -> Overlong:
        """Of the first 200 sessions of point 0, those whose longest turn doesn't fit."""
        needs: list[int] = []
        for index in range(_SAMPLE):
            turns = self.session(0, index).turns
            needs.append(max((t.input_tok or 0) + (t.max_output_tok or 0) for t in turns))
        over = sum(need > limit_tok for need in needs)
        return Overlong(over, _SAMPLE, max(needs), estimated=False)

    def _wire_tok(self) -> int:
        """Tokens that the endpoint adds, where the wire length is what was asked."""
        if not self._plan.isl_is_wire:
            return 0
        if self._context.token_fit.overhead_tok is None:
            raise UsageError(
                "`--isl-wire` needs to know what the endpoint adds, and nobody counted that",
                "leave `--no-preflight` away, or ask for content lengths",
            )
        return self._context.token_fit.overhead_tok

    @cached_property
    def _head(self) -> tuple[bytes, ...]:
        """What all sessions begin with: the system message, or the prompt's shared start."""
        plan = self._plan
        rng = Random(f"{self._salt}/{self._context.seed}/shared")
        shared = b""
        if plan.shared_prefix_tok:
            words = self._pool.pieces(plan.shared_prefix_tok - 1, rng)
            shared = b"".join((self._pool.opening(rng), *words))
        system = b" ".join(text for text in (json_text(plan.system_text), shared) if text)
        if not self._chat:
            return (b'"prompt":"' + system,)
        return (b'"messages":[' + (message("system", system) + b"," if system else b""),)

    @cached_property
    def _tail(self) -> bytes:
        return b"]" if self._chat else b'"'

    def _user(self, n_tok: int, text: Random, salt: Random | None) -> list[bytes]:
        """A user's text of `n_tok` tokens, opened by the salt where it is the first one.

        In pieces: a prompt of 128k tokens is copied once, when its body is joined.
        """
        words = [b'{"role":"user","content":"'] if self._chat else []
        left = n_tok
        if self._chat or (salt is not None and len(self._head[0]) == len(b'"prompt":"')):
            words.append(self._pool.opening(salt or text))
            left -= 1
        if salt is not None:
            words += self._pool.pieces(min(SALT_TOK, left), salt)
            left -= min(SALT_TOK, left)
        words += self._pool.pieces(left, text)
        return [*words, b'"}'] if self._chat else words

    def _assistant(self, turn_id: str, n_tok: int, text: Random) -> list[bytes | Answer]:
        """The answer to an earlier turn as history: made up, or the live one's place."""
        if self._plan.history == "live":
            return [b',{"role":"assistant","content":', Answer(turn_id), b"},"]
        words = self._pool.pieces(n_tok - 1 if self._chat else n_tok, text)
        if not self._chat:
            return [b"".join(words)]
        opened = b"".join((self._pool.opening(text), *words))
        return [b"," + message("assistant", opened) + b","]


def _joined(body: list[bytes | Answer], tail: bytes) -> bytes:
    return b"".join((*(part for part in body if isinstance(part, bytes)), tail))
