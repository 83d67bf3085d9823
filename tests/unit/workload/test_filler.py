from random import Random

import pytest

from loadgen.model.plan import TokenFit
from loadgen.tokens.words import WORDS
from loadgen.workload.filler import Filler, block_start, pool_seed, tail_start

SMALL = 5_000
COSTLY = TokenFit(words=WORDS[:100], word_tok=(1, 2) * 50, tok_per_word=1.5)


def words_in(text: bytes) -> int:
    return len(text.split())


def test_seed_and_block_starts_are_those_of_the_check_vectors() -> None:
    assert pool_seed(42) == 10558974911300946294
    assert block_start(pool_seed(42), "trace_0504", 7, 1_000_000) == 626001


def test_tails_depend_on_stream_and_turn_and_leave_room_for_themselves() -> None:
    starts = {tail_start("t", turn, 40, SMALL) for turn in range(50)}
    assert len(starts) > 40
    assert max(starts) < SMALL - 40
    assert tail_start("t:agent", 3, 40, SMALL) != tail_start("t", 3, 40, SMALL)
    assert tail_start("t", 0, SMALL + 7, SMALL) == 0


def test_a_block_is_a_word_for_each_token_wherever_it_starts() -> None:
    filler = Filler(TokenFit(), 1, SMALL)
    starts = [0, 1, SMALL - 64, SMALL - 63, SMALL - 1]
    for text in filler.block_texts(starts, 64):
        assert words_in(text) == 64
        assert text.startswith(b" ")


def test_blocks_wrap_at_the_end_of_the_text() -> None:
    filler = Filler(TokenFit(), 1, SMALL)
    (wrapped,) = filler.block_texts([SMALL - 3], 64)
    assert wrapped == filler.text(SMALL - 3, 3) + filler.text(0, 61)


@pytest.mark.parametrize("n_tok", [0, 1, SMALL - 1, SMALL, 3 * SMALL + 17])
def test_a_prompt_longer_than_the_text_goes_round_it(n_tok: int) -> None:
    assert words_in(Filler(TokenFit(), 1, SMALL).text(20, n_tok)) == n_tok


def test_an_opening_is_a_letter_in_the_place_of_the_first_token() -> None:
    filler = Filler(TokenFit(), 1, SMALL)
    opened = filler.opened(70, 64)
    assert words_in(opened) == 64
    assert opened[:1].isalpha()
    assert opened[1:2] == b" "
    assert opened[1:] == filler.text(71, 63)


def test_the_text_depends_on_seed_and_words_alone() -> None:
    one, same, other = (Filler(TokenFit(), seed, SMALL).text(0, SMALL) for seed in (1, 1, 2))
    assert one == same
    shared = {tuple(one.split()[at : at + 8]) for at in range(SMALL)} & {
        tuple(other.split()[at : at + 8]) for at in range(SMALL)
    }
    assert not shared


def test_only_words_of_one_token_are_used_where_there_are_enough() -> None:
    fit = TokenFit(words=WORDS[:300], word_tok=(1, 2) * 150, tok_per_word=1.5)
    filler = Filler(fit, 1, SMALL)
    assert filler.exact
    assert set(filler.text(0, SMALL).decode().split()) <= set(WORDS[:300:2])


def test_costly_words_are_counted_at_their_mean() -> None:
    filler = Filler(COSTLY, 1, SMALL)
    assert not filler.exact
    chance = Random(5)
    blocks = filler.block_texts([chance.randrange(SMALL) for _ in range(200)], 64)
    assert sum(map(words_in, blocks)) * 1.5 == pytest.approx(200 * 64, rel=0.01)


def test_an_assumed_fit_is_not_exact() -> None:
    assert not Filler(TokenFit(), 1, SMALL).exact
