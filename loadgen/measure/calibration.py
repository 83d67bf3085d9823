"""What selftest found of this host, kept for later runs: one small file per host and version.

Never made by a run and never waited for: a run reads the file after its first requests have left.
"""

import os
import re
from contextlib import suppress
from pathlib import Path

import msgspec

import loadgen
from loadgen import clock
from loadgen.model.provenance import Calibration


def calibration_path() -> Path:
    """`$XDG_CACHE_HOME/loadgen/calibration-HOST-VERSION.json`; `~/.cache` where that is unset."""
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    host = re.sub(r"[^A-Za-z0-9._-]+", "-", clock.host_name())
    return root / "loadgen" / f"calibration-{host}-{loadgen.__version__}.json"


def cached_calibration() -> Calibration | None:
    """The file's content; None where there is none, or none that can be read."""
    try:
        content = calibration_path().read_bytes()
        known = msgspec.json.decode(content, type=Calibration)
    except (OSError, RuntimeError, msgspec.DecodeError):
        return None
    return known if known.tool_version == loadgen.__version__ else None


def keep_calibration(calibration: Calibration) -> Path | None:
    """Where it was written, in one step; None where the cache can't be written."""
    path = calibration_path()
    draft = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(msgspec.json.encode(calibration))
        draft.replace(path)
    except OSError:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        return None
    return path
