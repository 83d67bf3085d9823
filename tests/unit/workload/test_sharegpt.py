from pathlib import Path
from typing import Any

import msgspec
import pytest

from loadgen.errors import InputError, UsageError
from loadgen.model.plan import WorkloadPlan
from loadgen.model.session import Answer, Session, Turn, Wait
from loadgen.workload import WorkloadContext
from loadgen.workload.sharegpt import ShareGpt

TALK = {
    "id": "a",
    "conversations": [
        {"from": "system", "value": "sei nett"},
        {"from": "gpt", "value": "stray greeting"},
        {"from": "human", "value": 'Was heißt "你好"? [}{]'},
        {"from": "gpt", "value": "Hallo 👋 " * 10},
        {"from": "human", "value": "danke"},
        {"from": "gpt", "value": "gern"},
    ],
}
SHORT = {"id": "b", "conversations": [{"from": "user", "value": "hi"}]}
MUTE = {"id": "c", "conversations": [{"from": "gpt", "value": "only me"}]}


def array_file(tmp_path: Path, *rows: object, indent: bool = True) -> str:
    path = tmp_path / "talks.json"
    encoded = msgspec.json.encode(list(rows))
    path.write_bytes(msgspec.json.format(encoded, indent=2) if indent else encoded)
    return str(path)


def lines_file(tmp_path: Path, *rows: object) -> str:
    path = tmp_path / "talks.jsonl"
    path.write_bytes(b"\n".join(map(msgspec.json.encode, rows)))
    return str(path)


def opened(path: str, *, completions: bool = False, **options: Any) -> ShareGpt:
    context = WorkloadContext("completions" if completions else "chat", salt="s")
    options = {"salted": False, **options}
    return ShareGpt(WorkloadPlan(format="sharegpt", path=path, **options), context)


def wire(turn: Turn) -> dict[str, Any]:
    parts = (b'"live"' if isinstance(part, Answer) else part for part in turn.body)
    decoded: dict[str, Any] = msgspec.json.decode(b"{" + b"".join(parts) + b"}")
    return decoded


def session_of(workload: ShareGpt, index: int = 0) -> Session:
    session = workload.session(0, index)
    assert session is not None
    return session


@pytest.mark.parametrize("indent", [True, False])
def test_arrays_and_lines_give_the_same_sessions(tmp_path: Path, indent: bool) -> None:
    one = opened(array_file(tmp_path, TALK, SHORT, indent=indent), turns="all")
    two = opened(lines_file(tmp_path, TALK, SHORT), turns="all")
    assert one.n_rows == two.n_rows == 2
    assert [session_of(one, i) for i in range(3)] == [session_of(two, i) for i in range(3)]


def test_a_conversation_becomes_turns_with_recorded_answers(tmp_path: Path) -> None:
    session = session_of(opened(array_file(tmp_path, TALK), turns="all", think="1s", osl="9"))
    assert len(session.turns) == 2
    assert session.turns[1].after == (Wait("0", "done", 10**9),)
    assert wire(session.turns[1]) == {
        "messages": [
            {"role": "system", "content": "sei nett"},
            {"role": "user", "content": 'Was heißt "你好"? [}{]'},
            {"role": "assistant", "content": "Hallo 👋 " * 10},
            {"role": "user", "content": "danke"},
        ],
        "max_tokens": 9,
    }


def test_only_the_first_turn_is_played_unless_more_are_asked(tmp_path: Path) -> None:
    assert len(session_of(opened(array_file(tmp_path, TALK))).turns) == 1
    assert len(session_of(opened(array_file(tmp_path, TALK), turns="5")).turns) == 2


def test_live_answers_get_their_place(tmp_path: Path) -> None:
    session = session_of(opened(array_file(tmp_path, TALK), turns="all", history="live"))
    assert session.history == "live"
    assert wire(session.turns[1])["messages"][2] == {"role": "assistant", "content": "live"}
    with pytest.raises(UsageError, match="needs the chat endpoint"):
        opened(array_file(tmp_path, TALK), history="live", completions=True)


def test_a_plain_prompt_holds_the_conversation_apart_by_blank_lines(tmp_path: Path) -> None:
    session = session_of(opened(array_file(tmp_path, TALK), turns="all", completions=True))
    texts = wire(session.turns[1])["prompt"].split("\n\n")
    assert texts == ["sei nett", 'Was heißt "你好"? [}{]', "Hallo 👋 " * 10, "danke"]


def test_recorded_answers_can_set_the_limit(tmp_path: Path) -> None:
    session = session_of(opened(array_file(tmp_path, TALK), osl="recorded"))
    assert session.turns[0].max_output_tok == len("Hallo 👋 " * 10) // 4


def test_first_texts_are_salted_unless_refused(tmp_path: Path) -> None:
    salted = opened(lines_file(tmp_path, SHORT), salted=None)
    texts = [wire(session_of(salted, i).turns[0])["messages"][0]["content"] for i in range(2)]
    assert texts[0] != texts[1]
    assert all(text.endswith("] hi") for text in texts)


def test_rows_without_a_human_text_are_left_out_with_a_notice(tmp_path: Path) -> None:
    workload = opened(lines_file(tmp_path, MUTE, SHORT, MUTE))
    assert workload.n_rows == 1
    assert workload.notices == ("2 of 3 rows left out: no human text in them",)
    assert session_of(workload, 4).prompt_id == "row1"


def test_a_data_set_of_unusable_rows_is_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none of 2 rows can be sent: no human text"):
        opened(lines_file(tmp_path, MUTE, MUTE))


def test_once_ends_behind_the_last_usable_row(tmp_path: Path) -> None:
    workload = opened(lines_file(tmp_path, MUTE, SHORT), once=True)
    assert workload.session(0, 0) is not None
    assert workload.session(0, 1) is None


def test_a_wrong_row_of_an_array_is_refused_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "talks.json"
    path.write_text('[\n{"conversations":[]},\n{"conversations":[{"from":"human","value":3}]}\n]')
    with pytest.raises(InputError) as caught:
        opened(str(path))
    assert "talks.json:3`" in str(caught.value)
    assert "$.conversations[0].value" in str(caught.value)


def test_an_array_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "talks.json"
    path.write_bytes(Path(array_file(tmp_path, TALK, SHORT)).read_bytes()[:-20])
    with pytest.raises(InputError, match="ends in the middle"):
        opened(str(path))


def test_conversations_over_the_limit_are_counted(tmp_path: Path) -> None:
    workload = opened(lines_file(tmp_path, TALK, SHORT), turns="all", osl="5")
    found = workload.rows_over(20, lambda text: len(text.split()))
    assert (found.over, found.of) == (1, 2)
