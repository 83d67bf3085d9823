"""The options about witnesses: who else is asked while the load runs."""

from dataclasses import dataclass
from typing import Annotated

from loadgen.cli.option import WITNESSES, option


@dataclass(frozen=True, kw_only=True)
class WitnessOptions:
    """Where the server tells of itself."""

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
