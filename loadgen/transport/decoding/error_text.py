"""What an error answer says, in one line that is safe to store and print. Pure text."""

from collections.abc import Sequence
from typing import Any

from loadgen.transport.decoding.openai_events import Malformed, load_json
from loadgen.transport.redact import REDACTED, redact_text

MAX_DETAIL_CHARS = 500

_MESSAGE_KEYS = ("message", "error", "detail", "msg", "errors", "reason")
_LABEL_KEYS = ("type", "code")
_MAX_DEPTH = 6
_SHORTEST_TELLING = 4
"""Characters of a secret's start that are worth hiding."""


def says_something(value: Any, depth: int = 0) -> bool:
    """False for null, blanks, zeros and containers of such: `"error": null` is no error."""
    if isinstance(value, str):
        return bool(value.strip())
    if depth < _MAX_DEPTH and isinstance(value, dict):
        return any(says_something(item, depth + 1) for item in value.values())
    if depth < _MAX_DEPTH and isinstance(value, list):
        return any(says_something(item, depth + 1) for item in value)
    return bool(value)


def describe_error(value: Any) -> str:
    """The message of an error member (object, string, nested), with its type and code."""
    message = _message(value, 0)
    if not isinstance(value, dict):
        return message
    holder = value
    while isinstance(holder.get("error"), dict):
        holder = holder["error"]
    labels = [
        f"{key} {holder[key]}"
        for key in _LABEL_KEYS
        if isinstance(holder.get(key), str | int) and holder[key] not in ("", "error")
    ]
    return f"{message} ({', '.join(labels)})" if labels else message


def _message(value: Any, depth: int) -> str:
    if isinstance(value, str):
        return value.strip()
    if depth < _MAX_DEPTH and isinstance(value, dict):
        for key in _MESSAGE_KEYS:
            if says_something(value.get(key)):
                return _message(value[key], depth + 1)
    if depth < _MAX_DEPTH and isinstance(value, list):
        return "; ".join(_message(item, depth + 1) for item in value if says_something(item))
    return str(value)


def describe_body(body: bytes) -> str:
    """What the body of an error answer says: JSON by its message, HTML by its title, else text."""
    start = body[:65536].strip()
    if start.startswith((b"{", b"[")):
        try:
            return describe_error(load_json(body))
        except (Malformed, RecursionError):
            pass
    text = start.decode("utf-8", "replace")
    if start.startswith(b"<"):
        _, opened, rest = text.partition("<title>")
        if opened:
            return rest.partition("</title>")[0].strip()
    return text


def clean_detail(text: str, secrets: Sequence[str], limit: int = MAX_DETAIL_CHARS) -> str:
    """One line of at most `limit` characters: secrets replaced, control characters shown.

    Secrets go before the text is bounded, so that no half of one stands at its end.
    """
    text = redact_cut(text, secrets)[: 4 * limit]
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def redact_cut(text: str, secrets: Sequence[str]) -> str:
    """The text without secrets and credentials in URLs, though it may be cut inside a secret."""
    text = redact_text(text, _longest_first(secrets))
    for secret in secrets:
        for length in range(len(secret) - 1, _SHORTEST_TELLING - 1, -1):
            if text.endswith(secret[:length]):
                return text[:-length] + REDACTED
    return text


def redact(text: str, secrets: Sequence[str]) -> str:
    """The text with each secret replaced and nothing else: what a model wrote stays as it is."""
    for secret in _longest_first(secrets):
        text = text.replace(secret, REDACTED)
    return text


def _longest_first(secrets: Sequence[str]) -> list[str]:
    return sorted(filter(None, secrets), key=len, reverse=True)
