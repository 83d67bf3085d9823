"""Which texts are secret on this command line, and everything printed without them."""

import os
import sys
from collections.abc import Iterable, Mapping, Sequence

DEFAULT_NAME = "OPENAI_API_KEY"
KEY_ENDING = "_API_KEY"
SHORTEST_KEY = 8
"""Of a variable that nobody named: shorter values would blot out ordinary words."""
NAMING_OPTION = "--api-key-env"
HEADER_OPTIONS = ("--header", "-H")
HEADER_NAME = "LOADGEN_HEADER"


def known_secrets(environment: Mapping[str, str], arguments: Sequence[str]) -> tuple[str, ...]:
    """Values of variables that hold keys, by name or by option, and of secret headers."""
    from loadgen.transport.redact import is_secret_header, secret_values

    named = {DEFAULT_NAME, environment.get("LOADGEN_API_KEY_ENV", "")}
    named.update(_values_of(arguments, (NAMING_OPTION,)))
    headers = {
        name: value
        for name, value in environment.items()
        if name in named or (name.endswith(KEY_ENDING) and len(value) >= SHORTEST_KEY)
    }
    typed = [*_values_of(arguments, HEADER_OPTIONS), *environment.get(HEADER_NAME, "").split()]
    for number, header in enumerate(typed):
        name, value = split_header(header)
        if is_secret_header(name):
            headers[f"{number}"] = value
    proxies = [url for name, url in environment.items() if name.lower().endswith("_proxy")]
    return secret_values(headers, *arguments, *proxies)


def split_header(text: str) -> tuple[str, str]:
    """Name and value of `K:V` or `K=V`, whichever sign comes first; the value may be empty."""
    cut = min((place for sign in ":=" if (place := text.find(sign)) > 0), default=len(text))
    return text[:cut].strip(), text[cut + 1 :].strip()


def _values_of(arguments: Sequence[str], names: Sequence[str]) -> Iterable[str]:
    """What was given to these options, as the next argument or after `=`."""
    for place, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name in names and equals:
            yield value
        elif argument in names and place + 1 < len(arguments):
            yield arguments[place + 1]


def hidden(text: str) -> str:
    """The text without any secret that this process was given."""
    from loadgen.transport.redact import redact_text

    return redact_text(text, known_secrets(os.environ, sys.argv[1:]))
