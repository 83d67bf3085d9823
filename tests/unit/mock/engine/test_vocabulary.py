from hypothesis import given
from hypothesis import strategies as st

from loadgen.mock.answer import WORDS
from loadgen.mock.engine.vocabulary import Vocabulary, block_hashes, turn_overhead_tok


@given(st.text())
def test_pieces_joined_are_the_text(text: str) -> None:
    assert "".join(Vocabulary().pieces(text)) == text


def test_the_space_before_a_word_belongs_to_it() -> None:
    assert Vocabulary().pieces("two words 12345, tokenization") == [
        "two",
        " words",
        " 123",
        "45",
        ",",
        " tokeniza",
        "tion",
    ]


def test_ids_are_the_same_in_every_vocabulary_and_turn_back_into_text() -> None:
    first, second = Vocabulary(), Vocabulary()
    ids = first.encode("the same 中 ids")
    assert ids == second.encode("the same 中 ids")
    assert first.text_of(ids) == "the same 中 ids"


def test_every_word_of_answers_is_one_token() -> None:
    vocabulary = Vocabulary()
    assert all(len(vocabulary.pieces(f" {word}")) == 1 for word in WORDS)


def test_the_template_adds_the_documented_number_of_tokens() -> None:
    vocabulary = Vocabulary()
    ids = [*vocabulary.encode_turn("user", "one two"), *vocabulary.open_turn("assistant")]
    assert len(ids) == 2 + turn_overhead_tok(1)


def test_a_block_hash_covers_all_that_comes_before() -> None:
    one, other = block_hashes([1, 2, 3, 4, 5], 2), block_hashes([9, 2, 3, 4, 5], 2)
    assert len(one) == 2
    assert one[1] != other[1]
