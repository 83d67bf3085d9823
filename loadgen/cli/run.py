"""`loadgen run`: one load point of any shape."""

import os
from typing import TYPE_CHECKING, Annotated

from loadgen.cli.option import LOAD, TARGET_VARIABLES, Target, option
from loadgen.cli.options import SharedOptions
from loadgen.cli.sweep import carry_out
from loadgen.errors import UsageError

if TYPE_CHECKING:
    from loadgen.cli.plans import Name

EXAMPLES = """
loadgen run http://localhost:8000 --load closed:16 --duration 60s
loadgen run http://localhost:8000 -c 16 --requests 1000
loadgen run mock: --load poisson:rate=4/s --duration 30s
loadgen run mock: --load trace:speed=2 --workload mooncake:trace.jsonl
loadgen run --like results/2026-11-30T22-10Z-my-model     (any run: also of a sweep or a replay)
loadgen run http://old:8000 --vs http://new:8000 -c 16 --duration 60s --repeat 5
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


Like = Annotated[
    str | None,
    option(
        "--like",
        says="Repeat this run: the same plan, prompts and seed; and say whether its result came "
        "again. TARGET and the key may be others.",
        group=LOAD,
        metavar="RUN",
    ),
]


def run(
    target: Target = None,
    load: Load = None,
    concurrency: Count = None,
    like: Like = None,
    *,
    shared: SharedOptions,
) -> int:
    """Measure an endpoint under one load, closed or open.

    Prints the verdict and the distribution of every metric, and keeps every record in a folder
    of its own.
    """
    from loadgen.cli.plans import Order

    if load is not None and concurrency is not None:
        raise UsageError("`--load` and `--concurrency` both name the load", "give one of them")
    if like is not None:
        if load is not None or concurrency is not None:
            raise UsageError("`--like` repeats the loads of its run", "leave the load away")
        return _repeat(like, target, shared)
    named = load if concurrency is None else f"closed:{concurrency}"
    order = Order("run", "", None if named is None else (named,), (DEFAULT_LOAD,))
    return carry_out(order, target, shared)


def _repeat(like: str, target: str | None, shared: SharedOptions) -> int:
    """Carries an earlier plan out again."""
    from loadgen.cli.like import configured, load_earlier
    from loadgen.cli.plans import Order

    earlier = load_earlier(like)
    typed = None if target in map(os.environ.get, TARGET_VARIABLES) else target
    named = typed or shared.endpoint.url or earlier.target
    order = Order(_command(earlier.plan.command), "", None, (DEFAULT_LOAD,))
    return carry_out(order, named, configured(shared, earlier), earlier)


def _command(name: str) -> "Name":
    """The command whose rules the earlier plan went by."""
    return "replay" if name == "replay" else "sweep" if name in {"sweep", "demo"} else "run"
