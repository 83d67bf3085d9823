"""Words in, words out: the only room that prints, parses options and sets exit codes."""


def main() -> None:
    """Runs the command line."""
    raise SystemExit("not built yet")
