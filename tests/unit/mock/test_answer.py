from typing import Any

import msgspec

from loadgen.mock.answer import CONTENT, REASONING, TOOL_ARGS, Answer, Composer
from loadgen.mock.ask import Ask
from loadgen.mock.engine.vocabulary import Vocabulary
from loadgen.mock.profiles import load_profile

TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        },
    },
}


def compose(overrides: tuple[str, ...] = (), seed: int = 1, **members: Any) -> Answer:
    body = {"messages": [{"role": "user", "content": "hi"}], **members}
    ask = msgspec.convert(body, Ask)
    vocabulary = Vocabulary()
    return Composer(load_profile("small", overrides), vocabulary, seed).compose(ask, [1, 2, 3])


def test_the_same_prompt_and_seed_give_the_same_text() -> None:
    assert compose().text(CONTENT) == compose().text(CONTENT)
    assert compose().text(CONTENT) != compose(seed=2).text(CONTENT)


def test_the_limit_ends_an_answer_with_length() -> None:
    answer = compose(max_tokens=3)
    assert (len(answer.tokens), answer.finish_reason) == (3, "length")


def test_an_answer_ends_by_itself_with_one_counted_end_token() -> None:
    answer = compose(loadgen_mock={"answer": "one two three"})
    assert (len(answer.tokens), answer.finish_reason) == (4, "stop")


def test_ignore_eos_fills_the_limit() -> None:
    answer = compose(max_tokens=700, ignore_eos=True)
    assert (len(answer.tokens), answer.finish_reason) == (700, "length")


def test_min_tokens_are_reached() -> None:
    assert len(compose(min_tokens=900, max_tokens=2000).tokens) >= 900


def test_lengths_follow_the_profile() -> None:
    lengths = [len(compose(seed=seed).tokens) - 1 for seed in range(400)]
    assert 170 < sum(lengths) / len(lengths) < 230


def test_a_stop_text_is_cut_even_across_tokens() -> None:
    answer = compose(stop=["wo th"], loadgen_mock={"answer": "one two three four"})
    assert answer.text(CONTENT) == "one t"
    assert (answer.finish_reason, answer.stop_reason) == ("stop", "wo th")


def test_reasoning_comes_first_in_its_share() -> None:
    answer = compose(("output.reasoning_share=0.5",), loadgen_mock={"output_tokens": 100})
    channels = [token.channel for token in answer.tokens]
    assert channels[:50] == [REASONING] * 50
    assert channels.count(CONTENT) == 49
    assert answer.n_reasoning == 51


def test_tool_arguments_fit_the_schema() -> None:
    answer = compose(tools=[TOOL], tool_choice="required")
    arguments = msgspec.json.decode(answer.text(TOOL_ARGS))
    assert answer.finish_reason == "tool_calls"
    assert isinstance(arguments["city"], str)
    assert isinstance(arguments["days"], int)


def test_a_named_tool_ends_with_stop_as_vllm_does() -> None:
    named = {"type": "function", "function": {"name": "get_weather"}}
    assert compose(tools=[TOOL], tool_choice=named).finish_reason == "stop"


def test_right_and_wrong_answers_come_in_their_share() -> None:
    directive = {"right": "42", "wrong": "41", "p_right": 0.75}
    texts = [compose(seed=s, loadgen_mock=directive).text(CONTENT) for s in range(400)]
    assert set(texts) == {"42", "41"}
    assert 270 < texts.count("42") < 330
