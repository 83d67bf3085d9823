"""The simulator over real sockets: law, truth log, metrics, and the openai client as a reader."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from openai import BadRequestError, NotFoundError, OpenAI
from prometheus_client.parser import text_string_to_metric_families

from loadgen.mock.profiles import load_profile
from loadgen.mock.truth import load_truth
from tests.mock_process import MockProcess, start_mock

LAW = load_profile("small")


@pytest.fixture(scope="module")
def mock() -> Iterator[MockProcess]:
    with start_mock("--profile", "small", "--set", "output.mean_tok=20") as process:
        yield process


@pytest.fixture
def client(mock: MockProcess) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{mock.url}/v1", api_key="none", max_retries=0) as opened:
        yield opened


def ask(mock: MockProcess, name: str, **members: Any) -> bytes:
    body = {"messages": [{"role": "user", "content": name}], "stream": True, **members}
    headers = {"x-request-id": name}
    url = f"{mock.url}/v1/chat/completions"
    return httpx.post(url, json=body, headers=headers, timeout=30).content


def content_ns(entry: dict[str, Any]) -> list[int]:
    return [before for before, _, kind, _, _ in entry["events"] if kind == "content"]


def metric(mock: MockProcess, name: str) -> float:
    text = httpx.get(f"{mock.url}/metrics").text
    samples = [s for f in text_string_to_metric_families(text) for s in f.samples]
    return sum(s.value for s in samples if s.name == name)


def test_a_stream_is_logged_token_by_token(mock: MockProcess) -> None:
    body = ask(mock, "logged", max_tokens=12, ignore_eos=True)
    entry = mock.truth_of("logged")
    kinds = [kind for _, _, kind, _, _ in entry["events"]]
    assert kinds == ["role", *["content"] * 12, "done"]
    assert sum(n for *_, n, _ in entry["events"]) == entry["completion_tokens"] == 12
    assert sum(size for *_, size in entry["events"]) == len(body)
    assert all(before <= after for before, after, *_ in entry["events"])
    assert entry["end"] == "clean"


def test_decode_gaps_keep_the_law_without_drifting(mock: MockProcess) -> None:
    ask(mock, "paced", max_tokens=120, ignore_eos=True)
    at_ns = content_ns(mock.truth_of("paced"))
    mean_ns = (at_ns[-1] - at_ns[0]) / 119
    assert mean_ns / 1e9 == pytest.approx(LAW.decode.a_s + LAW.decode.b_s, rel=0.05)


def test_a_longer_prompt_and_a_larger_batch_cost_what_the_law_says(mock: MockProcess) -> None:
    words = " ".join(["word"] * 6000)
    ask(mock, "long", messages=[{"role": "user", "content": words}], max_tokens=1)
    ask(mock, "short", max_tokens=1)
    waits = []
    for name in ("long", "short"):
        entry = mock.truth_of(name)
        waits.append(content_ns(entry)[0] - entry["received_at_ns"])
    assert (waits[0] - waits[1]) / 1e9 == pytest.approx(
        2 * LAW.prefill.step_s + 6000 / LAW.prefill.tps, rel=0.25
    )


def test_a_full_batch_decodes_as_slowly_as_the_law_says(mock: MockProcess) -> None:
    names = [f"crowd-{i}" for i in range(LAW.max_batch)]
    with ThreadPoolExecutor(LAW.max_batch) as pool:
        list(pool.map(lambda n: ask(mock, n, max_tokens=200, ignore_eos=True), names))
    streams = [content_ns(mock.truth_of(name)) for name in names]
    start_ns, end_ns = max(s[0] for s in streams), min(s[-1] for s in streams)
    together = [at for at in streams[0] if start_ns <= at <= end_ns]
    assert len(together) > 40
    mean_ns = (together[-1] - together[0]) / (len(together) - 1)
    full_s = LAW.decode.a_s + LAW.max_batch * LAW.decode.b_s
    assert mean_ns / 1e9 == pytest.approx(full_s, rel=0.15)


def test_repeated_prompts_report_cached_tokens(client: OpenAI) -> None:
    messages: Any = [{"role": "user", "content": " ".join(["again"] * 200)}]
    seen = []
    for _ in range(2):
        answer = client.chat.completions.create(model="mock-small", messages=messages, max_tokens=2)
        assert answer.usage is not None
        assert answer.usage.prompt_tokens_details is not None
        seen.append((answer.usage.prompt_tokens, answer.usage.prompt_tokens_details.cached_tokens))
    assert seen == [(208, 0), (208, 192)]


def test_counters_move_by_what_was_served(mock: MockProcess, client: OpenAI) -> None:
    names: tuple[str, ...] = (
        "prompt_tokens_total",
        "generation_tokens_total",
        "request_success_total",
    )
    names += ("time_to_first_token_seconds_count", "inter_token_latency_seconds_count")
    before = [metric(mock, f"vllm:{name}") for name in names]
    usages = []
    for i in range(3):
        answer = client.chat.completions.create(
            model="mock-small", messages=[{"role": "user", "content": f"count {i}"}], max_tokens=9
        )
        assert answer.usage is not None
        usages.append(answer.usage)
    moved = [metric(mock, f"vllm:{name}") - old for name, old in zip(names, before, strict=True)]
    n_out = sum(usage.completion_tokens for usage in usages)
    assert moved == [sum(u.prompt_tokens for u in usages), n_out, 3, 3, n_out - 3]


def test_energy_grows_with_load(mock: MockProcess) -> None:
    def energy_mj() -> float:
        text = httpx.get(f"{mock.url}/dcgm/metrics").text
        families = list(text_string_to_metric_families(text))
        assert {f.name for f in families} >= {"DCGM_FI_DEV_POWER_USAGE"}
        samples = [s for f in families for s in f.samples if "ENERGY" in s.name]
        return samples[0].value

    before = energy_mj()
    ask(mock, "warm", max_tokens=30, ignore_eos=True)
    entry = mock.truth_of("warm")
    busy_s = (entry["ended_at_ns"] - entry["received_at_ns"]) / 1e9
    assert energy_mj() - before > busy_s * 90 * 1000


def test_openai_reads_a_stream_with_usage(client: OpenAI) -> None:
    stream = client.chat.completions.create(
        model="mock-small",
        messages=[{"role": "user", "content": "stream"}],
        stream=True,
        stream_options={"include_usage": True},
        max_tokens=8,
    )
    chunks = list(stream)
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == 8
    assert chunks[-2].choices[0].finish_reason == "length"
    text = "".join(c.choices[0].delta.content or "" for c in chunks[:-1])
    assert len(text.split()) == 8


def test_openai_reads_tool_calls(client: OpenAI) -> None:
    tool: Any = {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    }
    messages: Any = [{"role": "user", "content": "tool"}]
    whole = client.chat.completions.create(
        model="mock-small", messages=messages, tools=[tool], tool_choice="required"
    )
    call: Any = (whole.choices[0].message.tool_calls or [])[0]
    parts = client.chat.completions.create(
        model="mock-small", messages=messages, tools=[tool], tool_choice="required", stream=True
    )
    calls: list[Any] = [
        c for chunk in parts for choice in chunk.choices for c in choice.delta.tool_calls or []
    ]
    assert calls[0].function.name == "get_weather"
    arguments = "".join(c.function.arguments or "" for c in calls)
    assert json.loads(arguments) == json.loads(call.function.arguments)


def test_openai_reads_reasoning(client: OpenAI) -> None:
    answer = client.chat.completions.create(
        model="mock-small",
        messages=[{"role": "user", "content": "think"}],
        extra_body={"loadgen_mock": {"reasoning": "let me see", "answer": "forty two"}},
    )
    message: Any = answer.choices[0].message
    assert (message.reasoning, message.content) == ("let me see", "forty two")
    assert answer.usage is not None
    assert answer.usage.completion_tokens_details is not None
    assert answer.usage.completion_tokens_details.reasoning_tokens == 4


def test_openai_reads_completions_and_models(client: OpenAI) -> None:
    parts = client.completions.create(model="mock-small", prompt="x", max_tokens=4, stream=True)
    assert len("".join(c.choices[0].text for c in parts).split()) == 4
    whole = client.completions.create(model="mock-small", prompt="x", max_tokens=4)
    assert whole.choices[0].finish_reason == "length"
    card: Any = client.models.list().data[0]
    assert (card.id, card.max_model_len) == ("mock-small", 32768)


def test_openai_meets_the_errors_of_vllm(client: OpenAI) -> None:
    long: Any = [{"role": "user", "content": "word " * 40_000}]
    with pytest.raises(BadRequestError, match="maximum context length is 32768"):
        client.chat.completions.create(model="mock-small", messages=long)
    with pytest.raises(NotFoundError, match="does not exist"):
        client.completions.create(model="nope", prompt="x")
    with pytest.raises(BadRequestError, match="n must be 1"):
        client.completions.create(model="mock-small", prompt="x", n=2)


def test_token_ids_add_up_with_the_tokenize_route(mock: MockProcess) -> None:
    messages = [{"role": "user", "content": "count these"}]
    body = {"messages": messages, "stream": True, "max_tokens": 5, "return_token_ids": True}
    text = httpx.post(f"{mock.url}/v1/chat/completions", json=body).text
    events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    tokenized = httpx.post(f"{mock.url}/tokenize", json={"messages": messages}).json()
    assert events[0]["prompt_token_ids"] == tokenized["tokens"]
    assert tokenized["count"] == len(tokenized["tokens"])
    ids = [i for e in events[1:] for choice in e["choices"] for i in choice["token_ids"]]
    assert len(ids) == 5
    detokenized = httpx.post(f"{mock.url}/detokenize", json={"tokens": ids}).json()["prompt"]
    content = "".join(c["delta"].get("content") or "" for e in events for c in e["choices"])
    assert detokenized == content


def test_running_usage_counts_up(mock: MockProcess) -> None:
    options = {"include_usage": True, "continuous_usage_stats": True}
    text = ask(mock, "running", max_tokens=4, ignore_eos=True, stream_options=options).decode()
    events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    assert [e["usage"]["completion_tokens"] for e in events] == [0, 1, 2, 3, 4, 4]


def test_exact_times_can_be_asked_for(mock: MockProcess) -> None:
    directive = {"ttft_ms": 120, "itl_ms": 15, "tokens_per_event": 2}
    ask(mock, "exact", max_tokens=20, ignore_eos=True, loadgen_mock=directive)
    entry = mock.truth_of("exact")
    at_ns = content_ns(entry)
    assert len(at_ns) == 10
    assert (at_ns[0] - entry["received_at_ns"]) / 1e6 >= 120
    assert (at_ns[-1] - entry["received_at_ns"]) / 1e6 >= 120 + 9 * 15
    assert (at_ns[-1] - at_ns[0]) / 1e6 == pytest.approx(135, rel=0.15)


def test_a_client_that_leaves_frees_its_place(mock: MockProcess) -> None:
    body = {"messages": [{"role": "user", "content": "leave"}], "stream": True}
    body |= {"max_tokens": 5000, "ignore_eos": True}
    url = f"{mock.url}/v1/chat/completions"
    with httpx.stream("POST", url, json=body, headers={"x-request-id": "leaver"}) as response:
        next(response.iter_bytes())
    for _ in range(200):
        if metric(mock, "vllm:num_requests_running") == 0:
            break
    assert mock.truth_of("leaver")["end"] == "client_left"
    assert metric(mock, "vllm:kv_cache_usage_perc") == 0


def test_a_full_queue_answers_503() -> None:
    options = ("--set", "max_batch=1", "--set", "max_queue=0")
    with start_mock(*options) as mock, ThreadPoolExecutor(4) as pool:
        bodies = list(pool.map(lambda i: ask(mock, f"q{i}", max_tokens=50), range(4)))
        statuses = sorted(request["status"] for request in mock.truth())
    assert len(bodies) == 4
    assert set(statuses) == {200, 503}


def test_the_key_is_wanted_for_v1_only() -> None:
    with start_mock("--api-key", "secret") as mock:
        url = f"{mock.url}/v1/models"
        assert httpx.get(url).status_code == 401
        assert httpx.get(url, headers={"authorization": "Bearer secret"}).status_code == 200
        assert httpx.get(f"{mock.url}/metrics").status_code == 200


def test_sigterm_ends_open_streams_with_abort_and_exits_clean(tmp_path: Path) -> None:
    path = tmp_path / "truth.jsonl"
    mock = start_mock("--truth", str(path))
    body = {"messages": [{"role": "user", "content": "x"}], "stream": True, "max_tokens": 9000}
    url = f"{mock.url}/v1/chat/completions"
    with httpx.stream("POST", url, json={**body, "ignore_eos": True}) as response:
        pieces = response.iter_text()
        text = next(pieces)
        mock.process.terminate()
        text += "".join(pieces)
    assert mock.stop() == 0
    assert '"finish_reason":"abort"' in text
    assert text.rstrip().endswith("data: [DONE]")
    (entry,) = load_truth(path)
    assert entry["finish_reason"] == "abort"


def test_speculation_puts_several_tokens_in_one_event() -> None:
    options = ("--set", "speculation.draft_tok=3", "--set", "speculation.accept=0.8")
    with start_mock(*options) as mock:
        ask(mock, "fast", max_tokens=60, ignore_eos=True)
        counts = [n for _, _, kind, n, _ in mock.truth_of("fast")["events"] if kind == "content"]
        assert sum(counts) == 60
        assert max(counts) > 1
        assert metric(mock, "vllm:spec_decode_num_drafts_total") == len(counts) - 1


def test_a_wrong_option_is_one_line_and_exit_code_2(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError, match="did not start"):
        start_mock("--fault", "nonsense")
    assert capfd.readouterr().err.startswith("error: fault `nonsense`: unknown kind `nonsense`")
