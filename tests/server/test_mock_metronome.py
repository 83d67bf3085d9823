"""The metronome over real sockets: its timetable, its dump, and the openai client as a reader."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from openai import OpenAI

from loadgen.mock.metronome.truthdump import (
    DONE,
    IS_DONE,
    ROLE,
    USAGE,
    WHOLE,
    SentRequest,
    read_truth,
)
from tests.mock_process import MockProcess, start_mock


@pytest.fixture(scope="module")
def metronome() -> Iterator[MockProcess]:
    with start_mock("metronome") as process:
        yield process


def ask(metronome: MockProcess, name: str, **members: Any) -> httpx.Response:
    body = {"messages": [{"role": "user", "content": "x"}], "stream": True, **members}
    url = f"{metronome.url}/v1/chat/completions"
    return httpx.post(url, json=body, headers={"x-request-id": name}, timeout=20)


def sent(metronome: MockProcess, name: str) -> SentRequest:
    dump = httpx.get(f"{metronome.url}/truth", timeout=20).content
    return next(r for r in read_truth(dump).requests if r.request_id == name)


def test_events_stand_on_the_timetable(metronome: MockProcess) -> None:
    options = {"include_usage": True}
    response = ask(metronome, "table", ttft_ms=40, itl_ms=5, max_tokens=20, stream_options=options)
    request = sent(metronome, "table")
    assert [e.kind for e in request.events if e.kind != 2] == [ROLE, USAGE, DONE]
    assert len(request.content) == 20
    for place, event in enumerate(request.content):
        due_ns = event.before_ns - event.late_ns
        assert due_ns == request.received_ns + 40_000_000 + place * 5_000_000
        assert event.late_ns >= 0
    assert request.flags & IS_DONE
    assert response.text.count("data: ") == 23
    assert response.headers["x-request-id"] == "table"


def test_tokens_per_chunk_and_the_step_grid(metronome: MockProcess) -> None:
    ask(metronome, "grid", ttft_ms=5, itl_ms=4, max_tokens=10, tokens_per_chunk=4, step_ms=20)
    content = sent(metronome, "grid").content
    assert [event.n_tok for event in content] == [4, 4, 2]
    assert all((event.before_ns - event.late_ns) % 20_000_000 == 0 for event in content)


def test_headers_ask_as_well_as_members(metronome: MockProcess) -> None:
    headers = {"x-ttft-ms": "1", "x-itl-ms": "1", "x-tokens": "7", "x-request-id": "by-header"}
    body = {"messages": [], "stream": True}
    httpx.post(f"{metronome.url}/v1/chat/completions", json=body, headers=headers)
    assert len(sent(metronome, "by-header").content) == 7


def test_a_long_prompt_hides_nothing(metronome: MockProcess) -> None:
    messages = [{"role": "user", "content": "y" * 500_000}]
    ask(metronome, "big", messages=messages, ttft_ms=1, itl_ms=1, max_tokens=3)
    request = sent(metronome, "big")
    assert len(request.content) == 3
    assert request.body_bytes > 500_000


def test_a_whole_answer(metronome: MockProcess) -> None:
    response = ask(metronome, "whole", stream=False, ttft_ms=1, max_tokens=4)
    assert response.json()["usage"]["completion_tokens"] == 4
    assert [event.kind for event in sent(metronome, "whole").events] == [WHOLE]


def test_connections_are_kept(metronome: MockProcess) -> None:
    with httpx.Client() as client:
        for i in range(3):
            body = {"messages": [], "stream": True, "ttft_ms": 1, "itl_ms": 1, "max_tokens": 2}
            headers = {"x-request-id": f"kept-{i}"}
            client.post(f"{metronome.url}/v1/chat/completions", json=body, headers=headers)
    requests = [sent(metronome, f"kept-{i}") for i in range(3)]
    assert len({request.connection for request in requests}) == 1
    assert [request.place for request in requests] == [1, 2, 3]


def test_what_it_cannot_read_is_refused_and_it_serves_on(metronome: MockProcess) -> None:
    url = f"{metronome.url}/v1/chat/completions"
    assert httpx.post(url, json={}, headers={"x-ttft-ms": "soon"}).status_code == 400
    assert httpx.post(url, content=iter([b"{}"])).status_code == 411
    assert httpx.get(f"{metronome.url}/nowhere").status_code == 404
    assert httpx.get(f"{metronome.url}/health").status_code == 200


def test_the_openai_client_reads_it(metronome: MockProcess) -> None:
    with OpenAI(base_url=f"{metronome.url}/v1", api_key="none", max_retries=0) as client:
        assert client.models.list().data[0].id == "metronome"
        stream = client.chat.completions.create(
            model="metronome",
            messages=[{"role": "user", "content": "x"}],
            stream=True,
            max_tokens=5,
            extra_body={"ttft_ms": 1, "itl_ms": 1},
        )
        texts = [chunk.choices[0].delta.content for chunk in stream if chunk.choices]
    assert "".join(text or "" for text in texts) == "tick tock tick tack" + "tick"


def test_stats_count_and_reset_forgets() -> None:
    with start_mock("metronome") as fresh:
        ask(fresh, "one", ttft_ms=1, itl_ms=1, max_tokens=10)
        stats = httpx.get(f"{fresh.url}/stats").json()
        assert (stats["events"], stats["requests"]) == (10, 1)
        assert stats["late_p50_us"] <= stats["late_p99_us"] <= stats["late_max_us"] * 1.04
        httpx.post(f"{fresh.url}/truth/reset")
        assert httpx.get(f"{fresh.url}/stats").json()["events"] == 0
        assert read_truth(httpx.get(f"{fresh.url}/truth").content).requests == []
        assert fresh.stop() == 0
