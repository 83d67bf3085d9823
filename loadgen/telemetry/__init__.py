"""What a machine, a server and its GPUs tell of themselves while a run goes on.

Sampled off the hot path, in the parent process. Knows nothing of requests. What nobody tells is
absent, never 0.
"""

from collections.abc import Callable, Sequence

from loadgen.telemetry.prometheus import server_sources
from loadgen.telemetry.sampling import Means, Source

SOURCES: dict[str, Callable[[Means], Sequence[Source]]] = {
    "server": server_sources,
}
"""Makes the sources of a plan, by the word that their samples carry as `source`."""
