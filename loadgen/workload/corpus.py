"""Documents of a trace corpus by number: a folder or a file, plain or compressed, never all held.

A `.json` file is one document, a `.jsonl` file one a line; each also as `.gz` and `.zst`.
"""

from pathlib import Path


class Corpus:
    """The documents at a path, files in the order of their names. Files must not change."""

    def __init__(self, path: Path) -> None:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def document(self, number: int) -> bytes:
        """One document's bytes, JSON as it stands in the file."""
        raise NotImplementedError

    def where(self, number: int) -> str:
        """`file`, or `file:line`."""
        raise NotImplementedError
