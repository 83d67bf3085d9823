"""Several runs in turns in front of the user: a line each, then what they say together."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from loadgen.cli.errors import INTERRUPTED, say, show_error
from loadgen.cli.live import DEFAULT_OUT, SCREEN, exit_code
from loadgen.cli.options import ResultOptions
from loadgen.cli.progress import Progress
from loadgen.errors import UsageError

if TYPE_CHECKING:
    from loadgen.campaign import Leg, Made
    from loadgen.model.comparison import ReviewedRun
    from loadgen.model.plan import Plan

Ready = tuple["Plan", Mapping[str, str]]
FORMATS = ("text", "md", "json")
MOST = 100


def require_repeatable(count: int, output: str | None) -> None:
    """Raises: UsageError for a number of runs or a format that can't be."""
    if not 2 <= count <= MOST:
        raise UsageError(f"`--repeat {count}`: 2 to {MOST} runs", "leave it away for a single run")
    if (output or SCREEN) not in FORMATS:
        raise UsageError(
            f"`--format {output}`: several runs are told as {', '.join(FORMATS)}",
            "each run's own folder has every format: `loadgen report RUN --format csv`",
        )


def conduct_repeats(ready: Sequence[Ready], count: int, options: ResultOptions) -> int:
    """Measures each plan `count` times in turns and tells spread or comparison; the exit code.

    A run that failed or was interrupted is the last one. Raises as `conduct`.
    """
    from loadgen import campaign
    from loadgen.cli.plans import new_run_id

    require_repeatable(count, options.format)
    folder, legs = _legs(ready, Path(options.out or DEFAULT_OUT))
    whole = len(legs) * count
    made: list[Made] = []
    code = 0
    watching = lambda: Progress(sys.stderr, quiet=options.quiet)  # noqa: E731
    try:
        for one in campaign.repeated(legs, count, new_run_id, watching):
            made.append(one)
            if not options.quiet:
                say(_line(one, whole, [leg.out.name for leg in legs]))
            code = exit_code(one.summary, one.recording, options.strict) or code
            if code and code != 7:
                break
    except KeyboardInterrupt:
        show_error("interrupted", f"the runs that were made are whole: {folder}")
        code = INTERRUPTED
    _tell(made, len(legs), folder, options.format or SCREEN)
    return code


def _legs(ready: Sequence[Ready], out: Path) -> tuple[Path, "list[Leg]"]:
    """The campaign's folder, and what is to be measured: `base` and `new` where there are two."""
    from loadgen.campaign import SIDES, Leg
    from loadgen.cli.fits import require_fit
    from loadgen.measure.preflight import prepare
    from loadgen.store.folder import create_run_folder, name_hint

    prepared = [(*prepare(plan, secrets), secrets) for plan, secrets in ready]
    for plan, observed, _ in prepared:
        warning = require_fit(plan, observed)
        if warning:
            say(warning)
    kind = "repeat" if len(ready) == 1 else "vs"
    folder = create_run_folder(out, f"{name_hint(prepared[0][0])}-{kind}")
    outs = [folder] if len(ready) == 1 else [folder / side for side in SIDES]
    legs = [
        Leg(plan, observed, secrets, where)
        for (plan, observed, secrets), where in zip(prepared, outs, strict=True)
    ]
    return folder, legs


def _line(one: "Made", whole: int, names: list[str]) -> str:
    """`run 2 of 6 · new · VALID · 3,156 tok/s at closed:32 · results/...`."""
    from loadgen.report.figures import format_figure

    rates = [(p.measures["out_tps"].value or 0.0, p.load) for p in one.summary.points]
    best = max(rates, default=None)
    facts = [f"run {one.number} of {whole}", *([names[one.leg]] if len(names) > 1 else [])]
    facts.append(one.summary.verdict.upper())
    if best is not None:
        facts.append(f"{format_figure(best[0])} tok/s at {best[1]}")
    return " · ".join([*facts, str(one.folder)])


def _tell(made: "list[Made]", legs: int, folder: Path, output: str) -> None:
    """What the runs say together, and the command that says it again."""
    from loadgen.analysis.comparison.compare import compare
    from loadgen.analysis.comparison.noise import noise_of
    from loadgen.cli.output import write_pieces
    from loadgen.cli.sides import written
    from loadgen.report.compare import COMPARE_OUTPUTS, NOISE_OUTPUTS

    sides = [[_reviewed(one) for one in made if one.leg == leg] for leg in range(legs)]
    pieces: Iterable[str]
    if legs == 1:
        if len(made) < 2:
            say("one run was made: nothing to hold it against")
            return
        pieces = written(output, NOISE_OUTPUTS, noise_of(sides[0]))
        again = f"loadgen compare --aa {folder}"
    else:
        if not all(sides):
            say("only one of both targets was measured: nothing to compare")
            return
        pieces = written(output, COMPARE_OUTPUTS, compare(sides[0], sides[1]))
        again = f"loadgen compare {folder / 'base'} {folder / 'new'}"
    write_pieces(pieces)
    if output == SCREEN:
        write_pieces(["\n", f"  {folder}/\n", f"  {again}\n"])


def _reviewed(one: "Made") -> "ReviewedRun":
    from loadgen.review import as_side

    return as_side(str(one.folder), one.summary, one.recording)
