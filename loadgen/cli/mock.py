"""`loadgen mock`: the built-in server by itself."""

import typer

EXAMPLES = """
loadgen mock
loadgen mock simulator --profile gb200-node --port 8000
loadgen mock simulator --help
"""


def mock(ctx: typer.Context) -> int:
    """Run the built-in server by itself, until Ctrl-C.

    Everything behind `mock` goes to it.

    `loadgen mock simulator --help` and `loadgen mock metronome --help` list what they take.
    """
    if ctx.args in (["--help"], ["-h"]):
        print(ctx.get_help())
        return 0
    from loadgen.mock import main

    return main(ctx.args)
