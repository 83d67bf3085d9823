import pytest

from loadgen.workload.segments import Prompt, Script, Segment, common_prefix, steps_of


def script(*prompts: Prompt, prefix_tok: int = 0) -> list[tuple[Segment, ...]]:
    steps = steps_of(prompts, prefix_tok, 64)
    one = Script(steps)
    return [one.messages(turn) for turn in range(len(prompts))]


def ids(n: int, start: int = 1) -> tuple[int, ...]:
    return tuple(range(start, start + n))


def test_the_first_turn_is_a_system_and_a_user_message() -> None:
    (first,) = script(Prompt(ids(4), 300, 70), prefix_tok=100)
    assert first == (Segment("system", 0, 2), Segment("user", 2, 4, 44))


def test_without_a_recorded_prefix_everything_is_the_users() -> None:
    assert script(Prompt(ids(4), 256, 70)) == [(Segment("user", 0, 4),)]


def test_a_prefix_as_long_as_the_prompt_leaves_the_user_a_block() -> None:
    (first,) = script(Prompt(ids(4), 256, 70), prefix_tok=4096)
    assert first == (Segment("system", 0, 3), Segment("user", 3, 4))


def test_a_prompt_without_blocks_is_all_tail() -> None:
    assert script(Prompt((), 1000, 1)) == [(Segment("user", 0, 0, 1000),)]


def test_an_empty_prompt_has_no_message() -> None:
    assert script(Prompt((), 0, 1)) == [()]


def test_growth_is_the_answer_and_then_the_user() -> None:
    one, two = script(Prompt(ids(4), 300, 70), Prompt(ids(8), 520, 40), prefix_tok=128)
    assert two == (
        Segment("system", 0, 2),
        Segment("user", 2, 4),
        Segment("assistant", 4, 6, 0, 0),
        Segment("user", 6, 8, 8),
    )
    assert one[0] == two[0]


def test_an_answer_that_took_every_block_gives_the_last_one_back() -> None:
    _, two = script(Prompt(ids(2), 128, 900), Prompt(ids(5), 320, 1))
    assert two == (Segment("user", 0, 2), Segment("assistant", 2, 4, 0, 0), Segment("user", 4, 5))


def test_a_tail_behind_the_answer_is_the_users_message() -> None:
    _, two = script(Prompt(ids(2), 128, 900), Prompt(ids(5), 330, 1))
    assert two[1:] == (Segment("assistant", 2, 5, 0, 0), Segment("user", 5, 5, 10))


def test_a_cut_inside_a_message_shortens_it() -> None:
    _, _, three = script(
        Prompt(ids(4), 256, 64),
        Prompt(ids(9), 576, 64),
        Prompt(ids(3) + ids(4, 100), 448, 1),
    )
    assert three == (Segment("user", 0, 3), Segment("assistant", 3, 4, 0, 1), Segment("user", 4, 7))


def test_a_lost_context_is_all_the_users() -> None:
    _, two = script(Prompt(ids(4), 256, 900), Prompt(ids(2) + ids(5, 50), 450, 1), prefix_tok=128)
    assert two == (Segment("system", 0, 2), Segment("user", 2, 7, 2))
    _, gone = script(Prompt(ids(4), 256, 900), Prompt(ids(5, 50), 320, 1), prefix_tok=128)
    assert gone == (Segment("user", 0, 5),)


def test_a_turn_with_nothing_new_sends_the_list_again() -> None:
    one, two = script(Prompt(ids(4), 256, 64), Prompt(ids(4), 256, 64))
    assert one == two


def test_an_answer_stays_short_of_a_later_cut_that_adds_nothing() -> None:
    _, two, three = script(
        Prompt(ids(4), 256, 6400), Prompt(ids(12), 768, 1), Prompt(ids(8), 512, 1)
    )
    assert two[1] == Segment("assistant", 4, 7, 0, 0)
    assert three == (two[0], two[1], Segment("user", 7, 8))


def test_a_cut_answer_is_no_longer_the_whole_answer() -> None:
    _, _, three = script(
        Prompt(ids(2), 128, 256), Prompt(ids(8), 512, 1), Prompt((*ids(4), 99), 320, 1)
    )
    assert three[1] == Segment("assistant", 2, 4)


def test_ids_beyond_the_prompts_length_count_for_nothing() -> None:
    assert script(Prompt(ids(9), 200, 1)) == [(Segment("user", 0, 3, 8),)]


def test_turns_can_be_asked_for_in_any_order() -> None:
    prompts = [Prompt(ids(3 * n), 200 * n, 90) for n in range(1, 8)]
    steps = steps_of(prompts, 64, 64)
    in_order, back = Script(steps), Script(steps)
    forward = [in_order.messages(turn) for turn in range(7)]
    assert [back.messages(turn) for turn in (6, 2, 2, 5, 0)] == [
        forward[turn] for turn in (6, 2, 2, 5, 0)
    ]


@pytest.mark.parametrize("same", [0, 1, 5, 9, 10])
def test_common_prefixes_are_counted_in_ids(same: int) -> None:
    left = ids(10)
    right = left[:same] + tuple(-n for n in range(10 - same))
    assert common_prefix(left, right, 10) == same
    assert common_prefix(left, right, 3) == min(same, 3)
