"""`loadgen check`: requirements and regressions as exit code, for CI."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from loadgen.cli.option import RESULTS, option
from loadgen.errors import GateMissedError, ResultInvalidError, UsageError

if TYPE_CHECKING:
    from loadgen.model.comparison import CheckResult, GateResult
    from loadgen.specs.gates import Gate

GATES = "The gates"
EXAMPLES = """
loadgen check results/2026-11-30T22-10Z-my-model --slo 'ttft.p99<500ms' --slo 'error_frac<1%'
loadgen check RUN --slo 'goodput_rps(ttft<500ms,tpot<50ms)>=3 @c=8'
loadgen check results/new/ --base results/release/ --max-regress 3%
loadgen check RUN --slo 'out_tps>=3000' --junit gates.xml --github
"""

Run = Annotated[
    str,
    typer.Argument(
        metavar="RUN", help="A run folder, several parted by commas, or a folder that holds runs."
    ),
]


@dataclass(frozen=True, kw_only=True)
class GateOptions:
    """What is required."""

    slo: Annotated[
        list[str] | None,
        option(
            "--slo",
            says="A figure against a limit, as ttft.p99<500ms, out_tps>=3000, error_frac<1%; of "
            "every point, or of one: 'ttft.p99<500ms @c=8'; may be repeated.",
            group=GATES,
            metavar="EXPR",
        ),
    ] = None
    base: Annotated[
        str | None,
        option(
            "--base",
            says="Runs that RUN must not be slower than, named as RUN is.",
            group=GATES,
            metavar="RUN",
        ),
    ] = None
    max_regress: Annotated[
        list[str] | None,
        option(
            "--max-regress",
            says="How much slower counts as missed: 3% (of out_tps, and p50 of TTFT and TPOT), or "
            "ttft_s.p90=10% for a figure; may be repeated. Default: 3%.",
            group=GATES,
            metavar="SHARE",
        ),
    ] = None
    allow_unknown: Annotated[
        bool,
        option(
            "--allow-unknown",
            says="A gate that can't be told doesn't count as missed.",
            group=GATES,
        ),
    ] = False
    sure: Annotated[
        bool,
        option(
            "--sure",
            says="A gate is met only where its whole interval meets it, else it is unknown.",
            group=GATES,
        ),
    ] = False
    strict: Annotated[
        bool,
        option("--strict", says="Exit 7 when a run's verdict is invalid.", group=GATES),
    ] = False


@dataclass(frozen=True, kw_only=True)
class CheckOutputs:
    """Where it is told."""

    format: Annotated[
        str,
        option(
            "--format",
            "-f",
            says="What to print. Default: text.",
            group=RESULTS,
            metavar="text|md|json",
        ),
    ] = "text"
    out: Annotated[
        str | None,
        option(
            "--out",
            "-o",
            says="Write to this file instead of stdout.",
            group=RESULTS,
            metavar="FILE",
        ),
    ] = None
    junit: Annotated[
        str | None,
        option("--junit", says="Also write JUnit XML.", group=RESULTS, metavar="FILE"),
    ] = None
    github: Annotated[
        bool,
        option("--github", says="Also print annotations for GitHub's pages.", group=RESULTS),
    ] = False


def check(run: Run, *, gates: GateOptions, outputs: CheckOutputs) -> int:
    """Hold stored runs against requirements: exit 0 where all are met, 6 where one is missed.

    Each gate passes, fails or is unknown: too few requests for a percentile, not measured, a
    difference within the noise. Unknown counts as missed unless --allow-unknown.
    """
    from loadgen.analysis.comparison.gates import parse_gates
    from loadgen.cli.output import write_pieces
    from loadgen.cli.sides import written
    from loadgen.report.check import CHECK_OUTPUTS, github_lines, junit_xml

    if not gates.slo and not gates.base:
        raise UsageError("nothing is required", "give --slo EXPR, or --base RUN")
    if gates.max_regress and not gates.base:
        raise UsageError("`--max-regress` needs something to compare with", "give --base RUN")
    slos = parse_gates(gates.slo or ())
    result, invalid = _checked(run, slos, gates)
    write_pieces(written(outputs.format, CHECK_OUTPUTS, result), outputs.out)
    if outputs.junit is not None:
        write_pieces(junit_xml(result, allow_unknown=gates.allow_unknown), outputs.junit)
    if outputs.github:
        write_pieces(github_lines(result))
    if invalid and gates.strict:
        raise ResultInvalidError(f"the result is invalid: {'; '.join(invalid)}")
    if result.status == "fail" or (result.status == "unknown" and not gates.allow_unknown):
        raise GateMissedError(*_missed(result))
    return 0


def _checked(
    run: str, slos: "tuple[Gate, ...]", gates: GateOptions
) -> "tuple[CheckResult, list[str]]":
    """All results, and which runs are invalid with the reason."""
    from loadgen.analysis.comparison.gates import checked, gates_of
    from loadgen.cli.sides import runs_named
    from loadgen.review import review

    found: list[GateResult] = []
    invalid: list[str] = []
    for path in runs_named(run):
        summary, recording = review(path)
        found += gates_of(slos, str(path), summary, recording, sure=gates.sure)
        if summary.verdict == "invalid":
            invalid.append(f"{path}: {'; '.join(summary.verdict_reasons) or 'see its report'}")
    if gates.base is not None:
        found += _regressions(run, gates.base, gates.max_regress or ["3%"])
    return checked(found), invalid


def _regressions(run: str, base: str, allowed: list[str]) -> "list[GateResult]":
    from loadgen.analysis.comparison.gates import regressions
    from loadgen.cli.sides import known_figures, parse_margins, side_of

    margins = parse_margins(allowed, known_figures(), "--max-regress")
    return list(regressions(side_of(base), side_of(run), {"": 0.03} | margins))


def _missed(result: "CheckResult") -> tuple[str, str | None]:
    """What was missed, and what to do where nothing more than knowledge is missing."""
    failed = [gate for gate in result.gates if gate.status == "fail"]
    unknown = [gate for gate in result.gates if gate.status == "unknown"]
    named = ", ".join(
        f"`{gate.gate}` at {gate.point or 'all points'}" for gate in (failed or unknown)[:5]
    )
    if failed:
        return f"{len(failed)} of {len(result.gates)} gates missed: {named}", None
    return (
        f"{len(unknown)} of {len(result.gates)} gates can't be told: {named}",
        "measure more, or let them pass: --allow-unknown",
    )
