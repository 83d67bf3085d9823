from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from loadgen.errors import UsageError
from loadgen.model.plan import EndpointType, TokenFit, WorkloadPlan
from loadgen.model.session import Answer, Session, Turn, Wait
from loadgen.tokens import fit_tokenizer, load_tokenizer
from loadgen.workload import WorkloadContext
from loadgen.workload.synthetic import Synthetic

TINY = Path(__file__).parents[2] / "fixtures" / "tiny-model"


@pytest.fixture(scope="module")
def tiny() -> Callable[[str], int]:
    return load_tokenizer(TINY)


@pytest.fixture(scope="module")
def fit(tiny: Callable[[str], int]) -> TokenFit:
    return fit_tokenizer(tiny)


def wire(turn: Turn, answer: str = "said") -> dict[str, Any]:
    """The body as a server would read it, live answers filled in."""
    parts = (msgspec.json.encode(answer) if isinstance(p, Answer) else p for p in turn.body)
    decoded: dict[str, Any] = msgspec.json.decode(b"{" + b"".join(parts) + b"}")
    return decoded


def made(*, seed: int = 1, salt: str = "s", completions: bool = False, **options: Any) -> Synthetic:
    endpoint: EndpointType = "completions" if completions else "chat"
    fit = options.pop("fit", TokenFit())
    return Synthetic(WorkloadPlan(**options), WorkloadContext(endpoint, fit, seed, salt))


def texts(session: Session, turn: int = 0) -> list[str]:
    return [message["content"] for message in wire(session.turns[turn])["messages"]]


def test_a_prompt_is_one_user_message_and_a_limit() -> None:
    turn = made(isl="64", osl="7").session(0, 0).turns[0]
    body = wire(turn)
    assert list(body) == ["messages", "max_tokens"]
    assert [message["role"] for message in body["messages"]] == ["user"]
    assert (body["max_tokens"], turn.max_output_tok, turn.input_tok) == (7, 7, 64)
    assert len(turn.body) == 1


@pytest.mark.parametrize("n_tok", [1, 2, 16, 17, 18, 300, 5000])
def test_prompts_have_exactly_the_asked_tokens(
    tiny: Callable[[str], int], fit: TokenFit, n_tok: int
) -> None:
    sessions = made(fit=fit, isl=str(n_tok))
    counted = {tiny(texts(sessions.session(0, index))[0]) for index in range(20)}
    assert counted == {n_tok}


def test_a_completions_prompt_has_exactly_the_asked_tokens_too(
    tiny: Callable[[str], int], fit: TokenFit
) -> None:
    for prefix in (0, 128):
        sessions = made(fit=fit, isl="400", shared_prefix_tok=prefix, completions=True)
        body = wire(sessions.session(0, 3).turns[0])
        assert tiny(body["prompt"]) == 400
        assert body["max_tokens"] == 256


def test_drawn_lengths_are_exact_and_told(tiny: Callable[[str], int], fit: TokenFit) -> None:
    sessions = made(fit=fit, isl="uniform:20,900", osl="uniform:1,50")
    for index in range(30):
        session = sessions.session(0, index)
        assert tiny(texts(session)[0]) == session.turns[0].input_tok
        assert wire(session.turns[0])["max_tokens"] == session.turns[0].max_output_tok
    assert len({sessions.session(0, index).turns[0].input_tok for index in range(30)}) > 20


def test_the_same_plan_seed_and_salt_make_the_same_bytes() -> None:
    assert made(isl="3000").session(2, 5) == made(isl="3000").session(2, 5)


def test_sessions_need_none_of_those_before() -> None:
    whole = made(turns="uniform:1,4", isl="normal:300,sd=50")
    every = [whole.session(0, index) for index in range(12)]
    assert made(turns="uniform:1,4", isl="normal:300,sd=50").session(0, 11) == every[11]


def test_prompts_differ_in_their_first_words_between_runs_points_and_indices() -> None:
    def opening(salt: str, point: int, index: int) -> str:
        return texts(made(salt=salt, isl="500").session(point, index))[0][:60]

    openings = {
        opening(salt, point, index)
        for salt in ("a", "b")
        for point in range(3)
        for index in range(20)
    }
    assert len(openings) == 120


def test_only_the_salted_opening_differs_between_runs() -> None:
    one, two = (texts(made(salt=salt, isl="900").session(0, 0))[0] for salt in ("a", "b"))
    assert one != two
    assert one.split()[17:] == two.split()[17:]


def test_unsalted_prompts_are_the_same_in_every_run() -> None:
    one, two = (made(salt=salt, salted=False).session(0, 0) for salt in ("a", "b"))
    assert one == two


def test_another_seed_makes_other_prompts() -> None:
    assert made(seed=1).session(0, 0) != made(seed=2).session(0, 0)


def test_a_shared_prefix_stands_in_front_of_the_salt_and_counts_as_prompt(
    tiny: Callable[[str], int], fit: TokenFit
) -> None:
    sessions = made(fit=fit, isl="600", shared_prefix_tok=256)
    one, two = texts(sessions.session(0, 0)), texts(sessions.session(1, 7))
    assert one[0] == two[0]
    assert one[1][:30] != two[1][:30]
    assert [tiny(text) for text in one] == [256, 344]
    other_run = made(fit=fit, isl="600", shared_prefix_tok=256, salt="t")
    assert texts(other_run.session(0, 0))[0][:30] != one[0][:30]


def test_a_system_text_goes_first_whatever_its_characters() -> None:
    session = made(system_text='Sei "höflich"\n', shared_prefix_tok=8).session(0, 0)
    assert texts(session)[0].startswith('Sei "höflich"\n ')


def test_a_prefix_that_leaves_no_prompt_is_refused() -> None:
    with pytest.raises(UsageError, match="leaves no token"):
        made(isl="256", shared_prefix_tok=256)


def test_forced_lengths_ask_for_min_tokens_and_no_stop() -> None:
    body = wire(made(osl="9", ignore_eos=True).session(0, 0).turns[0])
    assert (body["max_tokens"], body["min_tokens"], body["ignore_eos"]) == (9, 9, True)


def test_aiming_at_the_wire_length_leaves_room_for_the_template(
    tiny: Callable[[str], int], fit: TokenFit
) -> None:
    knowing = msgspec.structs.replace(fit, overhead_tok=15)
    session = made(fit=knowing, isl="128", isl_is_wire=True).session(0, 0)
    assert tiny(texts(session)[0]) == 113
    assert session.turns[0].input_tok == 128


def test_aiming_at_the_wire_length_needs_a_count_of_the_template() -> None:
    with pytest.raises(UsageError, match="--isl-wire"):
        made(isl_is_wire=True)


def test_turns_build_on_their_history_and_wait_for_each_other(
    tiny: Callable[[str], int], fit: TokenFit
) -> None:
    session = made(fit=fit, turns="3", isl="50", osl="20", think="2s").session(0, 0)
    assert [turn.turn_id for turn in session.turns] == ["0", "1", "2"]
    assert [turn.after for turn in session.turns] == [
        (),
        (Wait("0", "done", 2 * 10**9),),
        (Wait("1", "done", 2 * 10**9),),
    ]
    assert [turn.input_tok for turn in session.turns] == [50, 120, 190]
    last = wire(session.turns[2])["messages"]
    assert [m["role"] for m in last] == ["user", "assistant", "user", "assistant", "user"]
    assert wire(session.turns[1])["messages"] == last[:3]
    assert [tiny(m["content"]) for m in last] == [50, 20, 50, 20, 50]


def test_completions_turns_continue_one_prompt(tiny: Callable[[str], int], fit: TokenFit) -> None:
    sessions = made(fit=fit, turns="2", isl="50", osl="20", completions=True)
    first, second = (wire(turn)["prompt"] for turn in sessions.session(0, 0).turns)
    assert second.startswith(first)
    assert (tiny(first), tiny(second)) == (50, 120)


def test_live_history_leaves_a_place_for_the_answer_and_claims_no_length() -> None:
    session = made(turns="2", history="live").session(0, 0)
    assert session.history == "live"
    assert Answer("0") in session.turns[1].body
    messages = wire(session.turns[1], 'he said "é"\n')["messages"]
    assert messages[1] == {"role": "assistant", "content": 'he said "é"\n'}
    assert session.turns[1].input_tok is None


def test_live_history_is_refused_where_a_prompt_has_no_place_for_answers() -> None:
    with pytest.raises(UsageError, match="needs the chat endpoint"):
        made(turns="2", history="live", completions=True)


def test_turns_of_a_session_share_their_bytes() -> None:
    turns = made(turns="5", isl="2000").session(0, 0).turns
    assert all(a is b for a, b in zip(turns[3].body[:-1], turns[4].body, strict=False))


def test_prompts_over_the_context_limit_are_counted_before_the_run() -> None:
    sessions = made(isl="uniform:100,299", osl="100", turns="1")
    found = sessions.rows_over(300)
    assert 0 < found.over < found.of
    assert found.longest_tok <= 399
    assert made(isl="12289", osl="4096").rows_over(16384).over == 200
    assert made(isl="12288", osl="4096").rows_over(16384).over == 0
