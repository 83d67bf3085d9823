"""Which proxy the environment names for a URL, and how to show it.

Reads HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY, in small letters too, by the rules that
curl and httpx share; the small letters win, as they do there. Opens nothing.
"""

import ipaddress
import os
from base64 import b64encode
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from loadgen.transport.redact import redact_url, secret_values

_DEFAULT_PORTS = {"http": 80, "https": 443}


def proxy_for(url: str, environ: Mapping[str, str] | None = None) -> str | None:
    """The proxy's URL with its credentials, or None where the connection is direct."""
    environment = os.environ if environ is None else environ
    parts = urlsplit(url)
    scheme = parts.scheme or "http"
    named = _variable(environment, f"{scheme}_proxy") or _variable(environment, "all_proxy")
    if not named:
        return None
    host = (parts.hostname or "").lower()
    port = parts.port or _DEFAULT_PORTS.get(scheme, 80)
    if _is_exempt(host, port, _variable(environment, "no_proxy")):
        return None
    return named if "://" in named else f"http://{named}"


def show_proxy(proxy: str) -> str:
    """The proxy's URL without its credentials."""
    return redact_url(proxy)


def secrets_towards(
    base_url: str, secret_headers: Mapping[str, str], environ: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """What to hide of anything heard on the way to this URL: its keys and its proxy's login."""
    proxy = proxy_for(base_url, environ) or ""
    return secret_values({**secret_headers, "proxy": basic_login(proxy)}, base_url, proxy)


def basic_login(url: str) -> str:
    """The login of a URL as it goes over the wire, `Basic ...`; empty without a password."""
    parts = urlsplit(url)
    if not parts.password:
        return ""
    pair = f"{unquote(parts.username or '')}:{unquote(parts.password)}"
    return "Basic " + b64encode(pair.encode()).decode()


def _variable(environ: Mapping[str, str], name: str) -> str:
    # A CGI script would take HTTP_PROXY from a request's header `Proxy`.
    is_forgeable = name == "http_proxy" and "REQUEST_METHOD" in environ
    return environ.get(name) or ("" if is_forgeable else environ.get(name.upper(), ""))


def _is_exempt(host: str, port: int, no_proxy: str) -> bool:
    for entry in no_proxy.replace(" ", ",").split(","):
        pattern = entry.strip().lower()
        if pattern and (pattern == "*" or _matches(host, port, pattern)):
            return True
    return False


def _matches(host: str, port: int, pattern: str) -> bool:
    pattern = pattern.partition("://")[2] or pattern
    network = _network(pattern)
    if network is not None:
        try:
            return ipaddress.ip_address(host) in network
        except ValueError:
            return False
    name, _, wanted_port = pattern.rpartition(":")
    if name and wanted_port.isdigit():
        if int(wanted_port) != port:
            return False
        pattern = name.strip("[]")
    bare = pattern.removeprefix("*").removeprefix(".")
    if pattern.startswith((".", "*")):
        return host.endswith(f".{bare}")
    return host == bare or host.endswith(f".{bare}")


def _network(pattern: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(pattern.strip("[]"), strict=False)
    except ValueError:
        return None
