"""What a share says besides its records: health, anchors, notes. JSON lines, appended whole.

A line that a kill cut short is left out when read; all others stay.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import Struct

from loadgen import clock
from loadgen.model.observed import ClientHealth
from loadgen.model.plan import Anchor
from loadgen.store.folder import JOURNAL_FOLDER
from loadgen.store.utf8 import storable


class _Line(Struct, frozen=True, omit_defaults=True):
    """One of the three is there; with a note, `at_ns` says when (monotonic)."""

    health: ClientHealth | None = None
    anchor: Anchor | None = None
    note: str | None = None
    at_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """Something that happened on a share's side; `at_ns` is monotonic."""

    at_ns: int
    text: str


@dataclass(frozen=True, slots=True)
class Journal:
    """The entries of all shares, share by share in the order they were written."""

    health: tuple[ClientHealth, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    notes: tuple[Note, ...] = ()


def append_health(folder: Path, share: int, health: ClientHealth) -> None:
    """Keeps how the client fared during one point; survives any kill afterwards."""
    _append(folder, share, _Line(health=health))


def append_anchor(folder: Path, share: int, anchor: Anchor) -> None:
    """Keeps an instant on both clocks of a share's process."""
    _append(folder, share, _Line(anchor=anchor))


def append_note(folder: Path, share: int, text: str) -> None:
    """Keeps a sentence with the present instant."""
    _append(folder, share, _Line(note=storable(text), at_ns=clock.now_ns()))


def read_journal(folder: Path) -> Journal:
    """All whole lines of all shares; an empty journal where there is none."""
    health: list[ClientHealth] = []
    anchors: list[Anchor] = []
    notes: list[Note] = []
    decoder = msgspec.json.Decoder(_Line)
    for path in sorted((folder / JOURNAL_FOLDER).glob("*.jsonl")):
        for text in path.read_bytes().splitlines():
            try:
                line = decoder.decode(text)
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue
            if line.health is not None:
                health.append(line.health)
            if line.anchor is not None:
                anchors.append(line.anchor)
            if line.note is not None and line.at_ns is not None:
                notes.append(Note(line.at_ns, line.note))
    return Journal(tuple(health), tuple(anchors), tuple(notes))


def _append(folder: Path, share: int, line: _Line) -> None:
    place = folder / JOURNAL_FOLDER
    place.mkdir(exist_ok=True)
    path = place / f"share-{share:03d}.jsonl"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(descriptor, msgspec.json.encode(line) + b"\n")
    finally:
        os.close(descriptor)
