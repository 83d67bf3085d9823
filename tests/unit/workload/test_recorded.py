from pathlib import Path
from typing import Any

import msgspec
import pytest

from loadgen.errors import InputError, UsageError
from loadgen.model.plan import Plan, PointPlan, TargetPlan, WorkloadPlan
from loadgen.model.session import Answer, Session, Turn, Wait
from loadgen.workload import WorkloadContext, load_workload, open_workload
from loadgen.workload.recorded import Recorded
from loadgen.workload.threads import instant_ns

S = 10**9
TIMED = PointPlan(0, "trace:speed=2")
TOOLS = [{"type": "function", "function": {"name": "ls", "parameters": {}}}]
ASK = {"role": "user", "content": "Grüße \u2028 x", "name": "ann"}
SAID = {"role": "assistant", "content": "y" * 40}
THEN = {"role": "user", "content": [{"type": "text", "text": "and?"}]}


def asked(name: str, at: object, *said: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"session_id": name, "timestamp": at, "messages": list(said), **members}


def one(name: str, at: object, said: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"session_id": name, "timestamp": at, **said, **members}


def opened(
    tmp_path: Path,
    *rows: object,
    endpoint: Any = "chat",
    by_time: bool = False,
    **options: Any,
) -> Recorded:
    path = tmp_path / "rows.jsonl"
    texts = (row if isinstance(row, bytes) else msgspec.json.encode(row) for row in rows)
    path.write_bytes(b"\n".join(texts))
    options = {"osl": "recorded", "salted": False, **options}
    plan = WorkloadPlan(format="recorded", path=str(path), **options)
    return Recorded(plan, WorkloadContext(endpoint, salt="s", by_time=by_time))


def session_of(workload: Recorded, index: int = 0) -> Session:
    session = workload.session(0, index)
    assert session is not None
    return session


def raw(turn: Turn) -> bytes:
    return b"".join(b'"LIVE"' if isinstance(part, Answer) else part for part in turn.body)


def wire(turn: Turn) -> dict[str, Any]:
    decoded: dict[str, Any] = msgspec.json.decode(b"{" + raw(turn) + b"}")
    return decoded


def talk(name: str = "a") -> list[dict[str, Any]]:
    return [
        asked(name, 100.0, ASK, duration_ms=2000, tools=TOOLS, max_tokens=7, model="gone"),
        asked(name, 105.5, ASK, SAID, THEN, tool_choice="auto"),
    ]


def test_requests_of_a_session_are_turns_with_their_recorded_pauses(tmp_path: Path) -> None:
    session = session_of(opened(tmp_path, *talk()))
    first, second = session.turns
    assert first.after == ()
    assert second.after == (Wait("0", "done", round(3.5 * S)),)
    assert [turn.at_ns for turn in session.turns] == [0, round(5.5 * S)]
    assert session.prompt_id == "a"


def test_messages_and_tools_go_out_byte_for_byte(tmp_path: Path) -> None:
    odd = (
        b'{"session_id":"a","messages":[ {"role" : "user","content":"\\u00fc 1.0e3"} ],"seed":1.50}'
    )
    (turn,) = session_of(opened(tmp_path, odd)).turns
    assert raw(turn) == b'"messages":[{"role" : "user","content":"\\u00fc 1.0e3"}],"seed":1.50'
    first, second = session_of(opened(tmp_path, *talk())).turns
    assert wire(first) == {"messages": [ASK], "tools": TOOLS, "max_tokens": 7}
    assert wire(second) == {"messages": [ASK, SAID, THEN], "tool_choice": "auto"}


def test_a_live_history_holds_the_answer_in_the_recorded_ones_place(tmp_path: Path) -> None:
    session = session_of(opened(tmp_path, *talk(), history="live"))
    assert session.history == "live"
    live = {"role": "assistant", "content": "LIVE"}
    assert wire(session.turns[1])["messages"] == [ASK, live, THEN]
    assert Answer("0") in session.turns[1].body


def test_a_turn_that_goes_on_otherwise_keeps_its_recorded_messages(tmp_path: Path) -> None:
    other = asked("a", 106, THEN, SAID, THEN)
    session = session_of(opened(tmp_path, *talk(), other, history="live"))
    assert wire(session.turns[2])["messages"] == [THEN, SAID, THEN]


def test_turns_share_the_bytes_that_they_repeat(tmp_path: Path) -> None:
    first, second = session_of(opened(tmp_path, *talk())).turns
    assert first.body[1] is second.body[1]


def test_single_messages_become_a_request_before_each_answer(tmp_path: Path) -> None:
    rows = [
        one("a", "2026-03-01T10:00:00Z", ASK),
        one("a", "2026-03-01T10:00:02Z", SAID),
        one("a", "2026-03-01T10:00:07.250Z", THEN),
    ]
    first, second = session_of(opened(tmp_path, *rows)).turns
    assert wire(first) == {"messages": [ASK], "max_tokens": 10}
    assert wire(second) == {"messages": [ASK, SAID, THEN]}
    assert second.after == (Wait("0", "done", round(5.25 * S)),)


def test_rows_of_a_session_are_put_in_the_order_of_their_times(tmp_path: Path) -> None:
    assert session_of(opened(tmp_path, *reversed(talk()))) == session_of(opened(tmp_path, *talk()))


def test_sessions_stand_in_the_files_order_and_start_again(tmp_path: Path) -> None:
    workload = opened(tmp_path, *talk("b"), asked("a", 90, ASK), asked("c", 130, ASK))
    assert workload.n_rows == 3
    assert [session_of(workload, n).prompt_id for n in range(4)] == ["b", "a", "c", "b"]
    arrivals = [session_of(workload, n).arrives_at_ns for n in range(3)]
    assert arrivals == [10 * S, 0, 40 * S]
    assert opened(tmp_path, *talk(), once=True).session(0, 1) is None


def test_rows_without_a_session_are_sessions_of_their_own(tmp_path: Path) -> None:
    workload = opened(tmp_path, {"messages": [ASK]}, {"messages": [THEN]})
    assert workload.n_rows == 2
    assert session_of(workload).arrives_at_ns is None


def test_agents_are_threads_that_start_where_the_first_one_stood(tmp_path: Path) -> None:
    rows = [
        asked("a", 0, ASK, duration_ms=4000, agent_id="main"),
        asked("a", 1, THEN, duration_ms=500, agent_id="early"),
        asked("a", 9, THEN, agent_id="late"),
        asked("a", 12, ASK, SAID, THEN, agent_id="main"),
    ]
    turns = session_of(opened(tmp_path, *rows)).turns
    assert [turn.stream for turn in turns] == ["main", "early", "late", "main"]
    assert [turn.after for turn in turns[1:]] == [
        (Wait("0", "sent", S),),
        (Wait("0", "done", 5 * S),),
        (Wait("0", "done", 8 * S),),
    ]


def test_limits_come_from_the_row_the_answer_or_the_option(tmp_path: Path) -> None:
    rows = [one("a", 1, ASK), one("a", 2, SAID), *talk("b")]
    drawn = opened(tmp_path, *rows, osl="33")
    assert wire(session_of(drawn).turns[0])["max_tokens"] == 33
    assert [wire(turn)["max_tokens"] for turn in session_of(drawn, 1).turns] == [7, 33]
    forced = opened(tmp_path, *rows, osl="none", ignore_eos=True)
    assert wire(session_of(forced).turns[0])["ignore_eos"] is True
    assert "max_tokens" not in wire(session_of(forced).turns[0])


def test_copies_of_a_session_are_marked_where_that_is_asked(tmp_path: Path) -> None:
    workload = opened(tmp_path, *talk(), salted=True)
    one_, other = (session_of(workload, n).turns[1] for n in range(2))
    texts = [wire(turn)["messages"][0]["content"] for turn in (one_, other)]
    assert texts[0] != texts[1]
    assert all(text.endswith("] Grüße \u2028 x") for text in texts)
    assert wire(one_)["messages"][1:] == wire(other)["messages"][1:]


def test_sessions_too_long_for_the_model_are_counted(tmp_path: Path) -> None:
    long = asked("b", 1, {"role": "user", "content": "x" * 4000}, max_tokens=100)
    found = opened(tmp_path, *talk(), long).rows_over(1000)
    assert (found.over, found.of, found.longest_tok, found.estimated) == (1, 3, 1100, True)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"session_id": "a"}], "rows.jsonl:1`: neither of `messages` and `role`"),
        ([{**asked("a", 1, ASK), **ASK}], "rows.jsonl:1`: both of `messages` and `role`"),
        ([ASK], "rows.jsonl:1`: no `session_id`"),
        ([asked("a", "noon", ASK)], r"rows.jsonl:1` at `\$.timestamp`: an ISO 8601 .* 'noon'"),
        ([asked("a", 1)], r"rows.jsonl:1` at `\$.messages`: .*length >= 1"),
        (
            [*talk(), asked("a", 9, {"role": 3})],
            r"rows.jsonl:3` at `\$.messages\[0\].role`: a text was expected; the value is 3",
        ),
        ([asked("a", 1, ASK, duration_ms=-1)], r"at `\$.duration_ms`: .*>= 0.*; the value is -1"),
        ([b'{"session_id":"a","timestamp":NaN}'], "rows.jsonl:1`: no JSON"),
        ([asked("a", 1, ASK), one("a", 2, SAID)], "rows.jsonl:1`: session `a` mixes whole"),
        (
            [asked("a", 1, ASK), {"session_id": "a", "messages": [ASK]}],
            "rows.jsonl:2`: no `timestamp`, where other rows of session `a` have one",
        ),
        ([one("a", 1, SAID)], "session `a` holds no request"),
    ],
)
def test_rows_that_cant_be_played_are_refused_with_their_place(
    tmp_path: Path, rows: list[object], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        opened(tmp_path, *rows)


def test_messages_need_the_chat_endpoint(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="need the chat endpoint"):
        opened(tmp_path, *talk(), endpoint="completions")


def test_specs_name_the_file(tmp_path: Path) -> None:
    plan = load_workload("recorded:talks.jsonl,history=live")
    assert (plan.path, plan.history, plan.osl) == ("talks.jsonl", "live", "recorded")


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("1970-01-01T00:00:01Z", S),
        ("1970-01-01T01:00:00.000001+01:00", 1000),
        ("1970-01-01T00:00:02", 2 * S),
        (1.5, 1_500_000_000),
    ],
)
def test_times_are_read_with_and_without_zones(text: str | float, instant: int) -> None:
    assert instant_ns(text) == instant


@pytest.mark.parametrize("text", [float("nan"), float("inf"), "", "yesterday"])
def test_what_is_no_time_is_refused(text: str | float) -> None:
    with pytest.raises(ValueError, match=r"."):
        instant_ns(text)


def test_by_time_sessions_come_once_in_the_order_of_their_arrival(tmp_path: Path) -> None:
    late, early = asked("late", 7.5, ASK), asked("early", 5.0, ASK)
    workload = opened(tmp_path, late, early, by_time=True)
    found = [session_of(workload, n) for n in range(2)]
    assert [(each.prompt_id, each.arrives_at_ns) for each in found] == [
        ("early", 0),
        ("late", 5 * S // 2),
    ]
    assert workload.session(0, 2) is None


def test_by_time_a_row_without_a_time_is_refused_by_its_line(tmp_path: Path) -> None:
    untimed = {"session_id": "b", "messages": [ASK]}
    with pytest.raises(InputError, match=r"rows.jsonl:2`: no `timestamp`"):
        opened(tmp_path, asked("a", 1.0, ASK), untimed, by_time=True)


def test_a_format_without_times_is_refused_for_a_load_that_keeps_them() -> None:
    plan = Plan("r", TargetPlan("http://h", "m"), load_workload("synthetic"), (TIMED,))
    with pytest.raises(UsageError, match="no recorded times"):
        open_workload(plan)
