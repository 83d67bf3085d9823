"""`loadgen demo`: the main job on the built-in server, with nothing to configure."""

from typing import Annotated

from loadgen.cli.option import RESULTS, option
from loadgen.cli.options import LoadOptions, ResultOptions, SharedOptions
from loadgen.cli.request_options import PromptOptions

EXAMPLES = """
loadgen demo
loadgen demo --profile gb200-node
loadgen demo --format md
"""
COUNTS = (1, 2, 4, 8, 16, 32)
POINT = "4s"
ISL, OSL = "256", "32"

Profile = Annotated[
    str | None,
    option(
        "--profile", says="Of the built-in server. Default: small.", group=RESULTS, metavar="NAME"
    ),
]
Out = Annotated[
    str | None,
    option(
        "--out",
        "-o",
        says="Where the run folder is made. Default: results.",
        group=RESULTS,
        metavar="DIR",
    ),
]
Format = Annotated[
    str | None,
    option(
        "--format",
        "-f",
        says="What to print. Default: text.",
        group=RESULTS,
        metavar="text|json|jsonl|csv|md",
    ),
]
Quiet = Annotated[bool, option("--quiet", "-q", says="No progress.", group=RESULTS)]


def demo(
    profile: Profile = None, out: Out = None, output: Format = None, quiet: Quiet = False
) -> int:
    """Sweep the built-in server: nothing to configure.

    Starts it, measures it at six concurrencies, prints the table and the verdict, keeps the
    report. Takes less than 45 s.
    """
    from loadgen.cli.plans import Order
    from loadgen.cli.sweep import carry_out

    shared = SharedOptions(
        prompts=PromptOptions(isl=ISL, osl=OSL),
        load=LoadOptions(duration=POINT),
        results=ResultOptions(out=out, format=output, quiet=quiet),
    )
    loads = tuple(f"closed:{count}" for count in COUNTS)
    return carry_out(Order("demo", "", loads, loads), f"mock:{profile or ''}", shared)
