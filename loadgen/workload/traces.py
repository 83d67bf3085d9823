"""A corpus of Weka traces, checked as a whole: its dialect, what is left out, what repeats."""

from array import array
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

from loadgen.errors import InputError
from loadgen.workload.corpus import Corpus, signature
from loadgen.workload.weka import Trace, read_trace, trace_of
from loadgen.workload.weka_json import Recording, dialect_of, oddities_of, parse_recording

_NAMED = 20
"""So many traces that were left out are named; of more, their number is told."""


def first_label(path: Path) -> str:
    """What the first trace of a corpus calls itself; empty for recorded ones.

    Raises: InputError where there is none that can be read.
    """
    corpus = _corpus(path, signature(path))
    return parse_recording(corpus.document(0), corpus.where(0)).label if len(corpus) else ""


@lru_cache(maxsize=2)
def _corpus(path: Path, _signature: tuple[object, ...]) -> Corpus:
    """The corpus, indexed once a process as long as its files stay as they are."""
    return Corpus(path)


@lru_cache(maxsize=2)
def _survey(path: Path, signed: tuple[object, ...], skip_bad: bool) -> "_Survey":
    """The one pass over all documents, once a process: of 1.5 GB it takes 12 s."""
    return _Survey(_corpus(path, signed), skip_bad)


class Traces:
    """The usable traces of a corpus by number, in file order; each is read when asked for.

    Opening reads every document once and keeps a few numbers of each. `skip_bad` leaves bad
    traces out and names them in `notices`; `max_context_tok` leaves out traces with a longer
    request (prompt and answer).

    Raises:
        InputError: no usable trace, or a bad one.

    """

    def __init__(
        self, path: Path, skip_bad: bool = False, max_context_tok: int | None = None
    ) -> None:
        signed = signature(path)
        self._corpus = _corpus(path, signed)
        survey = _survey(path, signed, skip_bad)
        longest = array("Q", survey.longest_tok)
        fits = [max_context_tok is None or tok <= max_context_tok for tok in longest]
        self._kept = array(
            "Q", (number for number, fit in zip(survey.kept, fits, strict=True) if fit)
        )
        if not self._kept:
            why = f" of {max_context_tok} tokens at most" if survey.kept else ""
            raise InputError(f"`{path}` holds no usable trace{why}")
        self.relative = survey.relative > 0
        """Whether times inside subagents count from their entry's."""
        self._longest = [tok for tok, fit in zip(longest, fits, strict=True) if fit]
        self.longest_tok = max(self._longest)
        """The longest request of all, prompt and answer."""
        self.label = next(iter(survey.labels), "")
        """What made-up traces call themselves; empty where all are recordings."""
        self.notices = tuple(_notices(survey, len(survey.kept) - len(self._kept), max_context_tok))

    def __len__(self) -> int:
        return len(self._kept)

    def count_over(self, limit_tok: int) -> int:
        """Traces with a request, prompt and answer, of more tokens."""
        return sum(tok > limit_tok for tok in self._longest)

    def __getitem__(self, number: int) -> Trace:
        at = self._kept[number]
        return read_trace(self._corpus.document(at), self._corpus.where(at), self.relative)


class _Survey:
    """What one pass over all documents shows."""

    def __init__(self, corpus: Corpus, skip_bad: bool) -> None:
        self.kept = array("Q")
        self.longest_tok = array("Q")
        self.bad: list[str] = []
        self.relative = 0
        self.entries = 0
        self.labels: dict[str, None] = {}
        self.copies: list[str] = []
        self.unplayed = 0
        self.oddities: Counter[str] = Counter()
        self._block_size: int | None = None
        self._ids: dict[str, tuple[bytes, int]] = {}
        self._contents: dict[bytes, int] = {}
        for number in range(len(corpus)):
            try:
                self._look(corpus, number)
            except InputError as error:
                if not skip_bad:
                    raise _with_hint(error, len(corpus)) from error
                self.bad.append(str(error))

    def _look(self, corpus: Corpus, number: int) -> None:
        document, where = corpus.document(number), corpus.where(number)
        recording = parse_recording(document, where)
        self._check_against_others(corpus, number, recording, document)
        trace = trace_of(recording, relative=False)
        self.kept.append(number)
        self.longest_tok.append(trace.longest_tok)
        entries, relative = dialect_of(recording)
        self.entries += entries
        self.relative += relative
        self.unplayed += len(recording.subagents) - (len(trace.streams) - 1)
        self.oddities.update(oddities_of(recording)._asdict())
        if recording.label:
            self.labels[recording.label] = None

    def _check_against_others(
        self, corpus: Corpus, number: int, recording: Recording, document: bytes
    ) -> None:
        where = corpus.where(number)
        if self._block_size not in (None, recording.block_size):
            raise InputError(
                f"`{where}` at `$.block_size`: {self._block_size} as in the traces before was"
                f" expected; the value is {recording.block_size}"
            )
        nameless = document.replace(b'"%s"' % recording.id.encode(), b"", 1)
        content = blake2b(nameless, digest_size=16).digest()
        known, first = self._ids.get(recording.id, (content, number))
        if known != content:
            raise InputError(
                f"`{where}` at `$.id`: a name of its own was expected; {recording.id!r:.80} is"
                f" another trace's, `{corpus.where(first)}`"
            )
        self._block_size = recording.block_size
        self._ids[recording.id] = content, first
        original = self._contents.setdefault(content, number)
        if original != number:
            self.copies.append(f"`{where}` repeats `{corpus.where(original)}`")


def _with_hint(error: InputError, documents: int) -> InputError:
    if documents == 1 or error.hint:
        return error
    return InputError(str(error), "`--skip-bad` goes on without it, and names it in the result")


def _notices(survey: _Survey, too_long: int, max_context_tok: int | None) -> Iterator[str]:
    for message in survey.bad[:_NAMED]:
        yield f"left out (`--skip-bad`): {message}"
    if len(survey.bad) > _NAMED:
        yield f"left out (`--skip-bad`): {len(survey.bad)} traces in all"
    if too_long:
        yield f"traces with a request of over {max_context_tok} tokens, left out: {too_long}"
    if survey.copies:
        yield f"copies of other traces, played like the rest: {_first_of(survey.copies)}"
    if survey.relative:
        yield (
            f"times inside subagents count from their entry's:"
            f" {survey.relative} of {survey.entries} entries show it"
        )
    if survey.unplayed:
        yield f"subagents without a request or a spawner, not played: {survey.unplayed}"
    for name, text in _ALLOWANCES.items():
        if survey.oddities[name]:
            yield f"{text}: {survey.oddities[name]}"


def _first_of(texts: list[str]) -> str:
    return f"{len(texts)} ({texts[0]}{', ...' if len(texts) > 1 else ''})"


_ALLOWANCES = {
    "unsorted": "requests listed after a later one, sorted by time",
    "blocks_cut": "requests with more block ids than full blocks, whose surplus is left out",
    "blocks_short": "requests with fewer block ids than full blocks, whose end is never shared",
    "negative_api": "requests that took less than no time, whose answers count as instant",
    "overlapping": "requests recorded while their agent awaited an answer, sent only after it",
}
