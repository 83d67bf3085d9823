"""`probe` says rightly what real servers are, and gets along with odd ones."""

import json
from collections.abc import Awaitable, Callable, Iterator

import pytest

from loadgen.errors import EndpointError
from loadgen.model.observed import Observed
from loadgen.model.plan import TargetPlan
from loadgen.transport.probing.probe import probe
from tests.exchanges import DONE, STOP, delta_event, text_event, usage_event
from tests.real_servers import Server, llmock_server, nginx_proxy
from tests.scripted_server import LAST_CHUNK, STREAM_HEAD, ScriptedServer, Talk, chunk, whole

KEY = {"Authorization": "Bearer canary-0123456789"}


async def _probe(url: str, **more: object) -> Observed:
    target = TargetPlan(**{"base_url": url, "model": "", **more})  # type: ignore[arg-type]
    return await probe(target, KEY, ready_within_s=3)


async def _probe_until_told(url: str, tries: int = 6, **more: object) -> Observed:
    """The first probe that could tell about buffering: a starved client may say that it can't.

    It may never say the wrong thing, so a first answer counts, whatever it is.
    """
    for _ in range(tries - 1):
        seen = await _probe(url, **more)
        if seen.buffered is not None:
            return seen
    return await _probe(url, **more)


async def test_llama_cpp_is_described_rightly(llama: Server) -> None:
    seen = await _probe_until_told(llama.url)
    assert (seen.engine, seen.models, seen.max_model_len) == ("llama.cpp", ("tiny",), 2048)
    assert seen.engine_version is not None
    assert seen.reasoning_field == "reasoning_content"
    assert (seen.usage_streamed, seen.usage_running) == (True, False)
    assert seen.stream_options_refused is None
    assert seen.cached_tokens_reported is True
    assert seen.token_ids is False
    assert (seen.tokenize_route, seen.metrics_route) == ("/tokenize", "/metrics")
    assert seen.health_route == "/health"
    assert seen.buffered is False
    assert (seen.http_version, seen.server_header) == ("HTTP/1.1", "llama.cpp")
    assert (seen.role_event_first, seen.done_marker) == (True, True)
    assert seen.rtt_ns is not None
    assert 0 < seen.rtt_ns < 1_000_000_000
    assert seen.peer == f"127.0.0.1:{llama.port}"


async def test_llama_cpp_breaks_its_promise_to_keep_connections(llama: Server) -> None:
    seen = await _probe(llama.url)
    assert seen.keep_alive is False
    assert any("promising `keep-alive: timeout=5" in note for note in seen.notes)


async def test_completions_are_probed_on_their_own_route(llama: Server) -> None:
    seen = await _probe(llama.url + "/v1", endpoint_type="completions")
    assert (seen.engine, seen.role_event_first) == ("llama.cpp", None)
    assert seen.usage_streamed is True


async def test_without_streaming_nothing_is_said_about_streams(llama: Server) -> None:
    seen = await _probe(llama.url, stream=False)
    assert (seen.buffered, seen.usage_streamed, seen.done_marker) == (None, None, None)
    assert seen.cached_tokens_reported is True


async def test_nginx_that_buffers_is_found_before_llama_cpp(buffering_nginx: Server) -> None:
    seen = await _probe_until_told(buffering_nginx.url)
    assert seen.buffered is True
    assert seen.engine == "llama.cpp"
    assert seen.server_header is not None
    assert seen.server_header.startswith("nginx")


async def test_nginx_that_passes_on_is_not_blamed(llama: Server) -> None:
    with nginx_proxy(llama.url) as proxy:
        seen = await _probe_until_told(proxy.url)
    assert (seen.buffered, seen.keep_alive) == (False, True)


async def test_a_self_signed_endpoint_is_probed_with_its_authority(tls_nginx: Server) -> None:
    seen = await _probe(tls_nginx.url, ca_file=str(tls_nginx.ca))
    assert seen.engine == "llama.cpp"
    with pytest.raises(EndpointError, match="certificate of"):
        await _probe(tls_nginx.url)


@pytest.fixture(scope="module")
def slow_llmock() -> Iterator[Server]:
    with llmock_server("--response-style", "varied", "--stream-chunk-delay-ms", "5") as server:
        yield server


async def test_llmock_is_described_rightly(slow_llmock: Server) -> None:
    seen = await _probe_until_told(slow_llmock.url)
    assert (seen.engine, seen.engine_version) == ("llmock", "0.2.2")
    assert (seen.tokenize_route, seen.metrics_route) == (None, None)
    assert (seen.buffered, seen.keep_alive, seen.usage_streamed) == (False, True, True)
    assert (seen.cached_tokens_reported, seen.reasoning_field) == (False, None)


async def test_nginx_that_buffers_is_found_before_a_server_that_ignores_lengths(
    slow_llmock: Server,
) -> None:
    with nginx_proxy(slow_llmock.url, buffering="on") as proxy:
        seen = await _probe_until_told(proxy.url)
    assert seen.buffered is True


ROLE = delta_event('{"role":"assistant","content":""}')
Route = Callable[[Talk], Awaitable[None]]


def _stream(talk: Talk) -> bytes:
    asked = json.loads(talk.request.body)
    text = [text_event("one ") for _ in range(min(8, asked["max_tokens"]))]
    usage = [usage_event(len(text))] if "stream_options" in asked else []
    events = [ROLE, *text, STOP, *usage, DONE]
    return b"".join([STREAM_HEAD, *map(chunk, events), LAST_CHUNK])


def _chat_only(refuses: Callable[[dict[str, object]], bytes | None]) -> Route:
    """A server that has the chat route alone and answers by `refuses` where that says something."""

    async def route(talk: Talk) -> None:
        if talk.request.path != "/v1/chat/completions":
            await talk.write(whole(b'{"detail":"Not Found"}', 404))
            return
        refusal = refuses(json.loads(talk.request.body))
        await talk.write(_stream(talk) if refusal is None else refusal)

    return route


def _bodies(server: ScriptedServer) -> list[dict[str, object]]:
    return [json.loads(r.body) for r in server.requests if r.path == "/v1/chat/completions"]


async def test_routes_that_are_not_there_stop_nothing() -> None:
    async with ScriptedServer([_chat_only(lambda _: None)]) as server:
        seen = await _probe(server.url, model="named")
        assert (seen.models, seen.health_route, seen.metrics_route) == ((), None, None)
        assert any("/v1/models: status 404" in note for note in seen.notes)
        assert seen.usage_streamed is True
        assert _bodies(server)[0]["model"] == "named"


async def test_without_a_model_list_a_model_must_be_named() -> None:
    async with ScriptedServer([_chat_only(lambda _: None)]) as server:
        with pytest.raises(EndpointError, match="lists no models") as caught:
            await _probe(server.url)
    assert caught.value.hint == "name the model: `-m MODEL`"


async def test_the_first_request_has_the_run_s_members_and_no_others() -> None:
    async with ScriptedServer([_chat_only(lambda _: None)]) as server:
        await _probe(server.url, model="m", extra_body={"top_k": 3})
        assert set(_bodies(server)[0]) == {
            *("model", "stream", "stream_options", "messages", "max_tokens", "top_k"),
        }


async def test_a_server_that_refuses_stream_options_is_asked_without() -> None:
    def refuses(body: dict[str, object]) -> bytes | None:
        return whole(b'{"error":"no stream_options"}', 400) if "stream_options" in body else None

    async with ScriptedServer([_chat_only(refuses)]) as server:
        seen = await _probe(server.url, model="m")
        assert (seen.stream_options_refused, seen.usage_streamed) == (True, False)
        assert any("`stream_options` is refused: no stream_options" in n for n in seen.notes)
        assert sum("stream_options" in body for body in _bodies(server)) == 1


async def test_a_refusal_is_told_with_status_answer_and_what_was_sent() -> None:
    answer = b'{"error":{"message":"no such model, said canary-0123456789"}}'
    async with ScriptedServer([_chat_only(lambda _: whole(answer, 404))]) as server:
        with pytest.raises(EndpointError) as caught:
            await _probe(server.url, model="m", extra_body={"user": "canary-0123456789"})
    text = str(caught.value)
    assert "status 404" in text
    assert "no such model" in text
    assert '"model":"m"' in text
    assert "canary" not in text


async def test_a_missing_key_names_the_variable_it_is_read_from() -> None:
    async with ScriptedServer([_chat_only(lambda _: whole(b'{"error":"no"}', 401))]) as server:
        with pytest.raises(EndpointError, match="status 401") as caught:
            await _probe(server.url, model="m")
    assert "$OPENAI_API_KEY" in str(caught.value.hint)


async def test_ready_means_that_one_answer_came() -> None:
    left = [whole(b"loading", 503)]

    def refuses(_: dict[str, object]) -> bytes | None:
        return left.pop() if left else None

    async with ScriptedServer([_chat_only(refuses)]) as server:
        seen = await _probe(server.url, model="m")
        assert seen.first_answer_e2e_ns is not None
        assert seen.first_answer_e2e_ns < 900_000_000


async def test_a_server_that_is_never_ready_is_given_up() -> None:
    async with ScriptedServer([_chat_only(lambda _: whole(b"loading", 503))]) as server:
        with pytest.raises(EndpointError, match=r"status 503.*loading"):
            await probe(TargetPlan(base_url=server.url, model="m"), KEY, ready_within_s=0)
