"""How many tokens words cost at one endpoint: asked of a counter, once, before the run.

Counters are callables: a server's tokenize route, a local tokenizer, the `usage` of tiny
requests. They count the text they are given; whatever they add to every text alike (a start
token, a chat template) cancels out, since only differences are used.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from typing import Literal

import msgspec

from loadgen.errors import InputError
from loadgen.model.plan import TokenFit
from loadgen.tokens.text import TextPool
from loadgen.tokens.words import WORDS

Counter = Callable[[str], int]
AsyncCounter = Callable[[str], Awaitable[int]]
UsageCounter = Callable[[str], Awaitable[int | None]]

_GROUP = 16
_ENOUGH = 128
_SINGLES = 96
_AT_ONCE = 8
_CHECK_TOK = 1500
_SAMPLE = 200


async def fit_by_counting(
    count: AsyncCounter, source: Literal["tokenize", "tokenizer"] = "tokenize"
) -> TokenFit:
    """A fit with the cost of each word, in 3 calls where every word is one token, 133 at most.

    A group of n words that costs n has words of one token only, so groups settle most of a large
    vocabulary; where few groups are that plain, 96 words are counted one by one. A prompt of
    1,500 tokens is counted last: its relative error is the fit's `error_frac`. The assumed fit
    where the counter gives every text the same count.
    """
    alone = await count("a")
    costs = await _word_costs(count, alone)
    if not costs:
        return TokenFit()
    fit = TokenFit(source=source, words=tuple(costs), word_tok=tuple(costs.values()))
    text = _text(fit, _CHECK_TOK)
    counted = await count(text) - alone + 1
    fit_tok = sum(fit.word_tok) / len(fit.word_tok)
    error_frac = abs(counted - _CHECK_TOK) / _CHECK_TOK
    return msgspec.structs.replace(fit, tok_per_word=fit_tok, error_frac=error_frac)


async def fit_by_usage(prompt_tok: UsageCounter) -> TokenFit:
    """A fit out of three requests' `usage.prompt_tokens`: one word, and twice 200 other words.

    Exact where all 400 words turn out to be one token; else one mean cost a word, with the two
    samples' disagreement as `error_frac`. The assumed fit where the endpoint gives no usage.
    """
    samples = [WORDS[start::4][:_SAMPLE] for start in (0, 2)]
    texts = ["a", *(" ".join(("a", *sample)) for sample in samples)]
    counted = [await prompt_tok(text) for text in texts]
    known = [tok for tok in counted if tok is not None]
    if len(known) < len(texts) or min(known[1:]) <= known[0]:
        return TokenFit()
    alone = known[0]
    words = tuple(word for sample in samples for word in sample)
    per_word = [(tok - alone) / len(sample) for tok, sample in zip(known[1:], samples, strict=True)]
    mean = sum(per_word) / len(per_word)
    return TokenFit(
        source="usage",
        words=words,
        word_tok=(1,) * len(words) if per_word == [1.0, 1.0] else (),
        tok_per_word=mean,
        overhead_tok=alone - 1,
        error_frac=abs(per_word[0] - per_word[1]) / 2 / mean,
    )


def fit_tokenizer(count: Counter) -> TokenFit:
    """The exact cost of every word by a local counter (`load_tokenizer`), no calls spared."""
    alone = count("a")
    costs = tuple(count(f"a {word}") - alone for word in WORDS)
    fit = TokenFit(
        source="tokenizer", words=WORDS, word_tok=costs, tok_per_word=sum(costs) / len(costs)
    )
    counted = count(_text(fit, _CHECK_TOK)) - alone + 1
    return msgspec.structs.replace(fit, error_frac=abs(counted - _CHECK_TOK) / _CHECK_TOK)


def fit_overhead(fit: TokenFit, wire_tok: int, content_tok: int) -> TokenFit:
    """The fit with what the endpoint adds: wire tokens of a prompt less those of its content."""
    return msgspec.structs.replace(fit, overhead_tok=wire_tok - content_tok)


def load_tokenizer(path: Path | str) -> Counter:
    """Counts a text's tokens with a `tokenizer.json` or a folder that holds one.

    Special tokens are never added: one per counted piece would double the counts of streams.

    Raises:
        InputError: no such file, not a tokenizer, or the `tokenizers` extra isn't installed.

    """
    file = Path(path)
    file = file / "tokenizer.json" if file.is_dir() else file
    if not file.is_file():
        raise InputError(
            f"no tokenizer at `{file}`", "give a `tokenizer.json` or the folder that holds it"
        )
    try:
        import tokenizers  # an extra: 10 MB that only this option needs
    except ImportError as error:
        raise InputError(
            "`--tokenizer` needs the `tokenizers` package", "pip install 'loadgen[tokenizers]'"
        ) from error
    # the Rust side raises bare Exception on any other file: look before handing it over
    if not file.read_bytes().lstrip().startswith(b"{") or b'"model"' not in file.read_bytes():
        raise InputError(f"`{file}` is no tokenizer.json: it holds no JSON object with a `model`")
    tokenizer = tokenizers.Tokenizer.from_file(str(file))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


async def _word_costs(count: AsyncCounter, alone: int) -> dict[str, int]:
    """Tokens by word, for all words or for those that a bounded number of calls could settle."""
    gate = asyncio.Semaphore(_AT_ONCE)

    async def cost_of(words: tuple[str, ...]) -> int:
        async with gate:
            return await count(" ".join(("a", *words))) - alone

    if await cost_of(WORDS) == len(WORDS):
        return dict.fromkeys(WORDS, 1)
    groups = [WORDS[start :: _GROUP * 2] for start in range(_GROUP * 2)]
    totals = await asyncio.gather(*map(cost_of, groups))
    costs: dict[str, int] = {}
    rest: list[str] = []
    for group, total in zip(groups, totals, strict=True):
        if total == len(group):
            costs.update(dict.fromkeys(group, 1))
        else:
            rest.extend(group)
    if len(costs) < _ENOUGH:
        singles = rest[:: max(1, len(rest) // _SINGLES)][:_SINGLES]
        counted = await asyncio.gather(*(cost_of((word,)) for word in singles))
        costs.update(zip(singles, counted, strict=True))
    return {word: cost for word, cost in costs.items() if cost > 0}


def _text(fit: TokenFit, n_tok: int) -> str:
    rng = Random("check")
    pool = TextPool(fit, seed=0)
    return b"".join((pool.opening(rng), *pool.pieces(n_tok - 1, rng))).decode("ascii")
