from pathlib import Path
from typing import Any

import msgspec
import pytest

from loadgen.errors import InputError, UsageError
from loadgen.model.plan import WorkloadPlan
from loadgen.model.session import Answer, Session, Turn, Wait
from loadgen.workload import WorkloadContext
from loadgen.workload.conflux import Conflux

S = 10**9
ASK = {"role": "user", "content": "list the files"}
SAID = {"role": "assistant", "content": "ok"}
TOOL = {"type": "function", "function": {"name": "ls"}}


def record(at_s: float, *said: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {
        "id": f"req_{at_s}",
        "session_id": "s1",
        "agent_id": "main",
        "client": "claude",
        "timestamp": f"2026-03-01T10:00:{at_s:06.3f}Z",
        "duration_ms": 2000,
        "tokens": {"input": 1200, "input_cached": 1024, "output": 52, "output_reasoning": 8},
        "tools": [],
        "messages": list(said or (ASK,)),
        **members,
    }


def capture(tmp_path: Path, *records: object, name: str = "capture.json") -> Path:
    path = tmp_path / name
    path.write_bytes(msgspec.json.format(msgspec.json.encode(list(records)), indent=2))
    return path


def opened(path: Path, *, endpoint: Any = "chat", **options: Any) -> Conflux:
    options = {"salted": False, **options}
    plan = WorkloadPlan(format="conflux", path=str(path), **options)
    return Conflux(plan, WorkloadContext(endpoint, salt="s"))


def session_of(workload: Conflux, index: int = 0) -> Session:
    session = workload.session(0, index)
    assert session is not None
    return session


def wire(turn: Turn) -> dict[str, Any]:
    parts = (b'"LIVE"' if isinstance(part, Answer) else part for part in turn.body)
    decoded: dict[str, Any] = msgspec.json.decode(b"{" + b"".join(parts) + b"}")
    return decoded


def test_a_record_is_sent_as_it_was_asked(tmp_path: Path) -> None:
    settings = {"max_tokens": 4096, "temperature": 0.25, "seed": None, "text_verbosity": "low"}
    path = capture(tmp_path, record(0, ASK, tools=[TOOL], hyperparameters=settings))
    (turn,) = session_of(opened(path)).turns
    assert wire(turn) == {
        "messages": [ASK],
        "tools": [TOOL],
        "temperature": 0.25,
        "max_tokens": 60,
    }
    assert (turn.input_tok, turn.max_output_tok) == (1200, 60)


def test_agents_of_a_session_are_threads_in_the_order_of_time(tmp_path: Path) -> None:
    records = [
        record(9, ASK, SAID, ASK),
        record(0),
        record(1, agent_id="sub", completed_at="2026-03-01T10:00:02Z", duration_ms=None),
        record(3, ASK, SAID, ASK, agent_id="sub"),
    ]
    turns = session_of(opened(capture(tmp_path, *records))).turns
    assert [turn.stream for turn in turns] == ["main", "sub", "sub", "main"]
    assert [turn.at_ns for turn in turns] == [0, S, 3 * S, 9 * S]
    assert [turn.after for turn in turns] == [
        (),
        (Wait("0", "sent", S),),
        (Wait("1", "done", S),),
        (Wait("0", "done", 7 * S),),
    ]


def test_answers_can_be_live(tmp_path: Path) -> None:
    path = capture(tmp_path, record(0), record(5, ASK, SAID, ASK))
    turn = session_of(opened(path, history="live")).turns[1]
    assert wire(turn)["messages"] == [ASK, {"role": "assistant", "content": "LIVE"}, ASK]
    recorded = session_of(opened(path)).turns[1]
    assert wire(recorded)["messages"] == [ASK, SAID, ASK]


def test_sessions_of_a_folder_stand_in_the_order_of_their_first_request(tmp_path: Path) -> None:
    capture(tmp_path, record(7, session_id="late"), record(20), name="a.json")
    capture(tmp_path, record(2), name="b.json")
    workload = opened(tmp_path)
    sessions = [session_of(workload, index) for index in range(3)]
    assert [session.prompt_id for session in sessions] == ["s1", "late", "s1"]
    assert [session.arrives_at_ns for session in sessions] == [0, 5 * S, 0]
    assert [len(session.turns) for session in sessions] == [2, 1, 2]


def test_calls_of_no_agent_are_left_out_unless_asked_for(tmp_path: Path) -> None:
    path = capture(tmp_path, record(0), record(1, agent_id=None))
    workload = opened(path)
    assert len(session_of(workload).turns) == 1
    assert workload.notices[0].startswith("1 calls that belong to no agent are left out")
    asked = opened(path, utility_calls=True)
    assert [turn.stream for turn in session_of(asked).turns] == ["main", "utility"]
    assert asked.notices == ()


def test_requests_too_long_for_the_model_are_counted_by_their_recorded_tokens(
    tmp_path: Path,
) -> None:
    found = opened(capture(tmp_path, record(0), record(1, tokens=None))).rows_over(1000)
    assert (found.over, found.of, found.longest_tok) == (1, 2, 1260)


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"timestamp": "soon"}, r"capture.json:\d+` at `\$.timestamp`: an ISO 8601 .* 'soon'"),
        ({"completed_at": "9", "duration_ms": None}, r"at `\$.completed_at`: .* '9'"),
        ({"messages": []}, r"capture.json:\d+` at `\$.messages`: .*length >= 1"),
        ({"messages": "hi"}, r"at `\$.messages`: a list was expected; the value is 'hi'"),
        ({"session_id": None}, r"at `\$.session_id`: a text was expected; the value is None"),
        ({"duration_ms": -5}, r"at `\$.duration_ms`: .*; the value is -5"),
        ({"tokens": {"output": "many"}}, r"at `\$.tokens.output`: a whole number .*'many'"),
    ],
)
def test_records_that_cant_be_played_are_refused_with_their_place(
    tmp_path: Path, members: dict[str, Any], said: str
) -> None:
    path = capture(tmp_path, record(0), record(1, **members))
    with pytest.raises(InputError, match=said):
        session_of(opened(path))


def test_captures_without_anything_to_send_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none of 1 records names its agent"):
        opened(capture(tmp_path, record(0, agent_id=None)))
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"holds no `.json` file"):
        opened(tmp_path / "empty")
    with pytest.raises(UsageError, match="need the chat endpoint"):
        opened(tmp_path / "capture.json", endpoint="completions")


def test_once_ends_behind_the_last_session_and_copies_can_be_marked(tmp_path: Path) -> None:
    path = capture(tmp_path, record(0))
    assert opened(path, once=True).session(0, 1) is None
    marked = opened(path, salted=True)
    texts = {wire(session_of(marked, n).turns[0])["messages"][0]["content"] for n in range(3)}
    assert len(texts) == 3
