"""Recorded coding sessions (Weka traces) as sessions whose prompts are made when they are wanted.

Only shapes are recorded: lengths, times, which blocks prompts share. The text is filler, and the
same for the same plan in every process. Source: docs/workloads.md#agentx.
"""

from array import array
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from loadgen.model.plan import WorkloadPlan
from loadgen.model.session import Session, Turn
from loadgen.units import NS_PER_MS
from loadgen.workload.bodies import refuse_live_completions
from loadgen.workload.filler import Filler, block_start, pool_seed, prepared, tail_start
from loadgen.workload.segments import Prompt, Script, Segment, steps_of
from loadgen.workload.sessions import History, Overlong, WorkloadContext
from loadgen.workload.traces import Traces
from loadgen.workload.tree import start_ms, start_range_ms, turns_of
from loadgen.workload.weka import ROOT, Trace

SPARE = 4
"""Plays kept beyond those in progress: the next one is asked for before the last one is over."""


class AgentxSpec(Struct, frozen=True):
    """`agentx:PATH`: one trace, or a folder or JSONL of them, plain or compressed."""

    path: str
    skip_bad: bool = False
    history: History = "recorded"
    limit_name: str = "max_completion_tokens"
    ignore_eos: bool = True
    once: bool = False


def marker(run_id: str, play: int, lane: int, trace_id: str) -> bytes:
    """What opens the first user's text in every prompt of one play, and of no other play."""
    key = f"{run_id}:{play}:{lane}:{trace_id}"
    return b"[rid:" + sha256(key.encode()).hexdigest()[:12].encode() + b"]"


class Starts:
    """Where the blocks of one trace begin in the prepared text."""

    def __init__(self, seed: int, trace_id: str, turns: tuple[Turn, ...], positions: int) -> None:
        pairs = {pair for turn in turns for pair in _pairs(turn.blocks)}
        ids = sorted({block_id for first, n in pairs for block_id in range(first, first + n)})
        self._ids = array("q", ids)
        self._starts = array("I", (block_start(seed, trace_id, one, positions) for one in ids))

    def of(self, blocks: tuple[int, ...]) -> list[int]:
        """The starts of a turn's blocks in order."""
        found: list[int] = []
        for first, n in _pairs(blocks):
            at = bisect_left(self._ids, first)
            found += self._starts[at : at + n]
        return found


class _Play(Struct, frozen=True):
    """One play of one trace: what its bodies are made of."""

    session: Session
    block_tok: int
    mark: bytes
    blocks: tuple[tuple[int, ...], ...]
    turn_nos: tuple[int, ...]
    """Each turn's number within its stream."""
    scripts: dict[str, Script]
    starts: Starts

    def messages(self, number: int) -> tuple[Segment, ...]:
        turn = self.session.turns[number]
        return self.scripts[turn.stream].messages(self.turn_nos[number])

    def stream_id(self, number: int) -> str:
        """Tells tails apart: the trace's name, for a subagent with its own behind it."""
        stream = self.session.turns[number].stream
        trace_id = self.session.prompt_id
        return trace_id if stream == ROOT else f"{trace_id}:{stream}"


class Agentx:
    """Lane l of n plays traces l, l + n, l + 2n ... of the corpus, which starts again at its end.

    Session `index` is the play `index // n` of lane `index % n`, n being the point's slots; the
    first play starts in mid-recording where the rules say so.
    """

    def __init__(self, plan: WorkloadPlan, context: WorkloadContext) -> None:
        refuse_live_completions(plan, context.endpoint_type)
        self._plan = plan
        self._context = context
        rules = context.rules
        limit_tok = rules.max_context_tok if rules else None
        self._traces = Traces(Path(plan.path), plan.skip_bad, limit_tok)
        self._root_seed = rules.seed if rules else context.seed
        self._pool_seed = pool_seed(self._root_seed)
        in_play = max(context.slots.values(), default=1)
        self._kept = -(-in_play // context.workers) + SPARE
        self._plays: OrderedDict[tuple[int, int], _Play] = OrderedDict()
        self.n_rows: int | None = len(self._traces)
        self.notices: tuple[str, ...] = self._traces.notices

    def session(self, point: int, index: int) -> Session | None:
        """The play's turns, without bodies; None behind the last trace where once was asked."""
        if self._plan.once and index >= len(self._traces):
            return None
        return self._play(point, index).session

    def body(
        self,
        point: int,
        index: int,
        turn_no: int,
        max_output_tok: int | None,
        answers: tuple[bytes | None, ...] = (),
    ) -> bytes:
        """The body's members of one turn; `answers` count where the history is live."""
        play = self._play(point, index)
        turn = play.session.turns[turn_no]
        live = answers if self._plan.history == "live" else ()
        chat = self._context.endpoint_type == "chat"
        pieces = list((self._chat if chat else self._prompt)(play, turn_no, live))
        limit = max_output_tok or turn.max_output_tok or 1
        name = self._plan.limit_name if chat else "max_tokens"
        pieces.append(b',"%b":%d' % (name.encode(), limit))
        if self._plan.ignore_eos:
            pieces.append(b',"ignore_eos":true')
        return b"".join(pieces)

    def rows_over(self, limit_tok: int, count: Callable[[str], int] | None = None) -> Overlong:
        """Traces with a request that doesn't fit together with its answer."""
        over = self._traces.count_over(limit_tok)
        return Overlong(over, len(self._traces), self._traces.longest_tok, estimated=False)

    @cached_property
    def _filler(self) -> Filler:
        return prepared(self._context.token_fit, self._pool_seed)

    def _play(self, point: int, index: int) -> _Play:
        """The play, made or kept from before."""
        play = self._plays.pop((point, index), None)
        if play is None:
            play = self._made(point, index)
        self._plays[point, index] = play
        while len(self._plays) > self._kept:
            self._plays.popitem(last=False)
        return play

    def _made(self, point: int, index: int) -> _Play:
        trace = self._traces[index % len(self._traces)]
        slots = self._context.slots.get(point)
        play, lane = divmod(index, slots) if slots else (0, index)
        rules = self._context.rules
        turns = turns_of(trace, rules.time_scale if rules else 1.0)
        streams = {stream.name: stream for stream in trace.streams}
        scripts = {
            name: Script(
                steps_of(
                    [Prompt(turn.ids, turn.in_tok, turn.out_tok) for turn in stream.turns],
                    stream.prefix_tok,
                    trace.block_size,
                )
            )
            for name, stream in streams.items()
        }
        session = Session(
            f"{point}-{lane}-{play}",
            self._as_played(turns),
            history=self._plan.history,
            prompt_id=trace.trace_id,
            from_ns=self._from_ns(trace, lane) if play == 0 else None,
        )
        starts = Starts(self._pool_seed, trace.trace_id, turns, self._filler.positions)
        mark = marker(self._run_name(point), play, lane, trace.trace_id)
        blocks = tuple(turn.blocks for turn in turns)
        numbers = tuple(_turn_nos(turns))
        return _Play(session, trace.block_size, mark, blocks, numbers, scripts, starts)

    def _run_name(self, point: int) -> str:
        """What tells this run's plays, and those of a sweep's later points, from any other's."""
        run = self._context.salt or self._context.run_id
        return f"{run}.{point}" if point else run

    def _as_played(self, turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
        """The turns; live, nobody knows how long the prompts behind a first answer are."""
        if self._plan.history == "recorded":
            return turns
        numbered = zip(turns, _turn_nos(turns), strict=True)
        return tuple(
            replace(turn, input_tok=None, blocks=()) if number else turn
            for turn, number in numbered
        )

    def _from_ns(self, trace: Trace, lane: int) -> int | None:
        """Where in the recording a lane's first play starts; None: at its beginning."""
        rules = self._context.rules
        if rules is None or rules.start_until_frac <= 0:
            return None
        lo_ms, hi_ms = start_range_ms(trace, rules.start_from_frac, rules.start_until_frac)
        at_ms = start_ms(self._root_seed, trace.trace_id, lane, lo_ms, hi_ms)
        return round(at_ms * rules.time_scale * NS_PER_MS)

    def _chat(self, play: _Play, number: int, answers: tuple[bytes | None, ...]) -> Iterator[bytes]:
        """The member `messages` in pieces."""
        yield b'"messages":['
        starts = play.starts.of(play.blocks[number])
        mark = play.mark + b"\\n\\n"
        between = b""
        for segment in play.messages(number) or (Segment("user", 0, 0),):
            yield between + b'{"role":"%b","content":' % segment.role.encode()
            between = b","
            answer = _answer(segment, answers)
            if answer is not None:
                yield answer + b"}"
                continue
            yield b'"'
            if segment.role == "user":
                yield mark
                mark = b""
            yield from self._text(play, number, segment, starts, opens=True)
            yield b'"}'
        yield b"]"

    def _prompt(
        self, play: _Play, number: int, answers: tuple[bytes | None, ...]
    ) -> Iterator[bytes]:
        """The member `prompt` in pieces: all text, without roles."""
        yield b'"prompt":"'
        starts = play.starts.of(play.blocks[number])
        mark = play.mark + b"\\n\\n"
        for segment in play.messages(number) or (Segment("user", 0, 0),):
            opens = not segment.first
            if segment.role == "user":
                yield mark
                opens = opens or bool(mark)
                mark = b""
            yield from self._text(play, number, segment, starts, opens=opens)
        yield b'"'

    def _text(
        self, play: _Play, number: int, segment: Segment, starts: list[int], *, opens: bool
    ) -> Iterator[bytes]:
        """The blocks' and the tail's text; `opens`: there is nothing before it, or a line's end."""
        filler = self._filler
        first = segment.first
        if opens and segment.end > first:
            yield filler.opened(starts[first], play.block_tok)
            first += 1
        yield from filler.block_texts(starts[first : segment.end], play.block_tok)
        if segment.tail_tok:
            turn_no, n_tok = play.turn_nos[number], segment.tail_tok
            start = tail_start(play.stream_id(number), turn_no, n_tok, filler.positions)
            alone = opens and segment.end == segment.first
            yield filler.opened(start, n_tok) if alone else filler.text(start, n_tok)


def _answer(segment: Segment, answers: tuple[bytes | None, ...]) -> bytes | None:
    """The live answer that the segment stands for; None where there is none."""
    number = segment.answer_to
    return answers[number] if number is not None and number < len(answers) else None


def _pairs(blocks: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    return zip(blocks[::2], blocks[1::2], strict=True)


def _turn_nos(turns: tuple[Turn, ...]) -> Iterator[int]:
    """Each turn's number within its stream."""
    counts: dict[str, int] = {}
    for turn in turns:
        counts[turn.stream] = counts.get(turn.stream, -1) + 1
        yield counts[turn.stream]
