"""Text for recorded prompts: any block of 64 tokens by its id, the same in every process.

One long text of words that cost one token each at the endpoint is made once; a block is the slice
between two of its token positions. Rules, seeds and check vectors: docs/workloads.md#agentx.
"""

from array import array
from functools import lru_cache
from hashlib import sha256
from itertools import accumulate
from random import Random
from sys import byteorder

from loadgen.model.plan import TokenFit
from loadgen.tokens.words import WORDS

POSITIONS = 1_000_000
"""Tokens of the prepared text (C): two ids of a trace begin alike once in so many pairs."""
_ENOUGH_WORDS = 64
_LETTERS = b"abcdefghilmnoprstw"
_CODES = 1 << 16


def pool_seed(root_seed: int) -> int:
    """The prepared text's seed out of the run's: 42 -> 10558974911300946294."""
    return _number(f"{root_seed}:dataset.prompt.corpus")


def block_start(seed: int, trace_id: str, block_id: int, positions: int = POSITIONS) -> int:
    """Position of a block's first token; `seed` is the pool's.

    The trace is the root's for subagents too: they share blocks with it, other traces never do.
    """
    return Random(_number(f"{seed}:{trace_id}:{block_id}")).randrange(positions)


def tail_start(stream_id: str, turn_no: int, n_tok: int, positions: int = POSITIONS) -> int:
    """Position of the first of `n_tok` tokens that no block covers."""
    return _number(f"{stream_id}:turn_{turn_no}:partial_tail") % max(positions - n_tok, 1)


class Filler:
    """The prepared text of one fit and seed. `exact`: every position is known to be one token.

    Where the fit doesn't know words of one token, positions follow its mean cost of a word.
    """

    def __init__(self, fit: TokenFit, seed: int, positions: int = POSITIONS) -> None:
        words, tok_per_word = _words_of(fit)
        self.exact = bool(fit.word_tok) and tok_per_word == 1.0
        self.positions = positions
        n_words = int(positions / tok_per_word) + 1
        codes = array("H", Random(seed).randbytes(2 * n_words))
        if byteorder == "big":
            codes.byteswap()
        by_code = [words[code * len(words) // _CODES] for code in range(_CODES)]
        text = b"".join(map(by_code.__getitem__, codes))
        sizes = [len(word) for word in by_code]
        word_at = array("I", accumulate(map(sizes.__getitem__, codes), initial=0))
        if tok_per_word == 1.0:
            self._offsets = word_at[: positions + 1]
        else:
            at = (word_at[int(tok / tok_per_word)] for tok in range(positions + 1))
            self._offsets = array("I", at)
        self._text = text[: self._offsets[positions]]

    def block_texts(self, starts: list[int], block_tok: int) -> list[bytes]:
        """The blocks' texts, each word with its leading space; wraps at the text's end."""
        text, at, last = self._text, self._offsets, self.positions - block_tok
        return [
            text[at[start] : at[start + block_tok]]
            if start <= last
            else self.text(start, block_tok)
            for start in starts
        ]

    def text(self, start: int, n_tok: int) -> bytes:
        """`n_tok` tokens from a position on; wraps at the text's end, as often as needed."""
        at = self._offsets
        until = start + n_tok
        if until <= self.positions:
            return self._text[at[start] : at[until]]
        rounds, rest = divmod(until - self.positions, self.positions)
        return self._text[at[start] :] + self._text * rounds + self._text[: at[rest]]

    def opened(self, start: int, n_tok: int) -> bytes:
        """Like `text`, its first token a letter: one token with or without what stands before.

        Chat templates may cut a message's leading space away, and the count with it.
        """
        letter = _LETTERS[start % len(_LETTERS)]
        return bytes((letter,)) + self.text((start + 1) % self.positions, n_tok - 1)


@lru_cache(maxsize=1)
def prepared(fit: TokenFit, seed: int) -> Filler:
    """The text of a fit and a seed, made once (0.1 s) however often a workload is opened."""
    return Filler(fit, seed)


def _words_of(fit: TokenFit) -> tuple[list[bytes], float]:
    """Words with their leading spaces, and what one of them costs on the average."""
    known = fit.words or WORDS
    if not fit.word_tok:
        return [f" {word}".encode("ascii") for word in known], fit.tok_per_word
    single = [word for word, cost in zip(fit.words, fit.word_tok, strict=True) if cost == 1]
    if len(single) >= _ENOUGH_WORDS:
        return [f" {word}".encode("ascii") for word in single], 1.0
    return [f" {word}".encode("ascii") for word in known], sum(fit.word_tok) / len(fit.word_tok)


def _number(text: str) -> int:
    """The first 8 bytes of the text's SHA-256, big-endian."""
    return int.from_bytes(sha256(text.encode()).digest()[:8], "big")
