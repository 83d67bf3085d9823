"""What TARGET may be: a base URL, or the built-in server, which is started for the command."""

from collections.abc import Iterator
from contextlib import contextmanager

from loadgen.errors import UsageError

MOCK = "mock:"
DEFAULT_PROFILE = "small"
LONG_PROFILE = "gb200-node"
"""For recorded sessions, whose prompts don't fit into the small one's context."""


def require_no_bare_mock(target: str) -> None:
    """Raises: UsageError where a name of the built-in server stands alone, not as `mock:`."""
    from loadgen.mock.profiles import FOLDER

    if target == MOCK.removesuffix(":"):
        raise UsageError(f"`{target}` is no base URL", f"did you mean `{MOCK}`?")
    if target in {path.stem for path in FOLDER.glob("*.yaml")}:
        raise UsageError(f"`{target}` is no base URL", f"did you mean `{MOCK}{target}`?")


def is_mock(target: str) -> bool:
    """Whether the built-in server is meant: `mock:` or `mock:PROFILE`."""
    return target.startswith(MOCK)


def mock_profile(target: str, profile: str) -> str:
    """The built-in server's profile that the target means; empty for any other target."""
    return target.removeprefix(MOCK) or profile if is_mock(target) else ""


@contextmanager
def reachable(target: str, profile: str = DEFAULT_PROFILE) -> Iterator[str]:
    """The base URL of the target; a mock runs as long as the block lasts.

    `profile`: the mock's where the target names none.

    Raises:
        UsageError: a profile that isn't there or can't be read.

    """
    if not is_mock(target):
        yield target
        return
    from loadgen.measure.mockserver import running_mock

    with running_mock(known_profile(mock_profile(target, profile))) as url:
        yield url


def known_profile(name: str) -> str:
    """The name of a profile of the built-in server, or the path of one.

    Raises:
        UsageError: it isn't there or can't be read.

    """
    from loadgen.mock.profiles import ProfileError, load_profile

    try:
        load_profile(name)
    except ProfileError as error:
        raise UsageError(f"`{MOCK}{name}`: {error}") from error
    return name
