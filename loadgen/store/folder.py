"""The run folder: its file names, how it comes to be, and `run.json`. Nothing here computes.

Layout and versions are described in `docs/results-format.md`.
"""

import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from loadgen import clock
from loadgen.errors import InputError, LoadgenError
from loadgen.model.observed import ClientHealth, Observed
from loadgen.model.plan import Anchor, Plan
from loadgen.model.provenance import Provenance
from loadgen.model.summary import Summary
from loadgen.store.utf8 import storable, storable_tree
from loadgen.units import NS_PER_S

FORMAT_VERSION = 1
"""Moves when a file changes so that an older reader would misread it."""

RUN_FILE = "run.json"
REQUESTS_FILE = "requests.parquet"
PROGRESS_FILE = "progress.bin"
SEGMENTS_FOLDER = "segments"
FINISHED_SEGMENTS_FOLDER = "segments.finished"
JOURNAL_FOLDER = "journal"

NAME_LENGTH_MAX = 80

RunState = Literal["running", "complete", "interrupted", "failed"]


class RunFile(Struct, frozen=True, kw_only=True):
    """The content of `run.json`. `summary` is None until the run was reviewed."""

    format_version: int = FORMAT_VERSION
    state: RunState = "running"
    plan: Plan
    provenance: Provenance = msgspec.field(default_factory=Provenance)
    observed: Observed = Observed()
    health: tuple[ClientHealth, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    started_wall_ns: int = 0
    ended_wall_ns: int = 0
    summary: Summary | None = None


class _Version(Struct):
    format_version: int


def name_hint(plan: Plan) -> str:
    """`model-load` for a folder name: `llama-3-8b-closed:1..16` for a sweep from 1 to 16."""
    model = plan.target.model.rstrip("/").rpartition("/")[2]
    loads = [point.load for point in plan.points]
    if not loads:
        return model
    load = loads[0]
    if loads[-1] != load:
        shape, _, last = loads[-1].partition(":")
        load += f"..{last if load.startswith(shape + ':') else loads[-1]}"
    return f"{model}-{load}"


def create_run_folder(out: Path, name_hint: str) -> Path:
    """A new folder `out/<utc>-<name>`, never one that exists: the next gets `-2`, `-3` ...

    The name is ASCII, so that it can be made and typed under any locale. Raises `InputError`
    where `out` can't be written.
    """
    now = datetime.fromtimestamp(clock.wall_ns() / NS_PER_S, UTC)
    name = f"{now:%Y-%m-%dT%H-%MZ}-{_sanitised(name_hint)}"
    attempt = 1
    while True:
        folder = out / (name if attempt == 1 else f"{name}-{attempt}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            if out.is_dir():
                attempt += 1
                continue
            raise _unwritable(out, "not a folder") from None
        except OSError as exc:
            raise _unwritable(out, exc.strerror or "not writable") from exc
        return folder


def _sanitised(text: str) -> str:
    words = re.sub(r"[^A-Za-z0-9._=-]+", "-", text)
    return words[:NAME_LENGTH_MAX].strip("-.") or "run"


def _unwritable(out: Path, why: str) -> InputError:
    return InputError(
        f"can't make a run folder in `{out}`: {why.lower()}", "name a writable folder: --out DIR"
    )


def write_durably(path: Path, content: bytes) -> None:
    """Puts `content` at `path` in one step: after a kill or power cut the old or the new is there.

    Raises `LoadgenError` where the disk takes no more.
    """
    draft = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with draft.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        sync_folder(path.parent)
    except OSError as exc:
        draft.unlink(missing_ok=True)
        raise LoadgenError(
            f"can't write `{path}`: {exc.strerror}", "free some space or choose another --out"
        ) from exc


def write_report(folder: Path, suffix: str, text: str) -> Path:
    """The path of `report.<suffix>`, replaced in one step; UTF-8. Raises as `write_durably`."""
    path = folder / f"report.{suffix}"
    write_durably(path, storable(text).encode())
    return path


def sync_folder(folder: Path) -> None:
    """Makes renames and removals in `folder` outlast a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_run_file(folder: Path, run_file: RunFile) -> None:
    """Replaces `run.json` in one step: strict JSON in UTF-8, a number that isn't one as null.

    Raises `LoadgenError` when it can't be written, or could not be read back: then the old one
    stays.
    """
    try:
        encoded = msgspec.json.encode(run_file)
    except UnicodeEncodeError:
        encoded = msgspec.json.encode(storable_tree(msgspec.to_builtins(run_file)))
    path = folder / RUN_FILE
    try:
        msgspec.json.decode(encoded, type=RunFile)
    except msgspec.DecodeError as exc:
        raise LoadgenError(f"won't write `{path}`, it could not be read back: {exc}") from exc
    write_durably(path, msgspec.json.format(encoded, indent=2) + b"\n")


def update_run_file(folder: Path, **changes: object) -> RunFile:
    """`run.json` with these fields replaced, written and returned; the others stay as on disk."""
    run_file = msgspec.structs.replace(read_run_file(folder), **changes)
    write_run_file(folder, run_file)
    return run_file


def read_run_file(folder: Path) -> RunFile:
    """The content of `run.json`.

    Raises `InputError` where `folder` is no run, the file is damaged (names the position) or of
    a format version that this tool doesn't read.
    """
    path = folder / RUN_FILE
    content = _read_run_json(folder)
    try:
        require_known_version(path, msgspec.json.decode(content, type=_Version).format_version)
        return msgspec.json.decode(content, type=RunFile)
    except (msgspec.DecodeError, UnicodeDecodeError) as exc:
        where = "" if "byte" in str(exc) or "$" in str(exc) else f" (byte {len(content)})"
        raise InputError(
            f"`{path}` is damaged: {exc}{where}",
            f"the requests may be whole: {folder / REQUESTS_FILE}",
        ) from exc


def require_known_version(path: Path, version: int) -> None:
    """Raises `InputError` unless this tool reads results of format `version`."""
    if version == FORMAT_VERSION:
        return
    age = "an older" if version < FORMAT_VERSION else "a newer"
    raise InputError(
        f"results of format `{version}` can't be read by this version "
        f"(reads {FORMAT_VERSION}): `{path}`",
        f"read them with {age} loadgen, the one that wrote them",
    )


def _read_run_json(folder: Path) -> bytes:
    try:
        return (folder / RUN_FILE).read_bytes()
    except FileNotFoundError:
        why = f"it has no {RUN_FILE}" if folder.is_dir() else "no such folder"
    except NotADirectoryError:
        why = "not a folder"
    except OSError as exc:
        why = (exc.strerror or "not readable").lower()
    raise InputError(
        f"`{folder}` is no run: {why}", "give the folder that the run printed at its end"
    )
