"""Fixtures that any test may ask for. Servers are shared by a worker process's whole session."""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real_servers import (
    Certificates,
    Server,
    llama_server,
    llmock_server,
    nginx_proxy,
    tls_certificates,
)

FOREIGN = ("OPENAI_", "LOADGEN_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def own_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """No test sees key, target, proxies or cache of whoever runs it, nor another test's cache."""
    caches = tmp_path_factory.getbasetemp() / "caches"
    monkeypatch.setenv("XDG_CACHE_HOME", str(caches / uuid.uuid4().hex))
    for name in list(os.environ):
        if name.upper().startswith(FOREIGN):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def llama() -> Iterator[Server]:
    """llama.cpp with the tiny model, 4 slots of 2,048 tokens."""
    with llama_server() as server:
        yield server


@pytest.fixture(scope="session")
def llmock() -> Iterator[Server]:
    """llmock as it comes, without faults."""
    with llmock_server() as server:
        yield server


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """An authority of our own and a certificate for 127.0.0.1."""
    return tls_certificates(Path(tmp_path_factory.mktemp("tls")))


@pytest.fixture(scope="session")
def buffering_nginx(llama: Server) -> Iterator[Server]:
    """nginx in front of llama.cpp that holds streams back in blocks of 4 KB."""
    with nginx_proxy(llama.url, buffering="on") as server:
        yield server


@pytest.fixture(scope="session")
def tls_nginx(llama: Server, certificates: Certificates) -> Iterator[Server]:
    """nginx in front of llama.cpp that speaks TLS, signed by our own authority."""
    with nginx_proxy(llama.url, tls=certificates) as server:
        yield server
