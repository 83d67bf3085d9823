"""Other tools' result files to a `Recording`: one file a format, told apart by content.

Reads what is there and says what is not: figures that a file can't give are absent with a reason,
and nobody vouches for the client that made it. Computes nothing.
"""

from pathlib import Path

from loadgen.errors import InputError
from loadgen.foreign import aiperf, guidellm, vllm
from loadgen.foreign.documents import Document, read_documents
from loadgen.model.table import Recording

READERS = {
    "vllm bench serve JSON": (vllm.knows, vllm.read),
    "aiperf profile_export.jsonl": (aiperf.knows, aiperf.read),
    "guidellm JSON": (guidellm.knows, guidellm.read),
}
"""Formats: whether a document is one, and its reader."""


def read_foreign(path: Path) -> Recording:
    """The recording that another tool's result file amounts to.

    Raises:
        InputError: unreadable, of no known format, or a value is not what the format promises;
            names the file, the line, the path inside it, the value and what was expected.

    """
    documents = read_documents(path)
    for knows, read in READERS.values():
        if knows(documents[0]):
            return read(path, documents)
    raise InputError(
        f"`{path}`: none of the known results ({_shape(documents[0])})",
        f"known: a run folder, {', '.join(READERS)}",
    )


def _shape(document: Document) -> str:
    """What the document looks like instead."""
    if not isinstance(document.value, dict):
        return f"line {document.line} holds no JSON object"
    names = ", ".join(f"`{name}`" for name in list(document.value)[:4])
    return f"an object with {names} ..." if names else "an empty object"
