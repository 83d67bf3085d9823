"""What TARGET may be: a base URL, or the built-in server, which is started for the command."""

from collections.abc import Iterator
from contextlib import contextmanager

MOCK = "mock:"
DEFAULT_PROFILE = "small"


def is_mock(target: str) -> bool:
    """Whether the built-in server is meant: `mock:` or `mock:PROFILE`."""
    return target.startswith(MOCK)


@contextmanager
def reachable(target: str) -> Iterator[str]:
    """The base URL of the target; a mock runs as long as the block lasts."""
    if not is_mock(target):
        yield target
        return
    from loadgen.measure.mockserver import running_mock

    with running_mock(target.removeprefix(MOCK) or DEFAULT_PROFILE) as url:
        yield url
