"""The options about witnesses: who else is asked while the load runs."""

from dataclasses import dataclass
from typing import Annotated

from loadgen.cli.option import WITNESSES, option


@dataclass(frozen=True, kw_only=True)
class WitnessOptions:
    """Where the server and its GPUs tell of themselves."""

    metrics_url: Annotated[
        list[str] | None,
        option(
            "--metrics-url",
            says="The server's metrics in Prometheus' format; repeatable, counters are summed. "
            "Default: the endpoint's own /metrics, where it has one; none: nobody is asked.",
            group=WITNESSES,
            metavar="URL",
        ),
    ] = None
    gpu_metrics_url: Annotated[
        str | None,
        option(
            "--gpu-metrics-url",
            says="GPU power: a DCGM exporter, or any Prometheus text with --power-query. Default: "
            "NVML, where the server is on this machine.",
            group=WITNESSES,
            metavar="URL",
        ),
    ] = None
    power_query: Annotated[
        str | None,
        option(
            "--power-query",
            says="The power series at --gpu-metrics-url, in watts, as 'node_w{rack=\"7\"}'.",
            group=WITNESSES,
            metavar="SERIES",
        ),
    ] = None
    power_boundary: Annotated[
        str | None,
        option(
            "--power-boundary",
            says="What that power covers. Default: gpu.",
            group=WITNESSES,
            metavar="gpu|gpu+cpu|node|rack|facility",
        ),
    ] = None
    idle: Annotated[
        str | None,
        option(
            "--idle",
            says="Watch the idle server's power for so long before the first and after the last "
            "point. Default: not.",
            group=WITNESSES,
            metavar="TIME",
        ),
    ] = None
