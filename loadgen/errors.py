"""Failures of a run. A failure of one request is no exception but an `Outcome` in its record."""


class LoadgenError(Exception):
    """What happened, with the one thing to do about it and the exit code (`docs/cli.md`)."""

    exit_code = 1

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(LoadgenError):
    """The command line asks for something that can't be."""

    exit_code = 2


class InputError(LoadgenError):
    """A file can't be used: names the file, the path inside it, the value and what was expected."""

    exit_code = 3


class EndpointError(LoadgenError):
    """The endpoint is unreachable or refuses before any load was sent."""

    exit_code = 4


class RunFailedError(LoadgenError):
    """The run ended, but too many requests failed or no token came at all."""

    exit_code = 5


class GateMissedError(LoadgenError):
    """A stated requirement was not met."""

    exit_code = 6


class ResultInvalidError(LoadgenError):
    """The verdict is invalid and `--strict` was asked for."""

    exit_code = 7
