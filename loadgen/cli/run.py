"""`loadgen run`: one load point of any shape."""

from typing import Annotated

from loadgen.cli.option import LOAD, Target, option
from loadgen.cli.options import SharedOptions
from loadgen.cli.sweep import carry_out
from loadgen.errors import UsageError

EXAMPLES = """
loadgen run http://localhost:8000 --load closed:16 --duration 60s
loadgen run http://localhost:8000 -c 16 --requests 1000
loadgen run mock: --load poisson:rate=4/s --duration 30s
loadgen run mock: --load trace:speed=2 --workload mooncake:trace.jsonl
loadgen run http://node:8000 --workload chat:questions.jsonl --once --keep-text --format jsonl
"""
DEFAULT_LOAD = "closed:1"

Load = Annotated[
    str | None,
    option(
        "--load",
        "-l",
        says="closed:16, closed:16,think=2s, constant:rate=4/s, poisson:rate=4/s, "
        "gamma:rate=4/s,shape=0.5, trace:speed=1 (at recorded times). "
        f"Default: {DEFAULT_LOAD}.",
        group=LOAD,
        metavar="SHAPE",
    ),
]
Count = Annotated[
    int | None,
    option("--concurrency", "-c", says="The same as --load closed:N.", group=LOAD, metavar="N"),
]


def run(
    target: Target = None, load: Load = None, concurrency: Count = None, *, shared: SharedOptions
) -> int:
    """Measure an endpoint under one load, closed or open.

    Prints the verdict and the distribution of every metric, and keeps every record in a folder
    of its own.
    """
    from loadgen.cli.plans import Order

    if load is not None and concurrency is not None:
        raise UsageError("`--load` and `--concurrency` both name the load", "give one of them")
    named = load if concurrency is None else f"closed:{concurrency}"
    order = Order("run", "", None if named is None else (named,), (DEFAULT_LOAD,))
    return carry_out(order, target, shared)
