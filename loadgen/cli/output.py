"""Results to stdout or a file, piece by piece, without secrets."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from loadgen.cli.errors import discard
from loadgen.cli.redaction import known_secrets
from loadgen.errors import InputError, UsageError


def write_pieces(pieces: Iterable[str], out: str | None = None) -> None:
    """Writes the pieces to the file `out`, or to stdout where it is None or `-`.

    Raises:
        InputError: the file can't be written.

    """
    clean = _without_secrets(pieces)
    if out is None or out == "-":
        _print(clean)
        return
    try:
        with Path(out).open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
            file.writelines(clean)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise InputError(
            f"cannot write `{out}`: {why}",
            "name a file in a folder that is there and can be written: --out FILE",
        ) from error


def _print(pieces: Iterable[str]) -> None:
    """Writes to stdout; when nobody reads on (`| head`), the rest goes nowhere."""
    try:
        for piece in pieces:
            sys.stdout.write(piece)
        sys.stdout.flush()
    except BrokenPipeError:
        discard(sys.stdout)


def _without_secrets(pieces: Iterable[str]) -> Iterable[str]:
    """The same pieces, redacted one by one."""
    from loadgen.transport.redact import redact_text

    secrets = known_secrets(os.environ, sys.argv[1:])
    return (redact_text(piece, secrets) for piece in pieces)


def require_format(name: str) -> str:
    """The name of an output.

    Raises:
        UsageError: no output bears it.

    """
    from loadgen.report import OUTPUTS

    if name not in OUTPUTS:
        raise UsageError(f"unknown format `{name}`", f"known: {', '.join(OUTPUTS)}")
    return name
