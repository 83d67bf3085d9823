"""Keys, secret headers and logins: taken from where they may stand, kept out of every plan."""

import os
from base64 import b64encode
from collections.abc import Mapping, Sequence
from urllib.parse import SplitResult, unquote, urlsplit

from loadgen.cli.redaction import split_header
from loadgen.errors import UsageError
from loadgen.model.plan import Plan
from loadgen.transport.redact import is_secret_header

KEY_VARIABLE = "OPENAI_API_KEY"


def parse_header(text: str) -> tuple[str, str]:
    """Name and value. Raises: UsageError."""
    name, value = split_header(text)
    if not name or not value:
        raise UsageError("`--header` takes a name and a value", "write it as `--header Name:value`")
    return name, value


def without_login(url: str) -> str:
    """The URL with a scheme and without user, password and closing slash. Raises: UsageError."""
    full = url if "://" in url else f"http://{url}"
    parts = urlsplit(full)
    if parts.scheme not in {"http", "https"} or not parts.hostname or not _has_good_port(parts):
        raise UsageError(
            f"`{parts._replace(netloc=parts.netloc.rpartition('@')[2]).geturl()}` is no base URL",
            "write it as http://host:port, or use `mock:`",
        )
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl().rstrip("/")


def _has_good_port(parts: SplitResult) -> bool:
    """Whether the port is absent or a number up to 65535."""
    try:
        return parts.port != 0
    except ValueError:
        return False


def secrets_of(
    url: str, plan: Plan, headers: Sequence[str], environment: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Secret header values by name, never stored: `--header` before the key before the URL's login.

    Raises:
        UsageError: the variable named by `--api-key-env` is not set.

    """
    found: dict[str, str] = {}
    login = urlsplit(url if "://" in url else f"http://{url}")
    if login.username is not None:
        pair = f"{unquote(login.username)}:{unquote(login.password or '')}"
        found["authorization"] = "Basic " + b64encode(pair.encode()).decode()
    variable = plan.target.api_key_env
    key = environment.get(variable, "").strip()
    if key:
        found["authorization"] = f"Bearer {key}"
    elif variable != KEY_VARIABLE:
        raise UsageError(f"the variable `{variable}` is not set", f"set it: export {variable}=...")
    for name, value in map(parse_header, headers):
        if is_secret_header(name):
            found[name.lower()] = value
    return found
