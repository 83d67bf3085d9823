"""Who counted which tokens: the server's final usage, and tokens by event where it tells them.

Running usage is cumulative, by choice (vLLM, SGLang) or over all choices; the final count tells
which. Two usage events that each follow the end of another choice (llama.cpp) are added up.
"""

from dataclasses import dataclass, field

from loadgen.model.record import UNKNOWN_TOK, Usage
from loadgen.transport.decoding.openai_events import Counts, StreamEvent


@dataclass(frozen=True, slots=True)
class Told:
    """One usage member: number of the event, choice it came with (None: none), counts."""

    event_no: int
    choice: int | None
    counts: Counts
    after_end_of: int | None
    """Choice whose finish_reason stood in the event just before; None where there was none."""


@dataclass(slots=True)
class TokenNotes:
    """What the events said about token counts, in order."""

    usages: list[Told] = field(default_factory=list)
    ids: list[tuple[int, int]] = field(default_factory=list)
    """(number of the event, ids in it)."""

    def note(self, event_no: int, event: StreamEvent, ended: int | None) -> None:
        """Keeps the event's usage and ids; `ended` is the choice that the event before ended."""
        choices = event.choices or ()
        counts = event.usage
        if counts is not None and not counts.says_nothing():
            choice = choices[0].index if len(choices) == 1 else None
            self.usages.append(Told(event_no, choice, counts, ended))
        ids = [len(choice.token_ids) for choice in choices if choice.token_ids is not None]
        if ids:
            self.ids.append((event_no, sum(ids)))

    def by_ids(self, kinds: "list[int]") -> dict[int, int] | None:
        """Tokens by event from `token_ids`; None unless every event with text brought ids."""
        if not self.ids:
            return None
        counted = dict(self.ids)
        if any(kind and no not in counted for no, kind in enumerate(kinds)):
            return None
        return counted

    def by_running_usage(self) -> dict[int, int] | None:
        """Tokens by event from the differences of a running usage; None where there is none."""
        running = [told for told in self.usages if told.choice is not None]
        if not _is_running(running):
            return None
        by_choice = _differences(running, shared=False)
        if len({told.choice for told in running}) < 2:
            return by_choice
        shared = _differences(running, shared=True)
        final = _last_without_choice(self.usages)
        total = final.output_tok if final is not None else None
        if total is None:
            return by_choice
        return min(by_choice, shared, key=lambda found: abs(sum(found.values()) - total))

    def final(self, choices: int, chat: bool) -> tuple[Usage, bool]:
        """(the server's final counts, whether several were added up)."""
        closing = [told for told in self.usages if told.choice is None]
        if closing:
            if _one_per_choice(closing, choices):
                return _summed([told.counts for told in closing], chat), True
            return _usage(closing[-1].counts), False
        last: dict[int | None, Counts] = {told.choice: told.counts for told in self.usages}
        if len(last) > 1:
            return _summed(list(last.values()), chat), True
        return (_usage(next(iter(last.values()))) if last else Usage()), False


def _is_running(running: list[Told]) -> bool:
    """True where some choice was told its count twice or more before the end."""
    seen: set[int | None] = set()
    for told in running:
        if told.counts.output_tok is None:
            continue
        if told.choice in seen:
            return True
        seen.add(told.choice)
    return False


def _differences(running: list[Told], *, shared: bool) -> dict[int, int]:
    best: dict[int | None, int] = {}
    found: dict[int, int] = {}
    for told in running:
        total = told.counts.output_tok
        if total is None:
            continue
        key = None if shared else told.choice
        before = best.get(key, 0)
        found[told.event_no] = max(0, total - before)
        best[key] = max(before, total)
    return found


def _last_without_choice(usages: list[Told]) -> Counts | None:
    return next((told.counts for told in reversed(usages) if told.choice is None), None)


def _one_per_choice(closing: list[Told], choices: int) -> bool:
    ends = {told.after_end_of for told in closing if told.after_end_of is not None}
    return choices > 1 and len(closing) == choices == len(ends)


def _usage(counts: Counts) -> Usage:
    return Usage(counts.input_tok, counts.cached_tok, counts.output_tok, counts.reasoning_tok)


def _summed(all_counts: list[Counts], chat: bool) -> Usage:
    """Outputs added; prompts added only where they are different ones (completions)."""
    usages = [_usage(counts) for counts in all_counts]
    inputs = [usage.input_tok for usage in usages]
    cached = [usage.cached_tok for usage in usages]
    return Usage(
        input_tok=_greatest(inputs) if chat else _total(inputs),
        cached_tok=_greatest(cached) if chat else _total(cached),
        output_tok=_total([usage.output_tok for usage in usages]),
        reasoning_tok=_total([usage.reasoning_tok for usage in usages]),
    )


def _total(values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _greatest(values: list[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)


def token_column(kinds: list[int], told: dict[int, int] | None) -> list[int]:
    """`Events.tok`: what was told; else unknown for an event with text, 0 for one without."""
    if told is None:
        return [UNKNOWN_TOK if kind else 0 for kind in kinds]
    get = told.get
    return [get(no, UNKNOWN_TOK if kind else 0) for no, kind in enumerate(kinds)]
