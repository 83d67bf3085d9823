import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from loadgen.errors import InputError, UsageError
from loadgen.model.plan import WorkloadPlan
from loadgen.model.session import Answer, Session, Turn, Wait
from loadgen.workload import WorkloadContext
from loadgen.workload.mooncake import Mooncake

MS = 10**6
MARK = re.compile(r"^\[[0-9a-f]{16}\] ")
FIRST = {"timestamp": 1000, "input_length": 1200, "output_length": 52, "hash_ids": [0, 1, 2]}
SECOND = {"timestamp": 1850, "input_length": 1710, "output_length": 0, "hash_ids": [0, 1, 2, 7]}


def opened(
    tmp_path: Path,
    *rows: object,
    endpoint: Any = "chat",
    by_time: bool = False,
    **options: Any,
) -> Mooncake:
    path = tmp_path / "trace.jsonl"
    texts = (row if isinstance(row, bytes) else msgspec.json.encode(row) for row in rows)
    path.write_bytes(b"\n".join(texts))
    plan = WorkloadPlan(format="mooncake", path=str(path), **{"salted": True, **options})
    return Mooncake(plan, WorkloadContext(endpoint, salt="s", by_time=by_time))


def session_of(workload: Mooncake, index: int = 0, point: int = 0) -> Session:
    session = workload.session(point, index)
    assert session is not None
    return session


def wire(turn: Turn) -> dict[str, Any]:
    parts = (part for part in turn.body if not isinstance(part, Answer))
    decoded: dict[str, Any] = msgspec.json.decode(b"{" + b"".join(parts) + b"}")
    return decoded


def text(turn: Turn) -> str:
    sent = wire(turn)
    content: str = sent["prompt"] if "prompt" in sent else sent["messages"][0]["content"]
    return content


def test_a_row_has_a_word_for_each_token_and_its_own_limit(tmp_path: Path) -> None:
    workload = opened(tmp_path, FIRST, SECOND)
    for index, row in enumerate((FIRST, SECOND)):
        (turn,) = session_of(workload, index).turns
        assert len(MARK.sub("", text(turn)).split()) == row["input_length"] == turn.input_tok
    assert wire(session_of(workload).turns[0])["max_tokens"] == 52
    assert wire(session_of(workload, 1).turns[0])["max_tokens"] == 1


def test_rows_share_the_text_of_the_blocks_that_they_share(tmp_path: Path) -> None:
    workload = opened(tmp_path, FIRST, SECOND)
    one, other = (text(session_of(workload, n).turns[0]).split() for n in range(2))
    assert one == other[: len(one)]
    assert other[len(one) : 1 + 3 * 512] != one[: 1 + 3 * 512 - len(one)]


def test_designed_blocks_are_pairs_of_ids_that_count_up(tmp_path: Path) -> None:
    workload = opened(tmp_path, FIRST, SECOND)
    assert session_of(workload).turns[0].blocks == (0, 3)
    assert session_of(workload, 1).turns[0].blocks == (0, 3, 7, 1)


def test_another_round_or_point_shares_nothing(tmp_path: Path) -> None:
    workload = opened(tmp_path, FIRST, SECOND)
    opening = {text(session_of(workload, *at).turns[0])[:18] for at in ((0, 0), (2, 0), (0, 1))}
    assert len(opening) == 3
    assert text(session_of(workload, 1).turns[0])[:18] in opening
    plain = opened(tmp_path, FIRST, SECOND, salted=False)
    assert text(session_of(plain).turns[0]) == text(session_of(plain, 2).turns[0])


def test_lengths_beyond_the_ids_are_text_of_the_rows_own(tmp_path: Path) -> None:
    bare = {"input_length": 700, "hash_ids": [4]}
    workload = opened(tmp_path, bare, bare, {"input_length": 9}, salted=False)
    one, other, short = (text(session_of(workload, n).turns[0]).split() for n in range(3))
    assert one[:512] == other[:512]
    assert one[512:] != other[512:]
    assert (len(one), len(short)) == (700, 9)
    assert "max_tokens" not in wire(session_of(workload).turns[0])


def test_rows_arrive_at_their_times(tmp_path: Path) -> None:
    workload = opened(tmp_path, SECOND, FIRST, {"input_length": 5})
    arrivals = [session_of(workload, n).arrives_at_ns for n in range(3)]
    assert arrivals == [850 * MS, 0, None]


def test_rows_of_one_session_wait_for_each_other(tmp_path: Path) -> None:
    rows = [
        {**SECOND, "session_id": "x"},
        {"input_length": 40, "timestamp": 900, "session_id": "y"},
        {**FIRST, "session_id": "x"},
        {**SECOND, "timestamp": 2000, "delay": 30, "session_id": "x"},
    ]
    workload = opened(tmp_path, *rows)
    assert workload.n_rows == 2
    session = session_of(workload)
    assert (session.prompt_id, session.arrives_at_ns) == ("x", 100 * MS)
    assert [turn.after for turn in session.turns] == [
        (),
        (Wait("0", "sent", 850 * MS), Wait("0", "done", 0)),
        (Wait("1", "done", 30 * MS),),
    ]


def test_given_texts_are_sent_as_they_stand(tmp_path: Path) -> None:
    said = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    payload = {"messages": said, "model": "gone", "stream": False, "max_tokens": 3, "n": 1}
    rows = [
        {"text_input": 'say "ü"', "output_length": 4},
        {"messages": said, "output_length": 4},
        {"payload": payload, "output_length": 4},
    ]
    workload = opened(tmp_path, *rows, salted=False, ignore_eos=True)
    sent = [wire(session_of(workload, n).turns[0]) for n in range(3)]
    assert sent[0]["messages"] == [{"role": "user", "content": 'say "ü"'}]
    assert sent[1]["messages"] == said
    assert sent[2]["messages"] == said
    assert [one["max_tokens"] for one in sent] == [4, 4, 3]
    assert set(sent[2]) == {"messages", "max_tokens", "n", "min_tokens", "ignore_eos"}
    assert session_of(workload).turns[0].blocks == ()


def test_given_messages_are_marked_in_the_first_users_text(tmp_path: Path) -> None:
    said = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    messages = wire(session_of(opened(tmp_path, {"messages": said})).turns[0])["messages"]
    assert messages[0] == said[0]
    assert MARK.sub("", messages[1]["content"]) == "u"


def test_plain_prompts_are_made_for_the_completions_endpoint(tmp_path: Path) -> None:
    (turn,) = session_of(opened(tmp_path, FIRST, endpoint="completions")).turns
    assert set(wire(turn)) == {"prompt", "max_tokens"}
    assert len(MARK.sub("", text(turn)).split()) == 1200
    with pytest.raises(UsageError, match="rows with `messages` are messages"):
        opened(tmp_path, {"messages": [{"role": "user"}]}, endpoint="completions")


def test_rows_too_long_for_the_model_are_counted(tmp_path: Path) -> None:
    rows = [FIRST, SECOND, {"text_input": "x" * 400}, {"messages": [{"role": "u", "content": ""}]}]
    found = opened(tmp_path, *rows).rows_over(1500)
    assert (found.over, found.of, found.longest_tok) == (1, 4, 1711)


def test_once_ends_behind_the_last_row(tmp_path: Path) -> None:
    assert opened(tmp_path, FIRST, once=True).session(0, 1) is None


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"timestamp": 1}, "trace.jsonl:2`: `input_length` is None; a number of tokens from 1"),
        ({"input_length": 0}, "trace.jsonl:2`: `input_length` is 0"),
        ({"input_length": -4}, r"at `\$.input_length`: .*>= 0.*; the value is -4"),
        ({"input_length": "9"}, r"at `\$.input_length`: a whole number was expected; .*'9'"),
        ({"input_length": 9, "hash_ids": [1, -1]}, r"at `\$.hash_ids\[1\]`: .*; the value is -1"),
        ({"input_length": 9, "delay": -1}, r"at `\$.delay`: .*; the value is -1"),
        ({"input_length": 9, "timestamp": "x"}, r"at `\$.timestamp`: a number was expected"),
        ({"text_input": "x", "payload": {}}, "trace.jsonl:2`: more than one of `text_input`"),
        ({"messages": []}, r"trace.jsonl:2` at `\$.messages`: .*length >= 1"),
        (b'{"input_length": NaN}', "trace.jsonl:2`: no JSON"),
        (b"[1]", "trace.jsonl:2` at"),
    ],
)
def test_rows_that_cant_be_played_are_refused_with_their_place(
    tmp_path: Path, row: object, said: str
) -> None:
    with pytest.raises(InputError, match=said):
        opened(tmp_path, FIRST, row)


def test_by_time_sessions_come_once_in_the_order_of_their_arrival(tmp_path: Path) -> None:
    workload = opened(tmp_path, SECOND, FIRST, by_time=True)
    assert [session_of(workload, n).arrives_at_ns for n in range(2)] == [0, 850 * MS]
    assert workload.session(0, 2) is None


def test_by_time_a_row_without_a_time_is_refused_by_its_line(tmp_path: Path) -> None:
    untimed = {"input_length": 3, "output_length": 1, "hash_ids": [1]}
    with pytest.raises(InputError, match=r"trace.jsonl:2`: no `timestamp`"):
        opened(tmp_path, FIRST, untimed, by_time=True)
