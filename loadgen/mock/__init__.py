"""A server that tells the truth about itself.

Imports nothing of loadgen, so that it can't share our mistakes.
"""


def main(argv: list[str] | None = None) -> int:
    """Serves until SIGTERM or SIGINT and returns the exit code; see `server.main`."""
    from loadgen.mock.server import main as serve  # readers of a dump don't load a server

    return serve(argv)
