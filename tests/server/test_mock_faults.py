"""Each fault switch as a client meets it, read with a bare socket so that no library tidies up."""

import base64
import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.mock_process import MockProcess, start_mock


@pytest.fixture(scope="module")
def mock() -> Iterator[MockProcess]:
    with start_mock("--profile", "small") as process:
        yield process


def request_bytes(mock: MockProcess, name: str, members: dict[str, Any]) -> bytes:
    body = {"messages": [{"role": "user", "content": "hi"}], "stream": True, "max_tokens": 6}
    data = json.dumps({**body, "ignore_eos": True, **members}).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: mock\r\nauthorization: Bearer canary-77\r\n"
        f"x-request-id: {name}\r\ncontent-length: {len(data)}\r\n\r\n"
    )
    return head.encode() + data


def exchange(
    mock: MockProcess, fault: str, timeout_s: float = 5.0, **members: Any
) -> tuple[bytes, list[bytes], str]:
    """The bytes as they came, each read apart, and how it ended: done, eof, reset, open."""
    host, port = mock.url.removeprefix("http://").split(":")
    directive = {"faults": [fault] if fault else []} | members.pop("loadgen_mock", {})
    reads: list[bytes] = []
    with socket.create_connection((host, int(port)), timeout=timeout_s) as sock:
        members["loadgen_mock"] = directive
        sock.sendall(request_bytes(mock, members.pop("name", fault), members))
        while True:
            try:
                piece = sock.recv(1 << 20)
            except ConnectionResetError:
                return b"".join(reads), reads, "reset"
            except TimeoutError:
                return b"".join(reads), reads, "open"
            if not piece:
                return b"".join(reads), reads, "eof"
            reads.append(piece)
            if is_complete(b"".join(reads)):
                return b"".join(reads), reads, "done"


def is_complete(text: bytes) -> bool:
    head, end, body = text.partition(b"\r\n\r\n")
    if b"content-length: " in head:
        size = int(head.partition(b"content-length: ")[2].split(b"\r\n")[0])
        return bool(end) and len(body) >= size
    return text.endswith(b"0\r\n\r\n")


def n_content(text: bytes) -> int:
    return text.count(b'"content":"') - text.count(b'"content":""')


@pytest.mark.parametrize("code", [401, 429, 500, 503])
def test_status_codes(mock: MockProcess, code: int) -> None:
    text, _, _ = exchange(mock, f"status:code={code},retry_after=2")
    assert text.startswith(f"HTTP/1.1 {code} ".encode())
    assert b"retry-after: 2\r\n" in text


def test_the_authorization_header_can_come_back_in_an_error(mock: MockProcess) -> None:
    text, _, _ = exchange(mock, "echo_auth")
    assert text.startswith(b"HTTP/1.1 401 ")
    assert b"Bearer canary-77" in text


def test_a_plain_json_error_with_status_200(mock: MockProcess) -> None:
    text, _, _ = exchange(mock, "json_error")
    assert text.startswith(b"HTTP/1.1 200 ")
    assert b'{"error":{"message":"quota exceeded","type":"server_error"}}' in text


def test_unknown_members_are_refused_when_strict(mock: MockProcess) -> None:
    with start_mock("--fault", "strict") as strict:
        body = {"messages": [{"role": "user", "content": "x"}], "max_tokens": 2}
        url = f"{strict.url}/v1/chat/completions"
        assert httpx.post(url, json=body).status_code == 200
        assert httpx.post(url, json={**body, "ignore_eos": True}).status_code == 400


@pytest.mark.parametrize("after", [0, 3])
def test_a_stall_holds_the_events_and_then_goes_on(mock: MockProcess, after: int) -> None:
    text, _, end = exchange(mock, f"stall:after={after},ms=150", name=f"stall-{after}")
    assert (n_content(text), end) == (6, "done")
    at_ns = [e[0] for e in mock.truth_of(f"stall-{after}")["events"] if e[2] == "content"]
    before = mock.truth_of(f"stall-{after}")["headers_at_ns"] if after == 0 else at_ns[after - 1]
    assert (at_ns[after] - before) / 1e6 >= 145


def test_a_stall_without_an_end_never_goes_on(mock: MockProcess) -> None:
    text, _, end = exchange(mock, "stall:after=2", timeout_s=0.5)
    assert (n_content(text), end) == (2, "open")


def test_a_reset_strikes_after_so_many_events(mock: MockProcess) -> None:
    text, _, end = exchange(mock, "reset:after=3")
    assert (n_content(text), end) == (3, "reset")
    assert mock.truth_of("reset:after=3")["end"] == "reset"


def test_a_truncated_body_ends_cleanly_without_finish_or_marker(mock: MockProcess) -> None:
    text, _, end = exchange(mock, "truncate:after=2")
    assert (n_content(text), end) == (2, "done")
    assert b"[DONE]" not in text
    assert b'"finish_reason":"' not in text


def test_a_truncated_body_can_break_off(mock: MockProcess) -> None:
    text, _, end = exchange(mock, "truncate:after=2,how=eof")
    assert (n_content(text), end) == (2, "eof")


def test_garbage_is_not_json(mock: MockProcess) -> None:
    text, _, end = exchange(mock, "garbage:after=1")
    lines = [line[6:] for line in text.split(b"\n") if line.startswith(b"data: {")]
    with pytest.raises(json.JSONDecodeError):
        [json.loads(line) for line in lines]
    assert (n_content(text), end) == (6, "done")


def test_an_error_inside_the_stream_then_the_marker(mock: MockProcess) -> None:
    text, _, end = exchange(mock, "error:after=2")
    assert b'data: {"error":{"message":"engine died"' in text
    assert (n_content(text), end) == (2, "done")
    assert b"data: [DONE]" in text


def test_a_named_error_event(mock: MockProcess) -> None:
    text, _, _ = exchange(mock, "error:after=2,named=1,done=0")
    assert b'event: error\ndata: {"message": "overloaded"}\n\n' in text
    assert b"[DONE]" not in text


def test_abort_looks_like_a_success_but_for_its_reason(mock: MockProcess) -> None:
    text, _, end = exchange(mock, "abort:after=2")
    assert b'"finish_reason":"abort"' in text
    assert (n_content(text), end) == (2, "done")


def test_buffering_sends_everything_at_the_end(mock: MockProcess) -> None:
    exchange(mock, "buffer", name="buffered")
    events = mock.truth_of("buffered")["events"]
    assert len({event[0] for event in events}) == 1


def test_buffering_by_size_sends_full_buffers(mock: MockProcess) -> None:
    text, _, _ = exchange(mock, "buffer:bytes=1024", name="by-size", max_tokens=40)
    assert b"\r\n400\r\n" in text
    entry = mock.truth_of("by-size")
    assert sum(e[3] for e in entry["events"]) == 40
    assert 1 < len({e[0] for e in entry["events"]}) < 20


def test_missing_usage_and_marker(mock: MockProcess) -> None:
    options = {"include_usage": True}
    text, _, _ = exchange(mock, "no_usage", stream_options=options)
    assert b'"usage"' not in text
    text, _, end = exchange(mock, "no_done", stream_options=options)
    assert b'"usage"' in text
    assert b"[DONE]" not in text
    assert end == "done"


def test_comments_come_until_the_first_event(mock: MockProcess) -> None:
    directive = {"ttft_ms": 200, "itl_ms": 5}
    text, _, _ = exchange(mock, "comments:ms=40", loadgen_mock=directive)
    assert 3 <= text.count(b": keep-alive\n\n") <= 6
    assert text.rfind(b": keep-alive") < text.find(b'"role"')


def test_data_without_a_space_and_crlf_line_ends(mock: MockProcess) -> None:
    text, _, _ = exchange(mock, "no_space")
    assert b"data:{" in text
    assert b"data: " not in text
    text, _, _ = exchange(mock, "crlf")
    assert b"[DONE]\r\n\r\n" in text


def test_split_cuts_events_and_characters(mock: MockProcess) -> None:
    directive = {"answer": "中文字", "ttft_ms": 10, "itl_ms": 5}
    fault = "split:bytes=7,gap_ms=0.5"
    text, _, end = exchange(mock, fault, loadgen_mock=directive, max_tokens=20)
    assert end == "done"
    chunks = text.partition(b"\r\n\r\n")[2].split(b"\r\n")[1::2]
    assert max(map(len, chunks)) == 7
    joined = b"".join(chunks).decode()
    events = [json.loads(line[6:]) for line in joined.split("\n") if line.startswith("data: {")]
    words = "".join(c["delta"].get("content") or "" for e in events for c in e["choices"])
    assert words == "中文字"


def test_several_events_in_one_write(mock: MockProcess) -> None:
    exchange(mock, "coalesce:events=3", name="three")
    events = mock.truth_of("three")["events"]
    assert len(events) == 8
    assert len({event[0] for event in events}) == 3


def test_one_very_long_line(mock: MockProcess) -> None:
    text, _, end = exchange(mock, "long_line")
    assert b"r" * 300_000 in text.replace(b"\r\n", b"")
    assert end == "done"


def test_the_connection_closes_although_keep_alive_was_promised(mock: MockProcess) -> None:
    host, port = mock.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=5) as sock:
        members = {"loadgen_mock": {"faults": ["close"]}}
        sock.sendall(request_bytes(mock, "closing", members))
        text = b""
        while piece := sock.recv(1 << 16):
            text += piece
    assert text.endswith(b"0\r\n\r\n")
    assert b"connection: close" not in text.lower()


def test_a_whole_answer_to_a_stream_request(mock: MockProcess) -> None:
    text, _, _ = exchange(mock, "whole")
    assert b"content-type: application/json" in text
    assert b'"object":"chat.completion"' in text


def test_a_script_sends_exactly_its_bytes(mock: MockProcess) -> None:
    script = [
        {"at_ms": 0, "raw": ":\n\n"},
        {"at_ms": 60, "data": {"choices": [{"index": 0, "delta": {"content": "a"}}]}},
        {"at_ms": 80, "base64": base64.b64encode(b"data: \xe4").decode()},
    ]
    directive = {"script": script, "script_end": "eof"}
    text, _, end = exchange(mock, "", name="scripted", loadgen_mock=directive)
    assert end == "eof"
    assert b":\n\n" in text
    assert b'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n' in text
    assert b"data: \xe4" in text
    entry = mock.truth_of("scripted")
    assert [e[2] for e in entry["events"]] == ["raw"] * 3
    assert (entry["events"][1][0] - entry["received_at_ns"]) / 1e6 >= 60


def test_a_wrong_directive_is_a_400(mock: MockProcess) -> None:
    text, _, _ = exchange(mock, "nonsense")
    assert text.startswith(b"HTTP/1.1 400 ")
    assert b"unknown kind" in text


def test_missing_and_slow_routes_and_slow_accept() -> None:
    faults = ("missing:path=/health", "slow:path=/metrics,ms=200", "slow_accept:ms=100")
    with start_mock(*(word for fault in faults for word in ("--fault", fault))) as mock:
        assert httpx.get(f"{mock.url}/health").status_code == 404
        started = time.monotonic()
        assert httpx.get(f"{mock.url}/v1/models").status_code == 200
        assert time.monotonic() - started >= 0.1
        started = time.monotonic()
        assert httpx.get(f"{mock.url}/metrics").status_code == 200
        assert time.monotonic() - started >= 0.3


def test_a_share_of_requests_is_hit() -> None:
    with start_mock("--fault", "status:code=500,p=0.5", "--seed", "3") as mock:
        body = {"messages": [{"role": "user", "content": "x"}], "max_tokens": 1}
        url = f"{mock.url}/v1/chat/completions"
        with httpx.Client() as client:
            codes = [client.post(url, json=body).status_code for _ in range(40)]
    assert 8 < codes.count(500) < 32
    assert codes.count(200) + codes.count(500) == 40
