"""Words in, words out: the only room that prints, parses options and sets exit codes."""

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line and exits with its code."""
    sys.exit(run_line(sys.argv[1:] if arguments is None else arguments))


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
