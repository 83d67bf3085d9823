from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from msgspec import json

from loadgen.errors import InputError
from loadgen.model.plan import TokenFit
from loadgen.tokens import (
    TextPool,
    fit_by_counting,
    fit_by_usage,
    fit_overhead,
    fit_tokenizer,
    load_tokenizer,
)
from loadgen.tokens.words import WORDS

TINY = Path(__file__).parents[1] / "fixtures" / "tiny-model"


class Calls:
    """An awaitable counter that says how often it was asked."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self.count = count
        self.n = 0

    async def __call__(self, text: str) -> int:
        self.n += 1
        return self.count(text)


def by_word(text: str) -> int:
    """A large vocabulary: every word is one token; a start token and a template are added."""
    return 7 + len(text.split())


def two_a_word(text: str) -> int:
    return 3 + 2 * len(text.split()) - 1


@pytest.fixture(scope="module")
def tiny() -> Callable[[str], int]:
    return load_tokenizer(TINY)


def test_words_are_distinct_and_need_no_escaping() -> None:
    assert len(WORDS) == len(set(WORDS)) > 800
    assert all(word.isascii() and word.isalpha() and word.islower() for word in WORDS)


@pytest.mark.parametrize("n_tok", [1, 2, 7, 100, 255, 256, 1000, 4097])
def test_a_text_has_exactly_the_wanted_tokens(tiny: Callable[[str], int], n_tok: int) -> None:
    pool = TextPool(fit_tokenizer(tiny), seed=3)
    rng = Random("x")
    text = b"".join((pool.opening(rng), *pool.pieces(n_tok - 1, rng))).decode()
    assert tiny(text) == n_tok


def test_a_prompt_of_128k_tokens_is_a_join_of_few_ready_pieces() -> None:
    pool = TextPool(TokenFit(words=WORDS, word_tok=(1,) * len(WORDS)), seed=1)
    pieces = pool.pieces(131_072, Random(1))
    assert len(pieces) < 100
    assert b"".join(pieces).count(b" ") == 131_072


def test_the_same_seed_gives_the_same_text_and_another_seed_another() -> None:
    def made(seed: int, draw: int) -> list[bytes]:
        return TextPool(TokenFit(), seed).pieces(700, Random(draw))

    assert made(1, 1) == made(1, 1)
    assert made(1, 1) != made(2, 1)
    assert made(1, 1) != made(1, 2)


def test_without_word_counts_the_mean_decides_how_many_words() -> None:
    pool = TextPool(TokenFit(tok_per_word=1.6), seed=1)
    assert b"".join(pool.pieces(1600, Random(1))).count(b" ") == 1000


def test_words_of_two_tokens_only_fall_short_by_at_most_one() -> None:
    pool = TextPool(TokenFit(words=("over", "under"), word_tok=(2, 2)), seed=1)
    assert b"".join(pool.pieces(1001, Random(1))).count(b" ") == 500


def test_text_is_json_without_escaping() -> None:
    text = b"".join(TextPool(TokenFit(), seed=1).pieces(2000, Random(1)))
    assert json.encode(text.decode()) == b'"' + text + b'"'


async def test_a_large_vocabulary_is_settled_in_three_calls() -> None:
    count = Calls(by_word)
    fit = await fit_by_counting(count)
    assert count.n == 3
    assert fit == TokenFit("tokenize", WORDS, (1,) * len(WORDS), 1.0, None, 0.0)


async def test_a_small_vocabulary_takes_a_bounded_number_of_calls(
    tiny: Callable[[str], int],
) -> None:
    count = Calls(tiny)
    fit = await fit_by_counting(count)
    assert count.n <= 133
    assert fit.error_frac == 0.0
    assert set(fit.word_tok) > {1, 2, 3}
    assert all(
        tiny(f"a {word}") - 1 == tok for word, tok in zip(fit.words, fit.word_tok, strict=True)
    )


async def test_usage_alone_gives_exact_words_where_each_is_one_token() -> None:
    count = Calls(by_word)
    fit = await fit_by_usage(count)
    assert count.n == 3
    assert (fit.source, fit.overhead_tok, fit.error_frac) == ("usage", 7, 0.0)
    assert len(fit.words) == len(fit.word_tok) == 400


async def test_usage_alone_gives_a_mean_where_words_differ(tiny: Callable[[str], int]) -> None:
    fit = await fit_by_usage(Calls(lambda text: tiny(text) + 12))
    assert fit.overhead_tok == 12
    assert fit.word_tok == ()
    assert fit.error_frac is not None
    assert 0 < fit.error_frac < 0.1
    pool = TextPool(fit, seed=1)
    counted = tiny(b"".join(pool.pieces(4000, Random(1))).decode())
    assert abs(counted - 4000) / 4000 < 0.1


async def test_words_that_all_cost_two_are_no_exact_fit() -> None:
    fit = await fit_by_usage(Calls(two_a_word))
    assert (fit.tok_per_word, fit.word_tok) == (2.0, ())


async def test_without_usage_the_fit_is_assumed() -> None:
    async def silent(_: str) -> int | None:
        return None

    assert await fit_by_usage(silent) == TokenFit()


async def test_a_server_that_counts_every_prompt_alike_is_not_believed() -> None:
    assert await fit_by_usage(Calls(lambda _: 5)) == TokenFit()
    assert await fit_by_counting(Calls(lambda _: 5)) == TokenFit()


def test_overhead_is_what_the_wire_has_beyond_the_content() -> None:
    assert fit_overhead(TokenFit(), wire_tok=143, content_tok=128).overhead_tok == 15


def test_a_tokenizer_counts_without_special_tokens(tiny: Callable[[str], int]) -> None:
    assert tiny("") == 0
    assert tiny("the the") == 2
    assert load_tokenizer(TINY / "tokenizer.json")("the the") == 2


@pytest.mark.parametrize(("name", "content"), [("none", None), ("list", b"[]"), ("obj", b"{}")])
def test_what_is_no_tokenizer_is_refused(tmp_path: Path, name: str, content: bytes | None) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match="no tokenizer"):
        load_tokenizer(path)
