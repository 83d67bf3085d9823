import pytest

from loadgen.transport.proxies import proxy_for, secrets_towards, show_proxy

PROXY = "http://proxy:3128"


@pytest.mark.parametrize(
    ("url", "environ", "expected"),
    [
        ("http://h/v1", {}, None),
        ("http://h/v1", {"HTTP_PROXY": PROXY}, PROXY),
        ("http://h/v1", {"http_proxy": PROXY}, PROXY),
        ("http://h/v1", {"http_proxy": PROXY, "HTTP_PROXY": "http://other:1"}, PROXY),
        ("https://h/v1", {"HTTP_PROXY": PROXY}, None),
        ("https://h/v1", {"HTTPS_PROXY": PROXY}, PROXY),
        ("https://h/v1", {"ALL_PROXY": PROXY}, PROXY),
        ("http://h/v1", {"HTTP_PROXY": "proxy:3128"}, PROXY),
        ("http://h/v1", {"HTTP_PROXY": PROXY, "REQUEST_METHOD": "GET"}, None),
    ],
)
def test_environment_names_the_proxy(
    url: str, environ: dict[str, str], expected: str | None
) -> None:
    assert proxy_for(url, environ) == expected


@pytest.mark.parametrize(
    ("url", "no_proxy", "direct"),
    [
        ("http://localhost:8000", "localhost", True),
        ("http://remote", "localhost", False),
        ("http://remote", "*", True),
        ("http://a.example.com", "example.com", True),
        ("http://example.com", "example.com", True),
        ("http://notexample.com", "example.com", False),
        ("http://example.com", ".example.com", False),
        ("http://a.example.com", ".example.com", True),
        ("http://10.1.2.3", "10.0.0.0/8", True),
        ("http://11.1.2.3", "10.0.0.0/8", False),
        ("http://[::1]:8000", "::1", True),
        ("http://h:8000", "other, h:8000", True),
        ("http://h:8001", "h:8000", False),
        ("http://H", "h", True),
    ],
)
def test_no_proxy_exempts_hosts(url: str, no_proxy: str, direct: bool) -> None:
    environ = {"HTTP_PROXY": PROXY, "NO_PROXY": no_proxy}
    assert (proxy_for(url, environ) is None) is direct


def test_proxy_is_shown_without_its_credentials() -> None:
    assert show_proxy("http://user:secret@proxy:3128") == PROXY


def test_a_proxys_login_is_hidden_as_it_goes_over_the_wire_and_as_it_was_meant() -> None:
    environ = {"HTTP_PROXY": "http://me:pa%2Fss@proxy:3128"}
    secrets = secrets_towards("http://h/v1", {"authorization": "Bearer sk-key"}, environ)
    assert {"sk-key", "pa%2Fss", "pa/ss", "bWU6cGEvc3M="} <= set(secrets)
    assert secrets_towards("http://h/v1", {}, {}) == ()
