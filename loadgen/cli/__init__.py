"""Words in, words out: the only room that prints, parses options and sets exit codes."""

import gc
import os
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line and exits with its code."""
    if arguments is None:
        _be_in_utf8()
        _start_light()
    sys.exit(run_line(sys.argv[1:] if arguments is None else arguments))


def _be_in_utf8() -> None:
    """Starts anew in Python's UTF-8 mode where the locale can't hold every name and text.

    Words of the command line, paths and the messages between processes must survive it. What is
    printed still keeps to the locale.
    """
    if sys.getfilesystemencoding() == "utf-8" or os.environ.get("PYTHONUTF8") == "1":
        return
    printed = f"{sys.stdout.encoding}:backslashreplace"
    environment = {**os.environ, "PYTHONUTF8": "1", "PYTHONIOENCODING": printed}
    command = [sys.executable, "-m", "loadgen", *sys.argv[1:]]
    os.execve(sys.executable, command, environment)


def _start_light() -> None:
    """What start-up costs beside its imports: linear algebra's threads, looks for garbage.

    Sums over blocks are all that is multiplied; a thread for each core would spin for them.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(50_000, 20, 20)


def run_line(arguments: Sequence[str]) -> int:
    """The exit code of one command line; without any argument it shows the help."""
    from loadgen.cli.app import build_app
    from loadgen.cli.errors import guarded
    from loadgen.cli.terminal import open_streams

    open_streams()
    app = build_app()
    return guarded(
        lambda: app(list(arguments) or ["--help"], standalone_mode=False, prog_name="loadgen")
    )
