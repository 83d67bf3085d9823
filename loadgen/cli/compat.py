"""`loadgen report --compat`: which rule set and which output, or why not."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from loadgen.errors import UsageError
from loadgen.model.plan import Plan


def compat_pieces(
    runs: Sequence[str], rules: str, output: str, priced: Callable[[Plan], Plan] | None
) -> Iterable[str]:
    """The runs by the rules of that name, in pieces of text.

    Raises:
        UsageError: no rule set or no output of that name.
        InputError: a run can't be read.

    """
    from loadgen.analysis.compat import RULES
    from loadgen.report.compat import COMPAT_OUTPUTS
    from loadgen.review import by_rules

    if rules not in RULES:
        raise UsageError(f"unknown rules `{rules}`", f"known: {', '.join(RULES)}")
    if output not in COMPAT_OUTPUTS:
        raise UsageError(
            f"`--compat` has no format `{output}`", f"known: {', '.join(COMPAT_OUTPUTS)}"
        )
    tables = [by_rules(Path(run), rules, priced) for run in runs]
    return COMPAT_OUTPUTS[output](tables, runs)
