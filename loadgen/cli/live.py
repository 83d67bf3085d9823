"""A plan carried out in front of the user: preflight, progress, review, screen, exit code."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from loadgen.cli.errors import INTERRUPTED, say, show_error
from loadgen.cli.options import ResultOptions
from loadgen.cli.output import require_format, write_pieces
from loadgen.cli.progress import Progress
from loadgen.errors import LoadgenError, ResultInvalidError, RunFailedError

if TYPE_CHECKING:
    from loadgen.model.plan import Plan
    from loadgen.model.summary import Summary
    from loadgen.model.table import Recording

DEFAULT_OUT = "results"
SCREEN = "text"
"""The usual output: looking others up costs numpy, which the first request shouldn't wait for."""


def conduct(
    plan: "Plan",
    secrets: Mapping[str, str],
    options: ResultOptions,
    then: Callable[[Path], None] | None = None,
) -> int:
    """Measures the plan and shows the result, then does `then` with its folder; the exit code.

    Raises:
        EndpointError: the endpoint is unreachable or refuses before any load.
        UsageError: no prompt fits into the model's context.

    """
    from loadgen.cli.fits import require_fit
    from loadgen.measure import measure
    from loadgen.measure.preflight import prepare

    output = options.format or SCREEN
    if output != SCREEN:
        require_format(output)
    plan, observed = prepare(plan, secrets)
    warning = require_fit(plan, observed)
    if warning:
        say(warning)
    with Progress(sys.stderr, quiet=options.quiet) as progress:
        folder = measure(plan, Path(options.out or DEFAULT_OUT), secrets, observed, progress)
    try:
        code = show(folder, output, options.strict)
        if then is not None and code != INTERRUPTED:
            then(folder)
        return code
    except KeyboardInterrupt:
        show_error("interrupted", f"the records are whole: `loadgen report {folder}`")
        return INTERRUPTED


def show(folder: Path, output: str, strict: bool) -> int:
    """Reviews the folder, prints it, keeps its reports; the exit code of the run.

    A report that breaks loses neither the screen nor the others: it ends in exit code 1.
    """
    from loadgen.review import render, review, write_reports

    summary, recording = review(folder)
    steps: tuple[Callable[[], object], ...] = (
        lambda: write_reports(folder, summary, recording),
        lambda: write_pieces(render(summary, recording, output)),
    )
    broken = False
    for step in steps:
        try:
            step()
        except Exception as error:  # noqa: BLE001  one output must not lose the others
            broken = True
            show_error(
                f"a report of this run could not be made: {type(error).__name__}: {error}",
                f"the records are whole: `loadgen report {folder} --format json`",
            )
    return exit_code(summary, recording, strict) or (1 if broken else 0)


def exit_code(summary: "Summary", recording: "Recording", strict: bool) -> int:
    """130 interrupted, 5 failed, 7 invalid under `--strict`, else 0; tells why on stderr."""
    if recording.state != "complete":
        show_error("interrupted: what was measured until then is kept")
        return INTERRUPTED
    problem = _failure(summary, recording) or _invalidity(summary, strict)
    if problem is None:
        return 0
    show_error(str(problem), problem.hint)
    return problem.exit_code


def _failure(summary: "Summary", recording: "Recording") -> LoadgenError | None:
    """Why the run counts as failed; None where it does not."""
    from loadgen.report.doubts import failures, tally

    counts = tally(summary)
    limit = recording.plan.error_limit_frac
    if counts.ok == 0 or counts.failed_frac > limit:
        hint = f"the limit is {limit * 100:g} %: --error-limit SHARE" if counts.ok else None
        return RunFailedError(failures(counts), hint)
    table = recording.table
    if not (table.content_chars + table.reasoning_chars + table.tool_chars > 0).any():
        return RunFailedError(
            f"no token came: {counts.ok} answers ended well and all were empty",
            "ask the endpoint once by hand, with the same model and limits",
        )
    return None


def _invalidity(summary: "Summary", strict: bool) -> LoadgenError | None:
    """The verdict as an error, when it is invalid and that was to count."""
    if not strict or summary.verdict != "invalid":
        return None
    fatal = [finding.text for finding in summary.findings if finding.severity == "fatal"]
    return ResultInvalidError(f"the result is invalid: {'; '.join(fatal) or 'see the verdict'}")
