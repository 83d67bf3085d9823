"""Engines are known by the marks that their captured control routes bear."""

import json

import pytest
import respx

from loadgen.model.plan import TargetPlan
from loadgen.transport.control import ControlPlane
from loadgen.transport.probing.fingerprint import Fingerprint, take_fingerprint
from tests.exchanges import load_capture

ROOT = "http://server:8000"
ROUTES = {"/v1/models": "models", "/metrics": "metrics", "/version": "version", "/health": "health"}


async def _take() -> Fingerprint:
    async with ControlPlane(TargetPlan(base_url=ROOT, model="m"), {}) as control:
        models = await control.models() or ()
        return await take_fingerprint(control, models, await control.metrics())


def _serve(folder: str, **more: object) -> None:
    for route, value in more.items():
        respx.get(f"{ROOT}/{route}").respond(200, json=value)
    for route, name in ROUTES.items():
        capture = load_capture(f"{folder}/{name}")
        keep = {k: v for k, v in capture.headers.items() if k in ("server", "content-type")}
        respx.get(ROOT + route).respond(capture.status or 404, content=capture.body, headers=keep)
    respx.route().respond(404)


@respx.mock
async def test_vllm_is_known_with_its_version() -> None:
    _serve("vllm-0.32-tools")
    found = await _take()
    assert (found.engine, found.version) == ("vLLM", "0.32.0")
    assert found.evidence == "owned_by `vllm`, metrics named `vllm:`, `/version`"


@respx.mock
async def test_llama_cpp_is_known_with_its_build() -> None:
    _serve("llama.cpp-xllamacpp", props={"build_info": "b9999-abc"})
    found = await _take()
    assert (found.engine, found.version) == ("llama.cpp", "b9999-abc")
    assert "header `server: llama.cpp`" in found.evidence


@pytest.mark.parametrize(
    ("folder", "engine", "version"),
    [
        ("sglang-0.5.23", "SGLang", None),
        ("llmock-0.2.2", "llmock", "0.2.2"),
        ("xpyd-sim-0.5.0", "xpyd-sim", None),
        ("vllm-router-0.1.17", "llama.cpp", None),
        ("transformers-serve-5.24", None, None),
    ],
)
@respx.mock
async def test_other_servers_are_known_or_left_open(
    folder: str, engine: str | None, version: str | None
) -> None:
    _serve(folder)
    found = await _take()
    assert (found.engine, found.version) == (engine, version)


@respx.mock
async def test_our_mock_is_not_taken_for_vllm_though_it_answers_like_it() -> None:
    respx.get(f"{ROOT}/metrics").respond(200, text="# HELP vllm:num_requests_running Simulated.\n")
    respx.get(f"{ROOT}/version").respond(200, json={"version": "0.32.0"})
    models = {"data": [{"id": "m", "owned_by": "vllm"}]}
    respx.get(f"{ROOT}/v1/models").respond(200, json=models)
    found = await _take()
    assert (found.engine, found.version) == ("loadgen mock", "0.32.0")


@respx.mock
async def test_ollama_is_known_by_its_own_route_alone() -> None:
    respx.get(f"{ROOT}/api/version").respond(200, text=json.dumps({"version": "0.9.1"}))
    respx.route().respond(404)
    assert await _take() == Fingerprint("Ollama", "0.9.1", "`/api/version`")


@respx.mock
async def test_a_version_without_an_engine_is_kept_as_such() -> None:
    respx.get(f"{ROOT}/version").respond(200, json={"version": "7"})
    respx.route().respond(404)
    found = await _take()
    assert (found.engine, found.version) == (None, "7")


@respx.mock
async def test_sglang_tells_its_settings_and_nothing_secret_is_taken() -> None:
    told = {
        "version": "0.5.23",
        "api_key": "sk-secret",
        "model_path": "/home/me/m",
        "tp_size": 4,
        "quantization": "modelopt_fp4",
        "speculative_algorithm": None,
        "disable_radix_cache": False,
        "internal_states": [{"a": 1}],
    }
    _serve("sglang-0.5.23", get_server_info=told)
    found = await _take()
    assert found.version == "0.5.23"
    assert found.server_args == {
        "quantization": "modelopt_fp4",
        "tp_size": "4",
        "disable_radix_cache": "False",
    }
