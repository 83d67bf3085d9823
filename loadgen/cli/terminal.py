"""Streams that take any text: what a terminal's encoding lacks is written in plainer signs."""

import codecs
import io
import sys

PLAINER = {
    "·": "-",
    "±": "+-",
    "×": "x",
    "−": "-",
    "…": "...",
    "≥": ">=",
    "≤": "<=",
    "µ": "u",
    "Δ": "d",
}


def _plainer(error: UnicodeError) -> tuple[str | bytes, int]:
    """Replacement for characters that can't be encoded: a plainer sign, else a question mark."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lost = error.object[error.start : error.end]
    return "".join(PLAINER.get(character, "?") for character in lost), error.end


def open_streams() -> None:
    """Makes stdout and stderr take every text, whatever their encoding."""
    codecs.register_error("loadgen.plainer", _plainer)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="loadgen.plainer")
