"""Secrets kept out of everything that is stored or printed: header values, keys, credentials."""

import re
from base64 import b64decode
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit, urlunsplit

REDACTED = "[redacted]"

SECRET_HEADERS = frozenset(
    {
        "authorization",
        "proxy-authorization",
        "api-key",
        "x-api-key",
        "x-goog-api-key",
        "ocp-apim-subscription-key",
        "cookie",
        "set-cookie",
        "x-auth-token",
        "x-amz-security-token",
    }
)
_SECRET_WORDS = ("secret", "api-key", "apikey", "password", "credential")
_SECRET_QUERY = re.compile(
    r"([?&](?:api[-_]?key|key|token|access_token|sig|signature|password)=)[^&#\s]+", re.IGNORECASE
)
_CREDENTIALS_IN_URL = re.compile(r"(?<=://)[^/\s@]+@")
_SCHEMES = ("bearer", "basic", "token", "api-key", "apikey")
SHORTEST_SECRET = 4
"""A shorter value would blot out ordinary text, and guards nothing."""


def is_secret_header(name: str) -> bool:
    """Whether the value of this header must not be stored or printed."""
    lowered = name.strip().lower()
    if lowered in SECRET_HEADERS or lowered.endswith(("-token", "-key")):
        return True
    return any(word in lowered for word in _SECRET_WORDS)


def redact_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The same headers, secret values replaced."""
    return {name: REDACTED if is_secret_header(name) else value for name, value in headers.items()}


def redact_url(url: str) -> str:
    """The same URL without user, password and keys in its query."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return redact_text(url)
    host = parts.netloc.rpartition("@")[2]
    return _SECRET_QUERY.sub(rf"\1{REDACTED}", urlunsplit(parts._replace(netloc=host)))


def secret_values(headers: Mapping[str, str], *urls: str) -> tuple[str, ...]:
    """Every text that must not be seen again, longest first: `redact_text` takes it.

    `headers` are the secret ones, whole values and their part after the scheme (`Bearer`), of
    `Basic` the password too; of the URLs, the passwords.
    """
    found = set()
    for value in headers.values():
        found.add(value.strip())
        scheme, _, rest = value.strip().partition(" ")
        if scheme.lower() in _SCHEMES:
            found.add(rest.strip())
        if scheme.lower() == "basic":
            found.add(_password_of_basic(rest))
    for url in urls:
        found.update(_passwords(url))
    return tuple(sorted((s for s in found if len(s) >= SHORTEST_SECRET), key=len, reverse=True))


def redact_text(text: str, secrets: Iterable[str] = ()) -> str:
    """The text without the given secrets, without credentials in URLs and keys in queries.

    Finds a secret also where JSON has escaped it.
    """
    for secret in secrets:
        if secret:
            text = text.replace(secret, REDACTED)
            text = text.replace(_as_in_json(secret), REDACTED)
    text = _CREDENTIALS_IN_URL.sub("", text)
    return _SECRET_QUERY.sub(rf"\1{REDACTED}", text)


def redact_parts(parts: list[bytes], secrets: Iterable[str]) -> list[bytes]:
    """Body parts without the secrets: the same list when it holds none.

    A secret that lies across two parts moves all text into the last part of its stretch, so
    that the number of parts, and with it their stamps, stays.
    """
    body = b"".join(parts)
    forms = [form.encode() for secret in secrets for form in {secret, _as_in_json(secret)}]
    if not any(form in body for form in forms):
        return parts
    clean = [_replace_all(part, forms) for part in parts]
    joined = b"".join(clean)
    if any(form in joined for form in forms):
        return [b""] * (len(parts) - 1) + [_replace_all(body, forms)]
    return clean


def _replace_all(text: bytes, forms: list[bytes]) -> bytes:
    for form in forms:
        text = text.replace(form, REDACTED.encode())
    return text


def _as_in_json(secret: str) -> str:
    return secret.replace("\\", "\\\\").replace('"', '\\"').replace("/", "\\/")


def _password_of_basic(encoded: str) -> str:
    try:
        return b64decode(encoded.strip(), validate=True).decode().partition(":")[2]
    except ValueError:
        return ""


def _passwords(url: str) -> list[str]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return []
    return [parts.password] if parts.password else []
