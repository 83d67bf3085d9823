"""Control-plane calls: what is missing is a note, what can't be reached is an error."""

import json
from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest
import respx

from loadgen.errors import EndpointError, InputError
from loadgen.model.plan import TargetPlan
from loadgen.transport.control import (
    ControlPlane,
    ModelCard,
    read_models,
    read_token_count,
    root_of,
    tokenize_counter,
)

ROOT = "http://server:8000"
KEY = {"Authorization": "Bearer canary-key"}


def _open(secrets: Mapping[str, str] = KEY, **more: object) -> ControlPlane:
    return ControlPlane(TargetPlan(**{"base_url": ROOT, "model": "m", **more}), secrets)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "url", [ROOT, ROOT + "/", ROOT + "/v1", ROOT + "/v1/", ROOT + "/v1/chat/completions?a=b"]
)
def test_the_root_is_the_same_with_and_without_v1(url: str) -> None:
    assert root_of(url) == ROOT


@respx.mock
async def test_routes_that_are_not_there_are_noted_and_are_no_error() -> None:
    respx.route().respond(404, json={"detail": "Not Found"})
    async with _open() as control:
        assert await control.models() is None
        assert await control.health() is None
        assert await control.metrics() is None
        assert await tokenize_counter(control) is None
        assert control.notes[0] == "/v1/models: status 404 `Not Found`"


@respx.mock
async def test_the_key_goes_with_every_call() -> None:
    seen = respx.route().respond(200, json={"data": []})
    async with _open(headers={"Authorization": "[redacted]", "X-Team": "blue"}) as control:
        await control.models()
        await control.health()
        await control.version()
        await control.metrics()
        await control.metrics("http://elsewhere:9400/metrics")
        await control.tokenize("text")
    assert len(seen.calls) >= 6
    for call in seen.calls:
        assert call.request.headers["Authorization"] == "Bearer canary-key"
        assert call.request.headers["X-Team"] == "blue"


@respx.mock
async def test_a_server_that_echoes_the_key_does_not_get_it_into_notes() -> None:
    respx.get(f"{ROOT}/v1/models").respond(401, text="bad key: canary-key (Bearer canary-key)")
    async with _open() as control:
        assert await control.models() is None
        assert "status 401" in control.notes[0]
        assert "canary" not in control.notes[0]


@respx.mock
async def test_tokenize_speaks_vllm_without_special_tokens() -> None:
    route = respx.post(f"{ROOT}/tokenize").respond(200, json={"count": 3, "tokens": [1, 2, 3]})
    async with _open() as control:
        count = await tokenize_counter(control)
        assert count is not None
        assert await count("a b c") == 3
    sent = json.loads(route.calls.last.request.content)
    assert sent == {"model": "m", "prompt": "a b c", "add_special_tokens": False}


@respx.mock
async def test_tokenize_finds_llama_cpp_and_stays_with_it() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(
            200, json={"tokens": list(json.loads(request.content).get("content", ""))}
        )

    route = respx.post(f"{ROOT}/tokenize").mock(side_effect=answer)
    async with _open() as control:
        assert await control.tokenize("abcd") == 4
        calls = len(route.calls)
        assert await control.tokenize("ab") == 2
        assert len(route.calls) == calls + 1
        assert await control.tokenize("") == 0


@respx.mock
async def test_a_counter_whose_route_dies_says_so() -> None:
    route = respx.post(f"{ROOT}/tokenize").respond(200, json={"count": 3})
    async with _open() as control:
        count = await tokenize_counter(control)
        assert count is not None
        route.respond(503, text="shutting down")
        with pytest.raises(EndpointError, match=r"stopped counting.*shutting down"):
            await count("x")


@respx.mock
async def test_a_chat_is_counted_by_its_template_where_the_server_has_one() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        words = json.loads(request.content).get("content", "").split()
        return httpx.Response(200, json={"tokens": words})

    respx.post(f"{ROOT}/tokenize").mock(side_effect=answer)
    respx.post(f"{ROOT}/apply-template").respond(200, json={"prompt": "user : hello assistant :"})
    async with _open() as control:
        assert await control.tokenize_chat([{"role": "user", "content": "hello"}]) == 5


@respx.mock
async def test_the_proxy_in_force_is_named_without_its_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://user:pass-word@proxy:3128")
    respx.get(f"{ROOT}/v1/models").mock(side_effect=httpx.ConnectError("refused"))
    async with _open() as control:
        with pytest.raises(EndpointError, match="through the proxy `http://proxy:3128`"):
            await control.models()
    async with _open(use_proxy=False) as control:
        with pytest.raises(EndpointError) as caught:
            await control.models()
    assert "proxy" not in str(caught.value)


@respx.mock
async def test_a_slow_route_is_a_note() -> None:
    respx.get(f"{ROOT}/health").mock(side_effect=httpx.ReadTimeout("too slow"))
    async with _open() as control:
        assert await control.health() is None
        assert control.notes == ["/health: ReadTimeout too slow"]


def test_a_missing_ca_file_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        _open(ca_file=str(tmp_path / "none.pem"))


@pytest.mark.parametrize(
    ("value", "cards"),
    [
        ({"data": [{"id": "a", "max_model_len": 9}]}, (ModelCard("a", "", 9),)),
        (
            {"data": [{"id": "a", "owned_by": "llamacpp", "meta": {"n_ctx": 5}}]},
            (ModelCard("a", "llamacpp", 5),),
        ),
        ({"data": [{"id": 3}, "x", None, {"id": "b", "meta": None}]}, (ModelCard("b"),)),
        ({"data": None}, ()),
        ([], ()),
        (None, ()),
    ],
)
def test_model_lists_are_read_whatever_they_hold(
    value: object, cards: tuple[ModelCard, ...]
) -> None:
    assert read_models(value) == cards


@pytest.mark.parametrize(
    ("value", "count"), [({"count": 4}, 4), ({"tokens": [1, 2]}, 2), ({}, None), ("x", None)]
)
def test_token_counts_are_read_in_both_dialects(value: object, count: int | None) -> None:
    assert read_token_count(value) == count
