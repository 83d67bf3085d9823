"""Law: messages add up to the recorded prompt; what stands in common is what blocks share."""

from hypothesis import given, settings
from hypothesis import strategies as st

from loadgen.workload.segments import Prompt, Script, Segment, common_prefix, steps_of

BLOCK = 4


@st.composite
def recordings(draw: st.DrawFn) -> list[Prompt]:
    """Turns that grow, are cut back, are repeated, or lose everything."""
    prompts: list[Prompt] = []
    ids: tuple[int, ...] = ()
    fresh = 1
    for _ in range(draw(st.integers(1, 8))):
        kept = draw(st.one_of(st.just(len(ids)), st.integers(0, len(ids))))
        new = draw(st.integers(0, 6))
        ids = ids[:kept] + tuple(range(fresh, fresh + new))
        fresh += new
        tail = draw(st.sampled_from([0, 0, 1, 3, 9]))
        short = draw(st.integers(0, 1)) if ids else 0
        prompts.append(Prompt(ids, len(ids) * BLOCK - short + tail, draw(st.integers(0, 30))))
    return prompts


def covered(prompt: Prompt) -> int:
    return min(prompt.in_tok // BLOCK, len(prompt.ids))


def all_messages(prompts: list[Prompt], prefix_tok: int) -> list[tuple[Segment, ...]]:
    script = Script(steps_of(prompts, prefix_tok, BLOCK))
    return [script.messages(turn) for turn in range(len(prompts))]


@settings(max_examples=300, deadline=None)
@given(recordings(), st.integers(0, 20))
def test_segments_of_each_turn_cover_its_prompt_exactly(
    prompts: list[Prompt], prefix_tok: int
) -> None:
    for prompt, messages in zip(prompts, all_messages(prompts, prefix_tok), strict=True):
        total = sum((m.end - m.first) * BLOCK + m.tail_tok for m in messages)
        assert total == prompt.in_tok
        assert [m.first for m in messages] == [0, *(m.end for m in messages[:-1])][: len(messages)]
        assert all(not m.tail_tok for m in messages[:-1])
        assert all(m.end > m.first or m.tail_tok for m in messages)


@settings(max_examples=300, deadline=None)
@given(recordings(), st.integers(0, 20))
def test_every_prompt_ends_in_a_users_message(prompts: list[Prompt], prefix_tok: int) -> None:
    for prompt, messages in zip(prompts, all_messages(prompts, prefix_tok), strict=True):
        assert (messages[-1].role == "user") if prompt.in_tok else not messages


@settings(max_examples=300, deadline=None)
@given(recordings(), st.integers(0, 20))
def test_messages_below_the_shared_blocks_are_sent_again_unchanged(
    prompts: list[Prompt], prefix_tok: int
) -> None:
    sent = all_messages(prompts, prefix_tok)
    for at in range(1, len(prompts)):
        before, now = prompts[at - 1], prompts[at]
        shared = common_prefix(before.ids, now.ids, min(covered(before), covered(now)))
        whole = [m for m in sent[at - 1] if m.end <= shared and not m.tail_tok and m.end > m.first]
        assert list(sent[at][: len(whole)]) == whole


@settings(max_examples=300, deadline=None)
@given(recordings(), st.integers(0, 20))
def test_an_answer_is_never_longer_than_its_recorded_one(
    prompts: list[Prompt], prefix_tok: int
) -> None:
    for messages in all_messages(prompts, prefix_tok):
        for message in messages:
            if message.answer_to is not None:
                answered = -(-prompts[message.answer_to].out_tok // BLOCK)
                assert 0 < message.end - message.first <= answered
