"""`loadgen report`: any output from stored records, of finished and of killed runs alike."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loadgen.cli.option import RESULTS, option
from loadgen.cli.options import MoneyOptions

if TYPE_CHECKING:
    from loadgen.model.summary import Summary
    from loadgen.model.table import Recording

EXAMPLES = """
loadgen report results/2026-11-30T22-10Z-my-model
loadgen report results/* --format csv
loadgen report results/2026-11-30T22-10Z-my-model --format jsonl --out requests.jsonl
loadgen report results/RUN-A results/RUN-B --format html --out both.html
loadgen report results/2026-11-30T22-10Z-my-model --gpus 8 --gpu-price 2.31
loadgen report results/2026-11-30T22-10Z-my-model --compat vllm
loadgen report results/RUN-A results/RUN-B --ladder --targets 30,50,100
loadgen report artifacts/profile_export.jsonl
"""

RUNS_HELP = "Run folders, or result files of vllm bench serve, aiperf or guidellm."
Runs = Annotated[list[str], typer.Argument(metavar="RUN", help=RUNS_HELP)]
Format = Annotated[
    str,
    option(
        "--format",
        "-f",
        says="What to print. Default: text.",
        group=RESULTS,
        metavar="text|json|jsonl|csv|md|html",
    ),
]
Out = Annotated[
    str | None,
    option(
        "--out", "-o", says="Write to this file instead of stdout.", group=RESULTS, metavar="FILE"
    ),
]
Compat = Annotated[
    str | None,
    option(
        "--compat",
        says="Recompute the same records by another tool's rules, under its names "
        "(docs/other-tools.md); as text, md, json or csv.",
        group=RESULTS,
        metavar="vllm|sglang|aiperf|guidellm|inferencex|mlperf-endpoints",
    ),
]
Ladder = Annotated[
    bool,
    option(
        "--ladder",
        says="Only the frontier and the ladder of all runs together, per GPU "
        "(docs/definitions.md#the-ladder); as text, md, csv or json.",
        group=RESULTS,
    ),
]
Targets = Annotated[
    str | None,
    option(
        "--targets",
        says="The ladder's speeds a user, tok/s; means --ladder. Default: 30,50,75,100,150,200.",
        group=RESULTS,
        metavar="LIST",
    ),
]


def report(
    runs: Runs,
    output: Format = "text",
    out: Out = None,
    compat: Compat = None,
    ladder: Ladder = False,
    targets: Targets = None,
    *,
    money: MoneyOptions,
) -> int:
    """Print what runs have recorded, in any format.

    Reads every run folder, also that of a killed run. Prices given here count instead of those
    of the run; nothing in its folder changes. As html, several runs are laid over the first; as
    text and md the frontier and the ladder of all of them follow.
    """
    from loadgen.cli.ladder import LADDER_BELOW, ladders_below
    from loadgen.cli.output import require_format, write_pieces
    from loadgen.cli.price_file import with_prices
    from loadgen.report import TOGETHER
    from loadgen.review import measured_run_of, render, render_together, review

    priced = with_prices(money)
    if compat is not None:
        from loadgen.cli.compat import compat_pieces

        write_pieces(compat_pieces(runs, compat, output, priced), out)
        return 0
    if ladder or targets is not None:
        from loadgen.cli.ladder import ladder_pieces

        write_pieces(ladder_pieces(runs, targets, output, priced), out)
        return 0
    require_format(output)

    def reviewed(run: str) -> "tuple[Summary, Recording]":
        return review(Path(run)) if priced is None else review(Path(run), priced)

    def pieces() -> Iterator[str]:
        if output in TOGETHER and len(runs) > 1:
            yield from render_together(map(reviewed, runs), output)
            return
        seen = []
        for number, run in enumerate(runs):
            if number and output in LADDER_BELOW:
                yield "\n"
            summary, recording = reviewed(run)
            yield from render(summary, recording, output)
            if len(runs) > 1 and output in LADDER_BELOW:
                seen.append(measured_run_of(summary, recording))
        if seen:
            yield "\n"
            yield from ladders_below(seen, output)

    write_pieces(pieces(), out)
    return 0
