"""Whether the prompts fit what the model holds, told before the load and not by failures in it."""

from loadgen.errors import UsageError
from loadgen.model.observed import Observed
from loadgen.model.plan import Plan
from loadgen.specs import parse_tokens
from loadgen.workload import open_workload
from loadgen.workload.sessions import Overlong


def require_fit(plan: Plan, observed: Observed) -> str | None:
    """A warning where some prompts and their answers are longer than the context, else None.

    None too where nobody told the context's length (`--no-preflight`).

    Raises:
        UsageError: not one prompt fits.

    """
    limit_tok = observed.max_model_len
    if limit_tok is None or not plan.preflight:
        return None
    added_tok = 0 if plan.workload.isl_is_wire else plan.token_fit.overhead_tok or 0
    found = _overlong(plan, limit_tok - added_tok)
    if not found.over:
        return None
    guessed = " by estimate" if found.estimated else ""
    longest = f"{found.longest_tok + added_tok:,}{guessed}"
    if found.over < found.of:
        what = "prompts don't fit with their answers" if plan.replay is None else "traces don't fit"
        cure = "" if plan.replay is None else f"; --max-context {limit_tok} leaves them out"
        return (
            f"warning: {found.over:,} of {found.of:,} {what} into "
            f"the model's {limit_tok:,} tokens (the longest takes {longest}); they will fail{cure}"
        )
    cure = "--isl and --osl" if plan.replay is None else "other --traces"
    raise UsageError(
        f"no prompt fits: prompt and answer take up to {longest} tokens, the model holds "
        f"{limit_tok:,}",
        f"ask for less with {cure}; --no-preflight sends them all the same",
    )


def _overlong(plan: Plan, limit_tok: int) -> Overlong:
    """How many prompts don't fit; plain lengths are added up, not drawn."""
    workload = plan.workload
    if workload.format == "synthetic" and workload.turns == "1":
        try:
            need_tok = parse_tokens(workload.isl) + parse_tokens(workload.osl)
        except UsageError:  # a distribution
            return open_workload(plan).rows_over(limit_tok)
        return Overlong(int(need_tok > limit_tok), 1, need_tok, estimated=False)
    return open_workload(plan).rows_over(limit_tok)
