"""The servers that other tests stand on: they start, answer, count and go away."""

import json
import ssl
import urllib.request

import pytest

from tests.real_servers import Server, llama_server, nginx_proxy, running


def _chat(server: Server, prompt: str, context: ssl.SSLContext | None = None) -> dict[str, object]:
    body = {"model": "tiny", "messages": [{"role": "user", "content": prompt}], "temperature": 0}
    request = urllib.request.Request(
        server.url + "/v1/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=20, context=context) as answer:
        return dict(json.load(answer))


def test_llama_cpp_answers_and_counts_its_tokens(llama: Server) -> None:
    before = llama.metric("llamacpp:tokens_predicted_total")
    usage = _chat(llama, "hello please now")["usage"]
    assert isinstance(usage, dict)
    assert llama.metric("llamacpp:tokens_predicted_total") - before == usage["completion_tokens"]


def test_a_server_is_gone_when_its_context_ends() -> None:
    with llama_server(slots=1) as server:
        assert "ok" in server.get("/health")
    assert server.process.poll() is not None
    with pytest.raises(OSError, match="refused"):
        server.get("/health")


def test_a_server_that_does_not_start_says_why() -> None:
    with (
        pytest.raises(RuntimeError, match="no such thing"),
        running(["sh", "-c", "echo no such thing; exit 3"], "http://127.0.0.1:9"),
    ):
        pass


def test_llmock_tells_its_version(llmock: Server) -> None:
    assert json.loads(llmock.get("/health"))["version"] == "0.2.2"


def test_nginx_speaks_tls_with_our_own_authority(tls_nginx: Server) -> None:
    context = ssl.create_default_context(cafile=tls_nginx.ca)
    assert _chat(tls_nginx, "hello please now", context)["object"] == "chat.completion"
    with pytest.raises(OSError, match="CERTIFICATE_VERIFY_FAILED"):
        _chat(tls_nginx, "hello please now", ssl.create_default_context())


def test_nginx_passes_plain_http_on(llama: Server) -> None:
    with nginx_proxy(llama.url) as proxy:
        assert "ok" in proxy.get("/health")
