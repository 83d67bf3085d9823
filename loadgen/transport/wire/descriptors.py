"""Enough file descriptors for the asked concurrency, or a clear word before the run."""

import resource

from loadgen.errors import UsageError

SPARE = 64
"""For the poller, log files, pipes and libraries, beside one descriptor a connection."""


def raise_descriptor_limit(needed: int) -> int:
    """The soft limit now in force, at least `needed` + 64.

    Raises: UsageError when the hard limit is too low, with the number that is needed.
    """
    wanted = needed + SPARE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return soft
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise UsageError(
            f"{needed} connections need {wanted} open files, the limit is `{hard}`",
            hint=f"raise it with `ulimit -Hn {wanted}` (as root), or ask for less concurrency",
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted
