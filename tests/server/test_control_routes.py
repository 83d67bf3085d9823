"""Control-plane calls to real servers: certificates, keys, refusals, token counts."""

import pytest

from loadgen.errors import EndpointError
from loadgen.model.plan import TargetPlan
from loadgen.transport.control import ControlPlane, tokenize_counter
from tests.mock_process import start_mock
from tests.real_servers import Server, free_port, llama_server


def _open(url: str, key: str = "k", **more: object) -> ControlPlane:
    target = TargetPlan(**{"base_url": url, "model": "tiny", **more})  # type: ignore[arg-type]
    return ControlPlane(target, {"Authorization": f"Bearer {key}"})


async def test_llama_cpp_lists_its_model_and_counts_tokens(llama: Server) -> None:
    async with _open(llama.url) as control:
        models = await control.models()
        assert models is not None
        assert (models[0].id, models[0].max_model_len) == ("tiny", 2048)
        count = await tokenize_counter(control)
        assert count is not None
        assert await count("hello there") == 4
        assert await control.tokenize_chat([{"role": "user", "content": "hello there"}]) == 16
        assert "llamacpp:" in (await control.metrics() or "")
        assert await control.version() is None
        assert control.notes == [
            "/version: status 404 `File Not Found (type not_found_error, code 404)`"
        ]


async def test_nobody_there_is_told_with_url_and_cause() -> None:
    port = free_port()
    async with _open(f"http://127.0.0.1:{port}/v1") as control:
        with pytest.raises(EndpointError, match=rf"127.0.0.1:{port}/v1/models`: connection ref"):
            await control.models()


async def test_https_to_a_plain_server_is_told_to_try_http() -> None:
    with start_mock() as mock, llama_server(slots=1) as server:
        for url, why in ((mock.url, "wrong version number"), (server.url, "got no answer")):
            async with _open(url.replace("http://", "https://")) as control:
                with pytest.raises(EndpointError, match=why) as caught:
                    await control.models()
                assert "`http://`" in str(caught.value.hint)


async def test_a_self_signed_server_works_with_ca_or_switch_and_is_named_without(
    tls_nginx: Server,
) -> None:
    async with _open(tls_nginx.url) as control:
        with pytest.raises(EndpointError, match=r"certificate of `127\.0\.0\.1` not") as caught:
            await control.models()
        assert "--ca FILE" in str(caught.value.hint)
    for trust in ({"insecure": True}, {"ca_file": str(tls_nginx.ca)}):
        async with _open(tls_nginx.url, **trust) as control:
            assert await control.models()
            assert await control.metrics()
            assert await control.tokenize("hello there") == 4


async def test_a_server_with_a_key_is_asked_with_it_on_every_route() -> None:
    with llama_server(slots=1, key="right-key") as server:
        async with _open(server.url, key="right-key") as control:
            assert await control.metrics()
            assert await control.tokenize("hello there") == 4
        async with _open(server.url, key="wrong-key") as control:
            assert await control.metrics() is None
            assert "status 401" in control.notes[0]
            assert "wrong-key" not in control.notes[0]
