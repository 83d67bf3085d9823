from pathlib import Path
from typing import Any

import msgspec
import pytest

from loadgen.errors import InputError
from loadgen.model.plan import WorkloadPlan
from loadgen.model.session import Session
from loadgen.workload import WorkloadContext
from loadgen.workload.chat import Chat

ODD = (
    b'{"id":"r1","messages": [ {"role":"user", '
    b'"content":"gr\xc3\xbc\xc3\x9fe \\u4f60 \\ud83d\\ude00"} ],'
    b' "tools": [{"type":"function","function":{"name":"f","parameters":{}}}] ,'
    b'"tool_choice":"auto","temperature":0.10,"max_tokens":12}'
)


def rows_file(tmp_path: Path, *rows: bytes) -> str:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"\n".join(rows) + b"\n")
    return str(path)


def plain(text: str) -> bytes:
    return msgspec.json.encode({"messages": [{"role": "user", "content": text}]})


def opened(path: str, **options: Any) -> Chat:
    return Chat(WorkloadPlan(format="chat", path=path, **options), WorkloadContext(salt="s"))


def completions(path: str, **options: Any) -> Chat:
    context = WorkloadContext("completions", salt="s")
    return Chat(WorkloadPlan(format="chat", path=path, **options), context)


def body(session: Session | None) -> bytes:
    assert session is not None
    (part,) = session.turns[0].body
    assert isinstance(part, bytes)
    return part


def wire(session: Session | None) -> dict[str, Any]:
    decoded: dict[str, Any] = msgspec.json.decode(b"{" + body(session) + b"}")
    return decoded


def test_messages_and_tools_go_out_byte_for_byte(tmp_path: Path) -> None:
    sent = body(opened(rows_file(tmp_path, ODD)).session(0, 0))
    assert b'[ {"role":"user", "content":"gr\xc3\xbc\xc3\x9fe \\u4f60 \\ud83d\\ude00"} ]' in sent
    assert b'[{"type":"function","function":{"name":"f","parameters":{}}}]' in sent
    assert b'"temperature":0.10' in sent
    assert b'"id"' not in sent


def test_a_row_that_sets_its_limit_keeps_it_and_others_get_the_drawn_one(tmp_path: Path) -> None:
    chat = opened(rows_file(tmp_path, ODD, plain("x")), osl="33")
    first, second = chat.session(0, 0), chat.session(0, 1)
    assert first is not None
    assert second is not None
    assert body(first).count(b"max_tokens") == 1
    assert (first.turns[0].max_output_tok, second.turns[0].max_output_tok) == (12, 33)
    assert wire(second)["max_tokens"] == 33


def test_no_limit_is_sent_where_none_is_wanted(tmp_path: Path) -> None:
    session = opened(rows_file(tmp_path, plain("x")), osl="none").session(0, 0)
    assert list(wire(session)) == ["messages"]


def test_forced_lengths_force_a_rows_own_limit_too(tmp_path: Path) -> None:
    sent = wire(opened(rows_file(tmp_path, ODD), ignore_eos=True).session(0, 0))
    assert (sent["max_tokens"], sent["min_tokens"], sent["ignore_eos"]) == (12, 12, True)


def test_rows_repeat_in_order_and_say_which_row_they_are(tmp_path: Path) -> None:
    chat = opened(rows_file(tmp_path, plain("a"), b"", plain("b")))
    sessions = [chat.session(0, index) for index in range(5)]
    asked = [wire(session)["messages"][0]["content"] for session in sessions]
    assert asked == ["a", "b", "a", "b", "a"]
    assert {session.prompt_id for session in sessions if session} == {"row0", "row1"}
    assert len({session.session_id for session in sessions if session}) == 5
    assert chat.n_rows == 2


def test_once_ends_behind_the_last_row(tmp_path: Path) -> None:
    chat = opened(rows_file(tmp_path, plain("a"), plain("b")), once=True)
    assert chat.session(3, 1) is not None
    assert chat.session(3, 2) is None


def test_salted_rows_differ_in_the_first_user_text_only(tmp_path: Path) -> None:
    row = (
        b'{"messages":[{"role":"system","content":"be  brief"},{"role":"user","content":"x\\ty"}]}'
    )
    chat = opened(rows_file(tmp_path, row), salted=True)
    one, two = wire(chat.session(0, 0))["messages"], wire(chat.session(0, 1))["messages"]
    assert one[0] == two[0] == {"role": "system", "content": "be  brief"}
    assert one[1]["content"] != two[1]["content"]
    assert one[1]["content"].endswith("] x\ty")
    assert body(chat.session(0, 0)) == body(chat.session(0, 0))


def test_a_salt_goes_into_the_first_text_part_of_a_list(tmp_path: Path) -> None:
    row = (
        b'{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"u"}},'
        b'{"type":"text","text":"see"}]}]}'
    )
    content = wire(opened(rows_file(tmp_path, row), salted=True).session(0, 0))["messages"][0]
    assert content["content"][0] == {"type": "image_url", "image_url": {"url": "u"}}
    assert content["content"][1]["text"].endswith("] see")


def test_prompt_rows_serve_both_endpoints(tmp_path: Path) -> None:
    path = rows_file(tmp_path, '{"prompt":"größe"}'.encode())
    assert wire(opened(path).session(0, 0))["messages"] == [{"role": "user", "content": "größe"}]
    assert wire(completions(path).session(0, 0))["prompt"] == "größe"


def test_messages_become_plain_text_on_the_completions_endpoint(tmp_path: Path) -> None:
    row = (
        b'{"messages":[{"role":"system","content":"be brief"},{"role":"user","content":'
        b'[{"type":"text","text":"caf\xc3\xa9?"}]}],"tools":[],"top_p":0.5}'
    )
    sent = wire(completions(rows_file(tmp_path, row)).session(0, 0))
    assert sent["prompt"] == "be brief\n\ncafé?"
    assert "tools" not in sent
    assert sent["top_p"] == 0.5


def test_members_that_the_run_sets_are_left_out_with_a_notice(tmp_path: Path) -> None:
    row = b'{"model":"other","stream":false,"messages":[{"role":"user","content":"x"}]}'
    chat = opened(rows_file(tmp_path, row))
    assert "model" not in wire(chat.session(0, 0))
    assert any("`model` of 1 rows isn't sent" in notice for notice in chat.notices)


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (b"{not json", ["rows.jsonl:2`", "no JSON"]),
        (b'{"messages":[{"content":"x"}]}', [":2`", "$.messages[0]", "`role`"]),
        (b'{"messages":[{"role":"user","content":7}]}', [":2`", "$.messages[0].content", "is 7"]),
        (b'{"messages":[]}', [":2`", "$.messages", "length >= 1"]),
        (b'{"text":"x"}', [":2`", "neither of `messages` and `prompt`"]),
        (b'{"messages":[{"role":"user"}],"prompt":"x"}', [":2`", "both of"]),
        (b'{"prompt":"x","max_tokens":0}', [":2`", "$.max_tokens", "is 0"]),
        (b'{"prompt":"\xff"}', [":2`", "not UTF-8"]),
        (b"[1]", [":2`", "an object with members was expected"]),
    ],
)
def test_a_wrong_row_is_refused_before_the_run_by_place(
    tmp_path: Path, row: bytes, says: list[str]
) -> None:
    with pytest.raises(InputError) as caught:
        opened(rows_file(tmp_path, plain("fine"), row))
    assert all(words in str(caught.value) for words in says), str(caught.value)


@pytest.mark.parametrize("content", [b"", b"\n \n", b"[]"])
def test_an_empty_data_set_is_refused_with_the_reason(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match="holds no row"):
        opened(str(path))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        opened(str(tmp_path / "none.jsonl"))


def test_windows_files_with_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + plain("a") + b"\r\n" + plain("b"))
    assert opened(str(path)).n_rows == 2


def test_rows_over_the_limit_are_counted(tmp_path: Path) -> None:
    chat = opened(rows_file(tmp_path, plain("word " * 100), plain("x")), osl="10")
    exact = chat.rows_over(100, lambda text: len(text.split()))
    assert (exact.over, exact.of, exact.longest_tok, exact.estimated) == (1, 2, 110, False)
    assert chat.rows_over(200).over == 0
    assert chat.rows_over(130).estimated
