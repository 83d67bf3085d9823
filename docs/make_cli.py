"""Prints docs/cli.md: the help of every command, as a terminal of 100 columns shows it."""

import os
from collections.abc import Iterator

os.environ.update(COLUMNS="100", NO_COLOR="1", TERM="dumb")

from typer.testing import CliRunner  # noqa: E402

from loadgen.cli.app import COMMANDS, build_app  # noqa: E402

HEAD = """# The command line

Made by `make docs` from the commands' own words; a test keeps it equal to them.
"""


def pages() -> Iterator[str]:
    """Heading and help of `loadgen`, then of each command in the order of its help."""
    yield HEAD
    app = build_app()
    for words in ([], *([name] for name in COMMANDS)):
        shown = CliRunner().invoke(app, [*words, "--help"], prog_name="loadgen")
        if shown.exit_code:
            raise SystemExit(f"{words}: {shown.output}")
        yield f"## {' '.join(['loadgen', *words])}\n\n```\n{shown.output.strip()}\n```\n"


if __name__ == "__main__":
    print("\n".join(pages()), end="")  # noqa: T201
