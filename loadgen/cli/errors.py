"""Errors as users see them: what happened, one thing to do, an exit code. Nothing else exits."""

import os
import re
import sys
import tempfile
import traceback
from collections.abc import Callable
from typing import Any, TextIO

import typer

from loadgen.cli.redaction import hidden
from loadgen.errors import LoadgenError

INTERRUPTED = 130
INTERNAL = 1
USAGE = 2

Problem: Any = typer.BadParameter.__mro__[2]
"""The command-line library's own exception: it has moved between modules, its child has not."""


def guarded(action: Callable[[], Any]) -> int:
    """The exit code of the action; every exception becomes words on stderr and a code."""
    try:
        code = action()
        _flush_stdout()
    except LoadgenError as error:
        show_error(str(error), error.hint)
        return error.exit_code
    except Problem as error:
        show_error(_lowered(error.format_message()), _help_hint(error))
        return USAGE
    except (KeyboardInterrupt, typer.Abort):
        show_error("interrupted")
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001  the last line of defence
        _show_internal(error)
        return INTERNAL
    return code if isinstance(code, int) else 0


def _flush_stdout() -> None:
    """Nothing is left to be written at exit; a reader that went away is no failure."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        discard(sys.stdout)


def show_error(message: str, hint: str | None = None) -> None:
    """`error: ...`, an empty line and `hint: ...` on stderr, without secrets."""
    text = f"error: {message}" + (f"\n\nhint: {hint}" if hint else "")
    say(hidden(text))


def say(text: str) -> None:
    """The text on stderr; when nobody reads on, it goes nowhere and the exit code stays."""
    try:
        print(text, file=sys.stderr, flush=True)
    except BrokenPipeError:
        discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """Whatever the stream still holds or gets goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _lowered(message: str) -> str:
    """The library's sentence in our manner: lower case, no full stop, values in backticks."""
    first = message.splitlines()[0] if message else "wrong usage"
    first = re.sub(r"Input should be a valid (\w+)(,.*)?", _expected, first)
    return (first[:1].lower() + first[1:]).rstrip(".").replace("'", "`")


def _expected(found: re.Match[str]) -> str:
    """What an option takes, in our words."""
    words = {"integer": "a whole number", "boolean": "yes or no"}
    return f"{words.get(found[1], f'a {found[1]}')} was expected"


def _help_hint(error: Any) -> str | None:
    """Where the options are listed."""
    context = getattr(error, "ctx", None)
    return f"`{context.command_path} --help` lists what it takes" if context else None


def _show_internal(error: Exception) -> None:
    """A short message; the traceback on stderr under LOADGEN_DEBUG=1, else in a file."""
    trace = hidden("".join(traceback.format_exception(error)))
    message = f"internal error: {type(error).__name__}: {error}"
    if os.environ.get("LOADGEN_DEBUG") == "1":
        say(trace)
        show_error(message)
        return
    with tempfile.NamedTemporaryFile(
        "w", prefix="loadgen-error-", suffix=".txt", delete=False, encoding="utf-8"
    ) as file:
        file.write(trace)
    show_error(message, f"this is a fault of loadgen; its traceback is in {file.name}")
