"""`loadgen compare`: faster, slower, equivalent, size unclear or inconclusive, per figure."""

from typing import Annotated

import typer

from loadgen.cli.option import RESULTS, option
from loadgen.errors import GateMissedError, InputError, UsageError

EXAMPLES = """
loadgen compare results/2026-11-30T22-10Z-before results/2026-11-30T22-40Z-after
loadgen compare results/before/ results/after/        (folders of several runs each)
loadgen compare results/a,results/b results/c,results/d --margin 2% --margin ttft_s=15%
loadgen compare results/before/ results/after/ --fail-on slower --format md
loadgen compare --aa results/before/                  (how much runs differ by themselves)
"""

Runs = Annotated[
    list[str],
    typer.Argument(
        metavar="BASE NEW",
        help="Each a run folder, several parted by commas, or a folder that holds runs.",
    ),
]
Metric = Annotated[
    list[str] | None,
    option(
        "--metric",
        says="Compare this figure, as ttft_s.p99; may be repeated. Default: output rate, and p50 "
        "and p90 of TTFT, TPOT and e2e.",
        group=RESULTS,
        metavar="NAME",
    ),
]
Margin = Annotated[
    list[str] | None,
    option(
        "--margin",
        says="Differences up to this count as none: 2%, or ttft_s=15% for one; may be repeated. "
        "Default: rates 3%, times 5%, times to first token 10%.",
        group=RESULTS,
        metavar="SHARE",
    ),
]
Noise = Annotated[
    bool,
    option(
        "--aa",
        says="All runs named are of one thing: show how much they differ by themselves.",
        group=RESULTS,
    ),
]
FailOn = Annotated[
    str | None,
    option(
        "--fail-on",
        says="Exit 6 where any figure is slower, or inconclusive too.",
        group=RESULTS,
        metavar="slower|inconclusive",
    ),
]
Format = Annotated[
    str,
    option(
        "--format",
        "-f",
        says="What to print. Default: text.",
        group=RESULTS,
        metavar="text|md|json",
    ),
]
Out = Annotated[
    str | None,
    option(
        "--out", "-o", says="Write to this file instead of stdout.", group=RESULTS, metavar="FILE"
    ),
]
FAILING = {
    None: frozenset[str](),
    "slower": frozenset({"slower"}),
    "inconclusive": frozenset({"slower", "inconclusive"}),
}


def compare(
    runs: Runs,
    metric: Metric = None,
    margin: Margin = None,
    aa: Noise = False,
    fail_on: FailOn = None,
    output: Format = "text",
    out: Out = None,
) -> int:
    """Say what changed from BASE to NEW, and whether it is more than noise.

    Points are matched by their load. With several runs a side the spread from run to run decides,
    with one run a side its own blocks do. Runs that are unlike (other prompts, other shares of
    errors or cached tokens, not steady, an unreliable client) get no verdict.
    """
    from loadgen.analysis.comparison.compare import KEYS
    from loadgen.cli.sides import known_figures, parse_margins, require_figures

    if fail_on not in FAILING:
        raise UsageError(f"`--fail-on {fail_on}`: slower or inconclusive")
    known = known_figures()
    margins = parse_margins(margin or (), known, "--margin")
    require_figures(metric or (), known, "--metric", metrics=False)
    keys = tuple(metric or ()) or KEYS
    if aa:
        return _noise(runs, keys, margins, output, out)
    if len(runs) != 2:
        raise UsageError(
            f"BASE and NEW were expected, {len(runs)} were named",
            "join the runs of one side by commas, or name a folder that holds them",
        )
    return _compare(runs, keys, margins, FAILING[fail_on], output, out)


def _compare(
    runs: list[str],
    keys: tuple[str, ...],
    margins: dict[str, float],
    failing: frozenset[str],
    output: str,
    out: str | None,
) -> int:
    from loadgen.analysis.comparison.compare import compare as compared
    from loadgen.cli.output import write_pieces
    from loadgen.cli.sides import side_of, written
    from loadgen.report.compare import COMPARE_OUTPUTS

    base, new = map(side_of, runs)
    comparison = compared(base, new, keys, margins)
    pieces = written(output, COMPARE_OUTPUTS, comparison)
    if not comparison.figures:
        loads = [
            sorted({p.load for run in side for p in run.summary.points}) for side in (base, new)
        ]
        names = [", ".join(side) or "none" for side in loads]
        raise InputError(
            f"no point that both sides have: base {names[0]}; new {names[1]}",
            "measure both with the same loads: `loadgen run --like RUN` repeats a plan",
        )
    write_pieces(pieces, out)
    missed = [row for row in comparison.figures if row.verdict in failing]
    if missed:
        names = [f"{row.key} at {row.point or 'all points'}: {row.verdict}" for row in missed[:5]]
        raise GateMissedError(f"{len(missed)} figures: {'; '.join(names)}")
    return 0


def _noise(
    runs: list[str],
    keys: tuple[str, ...],
    margins: dict[str, float],
    output: str,
    out: str | None,
) -> int:
    from loadgen.analysis.comparison.noise import noise_of
    from loadgen.cli.output import write_pieces
    from loadgen.cli.sides import side_of, written
    from loadgen.report.compare import NOISE_OUTPUTS

    found = [run for text in runs for run in side_of(text)]
    if len(found) < 2:
        raise UsageError(
            f"`--aa` needs at least 2 runs of one plan, {len(found)} was named",
            "make some: `loadgen sweep ... --repeat 5`",
        )
    write_pieces(written(output, NOISE_OUTPUTS, noise_of(found, keys, margins)), out)
    return 0
