"""Recorded prompts cut into chat messages: which blocks of a prompt each role holds.

Token counts are exact: the segments of a turn add up to its recorded prompt length. Messages that
were sent once stand unchanged in later prompts unless the recording itself cuts into them.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

Role = Literal["system", "user", "assistant"]


class Prompt(NamedTuple):
    """One turn's recorded shape: the ids of its blocks in order, and two lengths."""

    ids: Sequence[int]
    in_tok: int
    out_tok: int


class Step(NamedTuple):
    """What a turn does to the messages so far: keeps blocks, then adds some, in this order."""

    kept: int
    system: int
    assistant: int
    user: int
    tail_tok: int


class Segment(NamedTuple):
    """One message: blocks `first` to `end` (excluded) of the turn's prompt, then a tail.

    `answer_to` is the turn of the stream whose whole answer an assistant's segment stands for.
    """

    role: Role
    first: int
    end: int
    tail_tok: int = 0
    answer_to: int | None = None


def steps_of(prompts: Sequence[Prompt], prefix_tok: int, block_tok: int) -> tuple[Step, ...]:
    """The steps of one stream's turns; `prefix_tok` are the stream's tool and system tokens.

    Source: docs/workloads.md#how-a-prompt-is-made.
    """
    covered = [min(prompt.in_tok // block_tok, len(prompt.ids)) for prompt in prompts]
    tails = [prompt.in_tok - block_tok * n for prompt, n in zip(prompts, covered, strict=True)]
    kept = [0] * len(prompts)
    for at in range(1, len(prompts)):
        longest = min(covered[at - 1], covered[at])
        kept[at] = common_prefix(prompts[at - 1].ids, prompts[at].ids, longest)
    caps = _caps(kept, covered, tails)
    steps: list[Step] = []
    messages: list[Segment] = []
    for at in range(len(prompts)):
        new = covered[at] - kept[at]
        cut(messages, kept[at])
        system = answered = 0
        if at == 0:
            system = _ahead_of_user(-(-prefix_tok // block_tok), new, caps[at], tails[at])
        elif any(message.role == "user" for message in messages):
            wanted = -(-prompts[at - 1].out_tok // block_tok)
            answered = _ahead_of_user(wanted, new, caps[at], tails[at])
        steps.append(Step(kept[at], system, answered, new - system - answered, tails[at]))
        extend(messages, steps[-1], at)
    return tuple(steps)


def common_prefix(left: Sequence[int], right: Sequence[int], longest: int) -> int:
    """How many leading ids are equal, `longest` at most."""
    low, high = 0, longest
    if left[:high] == right[:high]:
        return high
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def cut(messages: list[Segment], kept: int) -> None:
    """Takes away all beyond `kept` blocks, and the last prompt's tail with it."""
    while messages and messages[-1].first >= kept:
        messages.pop()
    if messages and (messages[-1].end > kept or messages[-1].tail_tok):
        last = messages.pop()
        answer_to = last.answer_to if last.end <= kept else None
        messages.append(Segment(last.role, last.first, min(last.end, kept), 0, answer_to))


def extend(messages: list[Segment], step: Step, turn_no: int) -> None:
    """Appends what the step adds; the messages end where its kept blocks end."""
    at = step.kept
    if step.system:
        messages.append(Segment("system", at, at + step.system))
        at += step.system
    if step.assistant:
        answer_to = turn_no - 1
        messages.append(Segment("assistant", at, at + step.assistant, 0, answer_to))
        at += step.assistant
    if step.user or step.tail_tok:
        messages.append(Segment("user", at, at + step.user, step.tail_tok))


class Script:
    """The messages of any turn of one stream; turns asked for in order cost one step each."""

    def __init__(self, steps: tuple[Step, ...]) -> None:
        self._steps = steps
        self._played = 0
        self._messages: list[Segment] = []

    def messages(self, turn_no: int) -> tuple[Segment, ...]:
        """The whole prompt of a turn, ending in a user's message; empty where its length is 0."""
        if turn_no + 1 < self._played:
            self._played = 0
            self._messages = []
        for at in range(self._played, turn_no + 1):
            cut(self._messages, self._steps[at].kept)
            extend(self._messages, self._steps[at], at)
        self._played = turn_no + 1
        return tuple(self._messages)


def _ahead_of_user(wanted: int, new: int, cap: int | None, tail_tok: int) -> int:
    """Blocks of a system's or assistant's message: the user's that follows is never empty."""
    allowed = new if cap is None else min(new, cap)
    taken = min(wanted, allowed)
    return taken - 1 if taken and taken == new and not tail_tok else taken


def _caps(kept: list[int], covered: list[int], tails: list[int]) -> list[int | None]:
    """How many blocks a turn's first new message may hold at most; None: as many as it likes.

    A later turn that only cuts back, with nothing new, must still end in a user's message: the
    block before its cut is the user's, in whichever turn added it.
    """
    caps: list[int | None] = [None] * len(kept)
    for at in range(1, len(kept)):
        end = covered[at]
        if not end or kept[at] < end or tails[at]:
            continue
        adder = at - 1
        while kept[adder] >= end:
            adder -= 1
        room = end - 1 - kept[adder]
        known = caps[adder]
        caps[adder] = room if known is None else min(known, room)
    return caps
