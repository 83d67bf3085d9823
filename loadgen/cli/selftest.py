"""`loadgen selftest`: this machine's measuring error, against what a server logged as sent."""

import math
from typing import Annotated

from loadgen.cli.option import LOAD, RESULTS, option
from loadgen.errors import UsageError

EXAMPLES = """
loadgen selftest
loadgen selftest --streams 256 --rate 100 --duration 10s
"""

Streams = Annotated[
    int, option("--streams", says="Streams at once. Default: 256.", group=LOAD, metavar="N")
]
Rate = Annotated[
    float,
    option("--rate", says="Events a second and stream. Default: 100.", group=LOAD, metavar="N"),
]
Duration = Annotated[
    str, option("--duration", says="How long. Default: 5s.", group=LOAD, metavar="TIME")
]
Format = Annotated[
    str,
    option(
        "--format", "-f", says="What to print. Default: text.", group=RESULTS, metavar="text|json"
    ),
]


def selftest(
    streams: Streams = 256, rate: Rate = 100.0, duration: Duration = "5s", output: Format = "text"
) -> int:
    """Measure how wrong this machine's own stamps are.

    A server of ours logs what it sent; the difference to what was seen is the error.
    """
    from loadgen.cli.output import write_pieces
    from loadgen.measure.selftest import selftest as examine
    from loadgen.specs import parse_duration_ns

    if streams < 1:
        raise UsageError(f"`--streams {streams}`: at least 1")
    if not 0 < rate < math.inf:
        raise UsageError(f"`--rate {rate:g}`: events a second, above 0")
    length_ns = parse_duration_ns(duration)
    if length_ns == 0:
        raise UsageError(f"`--duration {duration}`: longer than nothing")
    if output not in {"text", "json"}:
        raise UsageError(f"unknown format `{output}`", "known: text, json")
    write_pieces(examine(streams, rate, length_ns, output))
    return 0
