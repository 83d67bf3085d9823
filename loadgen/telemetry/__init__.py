"""What a machine, a server and its GPUs tell of themselves while a run goes on.

Sampled off the hot path, in the parent process. Knows nothing of requests. What nobody tells is
absent, never 0.
"""

from collections.abc import Callable, Sequence

from loadgen.telemetry.nvml import nvml_sources
from loadgen.telemetry.power import power_sources
from loadgen.telemetry.prometheus import server_sources
from loadgen.telemetry.sampling import Means, Source


def gpu_sources(means: Means) -> Sequence[Source]:
    """Where power is told: the URL that the plan names, else this machine's own GPUs."""
    return [*power_sources(means), *nvml_sources(means)]


SOURCES: dict[str, Callable[[Means], Sequence[Source]]] = {
    "server": server_sources,
    "gpu": gpu_sources,
}
"""Makes the sources of a plan, by the word that their samples carry as `source`."""
