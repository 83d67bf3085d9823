"""Text of an exact token length, as JSON-safe bytes that need only to be joined.

Every word carries its leading space: a byte-pair tokenizer cuts text there before it merges
anything, so the tokens of a text are the sum of its words' tokens. Words are made into blocks and
blocks into pages beforehand: 128k tokens are some eighty pieces to join, never a serialised string.
"""

from functools import cached_property
from random import Random

from loadgen.model.plan import TokenFit
from loadgen.tokens.words import WORDS

BLOCK_TOK = 128
_BLOCKS = 256
_PAGES = 128
_PAGE_BLOCKS = 16
_LETTERS = "abcdefghilmnoprstw"


class TextPool:
    """Words and blocks of words for one fit. The same fit and seed give the same text.

    Exact where the fit knows what each word costs; else every word counts as `tok_per_word`.
    """

    def __init__(self, fit: TokenFit, seed: int) -> None:
        known = bool(fit.word_tok)
        self._seed = seed
        self._tok_per_unit = 1.0 if known else fit.tok_per_word
        words = fit.words or WORDS
        self._words = [f" {word}".encode("ascii") for word in words]
        self._cost = list(fit.word_tok) if known else [1] * len(words)
        self._dearest = max(self._cost)
        self._within = [
            [at for at, cost in enumerate(self._cost) if cost <= units]
            for units in range(self._dearest + 1)
        ]

    def pieces(self, n_tok: int, rng: Random) -> list[bytes]:
        """Words and blocks that cost `n_tok` together; the first byte of each is a space."""
        units = round(n_tok / self._tok_per_unit)
        made: list[bytes] = []
        for n_tok_each in (BLOCK_TOK * _PAGE_BLOCKS, BLOCK_TOK):
            if units >= 2 * n_tok_each:
                ready = self._blocks if n_tok_each == BLOCK_TOK else self._pages
                chosen = rng.choices(ready, k=units // n_tok_each)
                made.extend(text for text, _ in chosen)
                units -= sum(cost for _, cost in chosen)
        made.extend(self._draw(units, rng)[0])
        return made

    def make_ready(self) -> None:
        """Makes blocks and pages now (10 ms), so that the first prompt doesn't wait for them."""
        _ = self._pages

    def opening(self, rng: Random) -> bytes:
        """One letter: a first word that costs one token without a leading space, everywhere."""
        return rng.choice(_LETTERS).encode("ascii")

    @cached_property
    def _blocks(self) -> list[tuple[bytes, int]]:
        rng = Random(f"{self._seed}/blocks")
        drawn = [self._draw(BLOCK_TOK, rng) for _ in range(_BLOCKS)]
        return [(b"".join(words), cost) for words, cost in drawn]

    @cached_property
    def _pages(self) -> list[tuple[bytes, int]]:
        rng = Random(f"{self._seed}/pages")
        chosen = [rng.choices(self._blocks, k=_PAGE_BLOCKS) for _ in range(_PAGES)]
        return [(b"".join(text for text, _ in page), sum(c for _, c in page)) for page in chosen]

    def _draw(self, units: int, rng: Random) -> tuple[list[bytes], int]:
        """Words and their cost: `units`, or as near below as the cheapest word allows."""
        chosen: list[int] = []
        left = units
        while left >= self._dearest:
            some = rng.choices(range(len(self._words)), k=left // self._dearest)
            chosen += some
            left -= sum(self._cost[at] for at in some)
        while left > 0 and self._within[left]:
            chosen.append(rng.choice(self._within[left]))
            left -= self._cost[chosen[-1]]
        return [self._words[at] for at in chosen], units - left
