"""ShareGPT conversations: `[{"id", "conversations": [{"from": "human", "value": "..."}]}]`.

As one JSON array or as JSONL. A row becomes a session: each human text is a turn, the recorded
answers (or the live ones) stand between them.
"""

from array import array
from collections.abc import Callable
from pathlib import Path
from random import Random

from msgspec import Struct, field

from loadgen.errors import InputError
from loadgen.model.plan import WorkloadPlan
from loadgen.model.session import Answer, Session, Turn, Wait
from loadgen.workload.bodies import json_text, limits, message, refuse_live_completions
from loadgen.workload.chat import CHARS_PER_TOK, parse_osl
from loadgen.workload.lengths import Length, parse_gap, parse_length
from loadgen.workload.rows import Rows
from loadgen.workload.sessions import History, Overlong, WorkloadContext, salt_mark

_HUMAN = ("human", "user")
_ANSWER = ("gpt", "assistant", "chatgpt", "model", "bing", "bard")


class Said(Struct):
    """One text of a conversation."""

    speaker: str = field(name="from")
    value: str


class Conversation(Struct):
    """One row; its other members are not read."""

    conversations: list[Said]


class Exchange(Struct, frozen=True):
    """A human text and the answer recorded for it, empty where none is."""

    asked: str
    answered: str


class ShareGptSpec(Struct, frozen=True):
    """`sharegpt:FILE`: conversations, as an array or one a line."""

    path: str
    osl: str = "256"
    turns: str = "1"
    think: str = "0"
    system: str = ""
    once: bool = False
    ignore_eos: bool = False
    history: History = "recorded"
    salted: bool = True


class ShareGpt:
    """One session a usable row, in the file's order; starts again at its end unless once.

    `turns` limits a session's turns (`all` keeps them); `osl` `recorded` asks for as many tokens
    as the recorded answer has by the four-characters rule.
    """

    def __init__(self, plan: WorkloadPlan, context: WorkloadContext) -> None:
        refuse_live_completions(plan, context.endpoint_type)
        self._plan = plan
        self._context = context
        self._rows = Rows(Path(plan.path))
        self._recorded = plan.osl == "recorded"
        self._osl = None if self._recorded else parse_osl(plan.osl)
        self._turns: Length | None = (
            None if plan.turns == "all" else parse_length(plan.turns, "turns")
        )
        self._think = parse_gap(plan.think, "think")
        self._salted = plan.salted is not False
        self._usable = array("Q", (row for row in range(len(self._rows)) if self._talk(row)[1]))
        left_out = len(self._rows) - len(self._usable)
        if not self._usable:
            raise InputError(
                f"`{plan.path}`: none of {left_out} rows can be sent: no human text in any of them",
                'rows look like {"conversations":[{"from":"human","value":"..."}]}',
            )
        self.n_rows: int | None = len(self._usable)
        said = f"{left_out} of {len(self._rows)} rows left out: no human text in them"
        self.notices: tuple[str, ...] = (said,) if left_out else ()

    def session(self, point: int, index: int) -> Session | None:
        """Usable row `index`, modulo their number; None behind the last where once was asked."""
        if self._plan.once and index >= len(self._usable):
            return None
        row = self._usable[index % len(self._usable)]
        system, exchanges = self._talk(row)
        rng = Random(f"{self._context.seed}/lengths/{point}/{index}")
        if self._turns is not None:
            exchanges = exchanges[: self._turns.draw(rng)]
        mark = salt_mark(self._context, point, index) if self._salted else b""
        body = self._opening(system)
        turns: list[Turn] = []
        for number, exchange in enumerate(exchanges):
            if number:
                body += self._answered(number - 1, exchanges[number - 1].answered)
            body.append(self._asked(exchange.asked, b"" if number else mark))
            gap_ns = self._think.draw_ns(rng)
            limit = self._limit(exchange, rng)
            tail = (b"]" if self._chat else b'"') + limits(limit, ignore_eos=self._plan.ignore_eos)
            after = (Wait(str(number - 1), "done", gap_ns),) if number else ()
            turns.append(Turn(str(number), (*body, tail), None, limit, after))
        name = f"{point}-{index}"
        return Session(name, tuple(turns), history=self._plan.history, prompt_id=f"row{row}")

    def rows_over(self, limit_tok: int, count: Callable[[str], int] | None = None) -> Overlong:
        """Rows whose whole conversation, with the last answer's limit, doesn't fit."""
        needs: list[int] = []
        for index, row in enumerate(self._usable):
            system, exchanges = self._talk(row)
            rng = Random(f"{self._context.seed}/lengths/0/{index}")
            if self._turns is not None:
                exchanges = exchanges[: self._turns.draw(rng)]
            earlier = [text for e in exchanges[:-1] for text in (e.asked, e.answered)]
            text = "\n".join((system, *earlier, exchanges[-1].asked))
            n_tok = count(text) if count else len(text) // CHARS_PER_TOK
            needs.append(n_tok + (self._limit(exchanges[-1], rng) or 1))
        over = sum(need > limit_tok for need in needs)
        return Overlong(over, len(needs), max(needs), estimated=count is None)

    @property
    def _chat(self) -> bool:
        return self._context.endpoint_type == "chat"

    def _talk(self, row: int) -> tuple[str, list[Exchange]]:
        """The system text and the exchanges; texts before the first human one are left out."""
        system = ""
        exchanges: list[Exchange] = []
        for said in self._rows.decode(row, Conversation).conversations:
            if said.speaker == "system" and not exchanges:
                system = said.value
            elif said.speaker in _HUMAN and said.value.strip():
                exchanges.append(Exchange(said.value, ""))
            elif said.speaker in _ANSWER and exchanges and not exchanges[-1].answered:
                exchanges[-1] = Exchange(exchanges[-1].asked, said.value)
        return system, exchanges

    def _limit(self, exchange: Exchange, rng: Random) -> int | None:
        if self._recorded:
            return max(1, len(exchange.answered) // CHARS_PER_TOK)
        return self._osl.draw(rng) if self._osl else None

    def _opening(self, system: str) -> list[bytes | Answer]:
        text = json_text("\n\n".join(part for part in (self._plan.system_text, system) if part))
        if not self._chat:
            return [b'"prompt":"' + text + (b"\\n\\n" if text else b"")]
        return [b'"messages":[' + (message("system", text) + b"," if text else b"")]

    def _asked(self, text: str, mark: bytes) -> bytes:
        content = mark + json_text(text)
        return message("user", content) if self._chat else content

    def _answered(self, number: int, text: str) -> list[bytes | Answer]:
        if not self._chat:
            return [b"\\n\\n" + json_text(text) + b"\\n\\n"]
        if self._plan.history == "live":
            return [b',{"role":"assistant","content":', Answer(str(number)), b"},"]
        return [b"," + message("assistant", json_text(text)) + b","]
