"""A claim beside a run of ours: its figures are supported, contradicted, or untouched by it.

To contradict, a run must be of the same thing in every condition, valid, and still fall short. To
support, it must reach the figure with the same model on the same GPU, and differ in nothing else
that the claim tells. Everything between doesn't bear on the claim.
"""

from collections.abc import Sequence

from loadgen.audit.conditions import Condition, conditions_of
from loadgen.audit.counterparts import Counterpart, counterparts_of
from loadgen.model.claim import AgainstResult, Claim, Held
from loadgen.model.measured import MeasuredRun
from loadgen.units import sized

MARGIN_FRAC = 0.03
"""How far a rate may fall short: what runs differ by among themselves."""
NOT_MEASURED = "not measured"


def against(claim: Claim, run: MeasuredRun) -> AgainstResult:
    """Every figure of the claim beside the run's.

    Raises: InputError where a printed value is no number.
    """
    conditions = conditions_of(claim, run)
    figures = tuple(_held(one, conditions, run) for one in counterparts_of(claim, run))
    return AgainstResult(
        claim_id=claim.id,
        run=run.name,
        figures=tuple(dict.fromkeys(figures)),
        same=tuple(one.text for one in conditions if one.relation == "same"),
        differs=tuple(one.text for one in conditions if one.relation == "differs"),
        claim_silent=tuple(one.name for one in _open(conditions) if not one.said),
        run_silent=tuple(one.name for one in _open(conditions) if not one.measured and one.said),
        unlike=tuple(one.text for one in _open(conditions) if one.said and one.measured),
    )


def _open(conditions: Sequence[Condition]) -> list[Condition]:
    return [one for one in conditions if one.relation == "open"]


def _held(one: Counterpart, conditions: Sequence[Condition], run: MeasuredRun) -> Held:
    """The verdict on one figure."""

    def told(verdict: str, why: str) -> Held:
        ours = one.ours or NOT_MEASURED
        return Held(one.what, verdict, one.said_text, ours, why, one.src)  # type: ignore[arg-type]

    obstacle = one.absent or _obstacle(conditions, run)
    if obstacle:
        return told("does not bear", obstacle)
    share = one.reached_frac
    if share is None:
        return told("does not bear", "one of the two figures is no number above 0")
    far = _distance(one, share)
    open_ones = [one.name for one in _open(conditions)]
    doubts = "" if run.summary.verdict == "valid" else f"; the run is {run.summary.verdict}"
    if share >= 1.0 - MARGIN_FRAC:
        rest = f"; not known to be the same: {', '.join(open_ones)}" if open_ones else ""
        return told("supports", f"{far}, {one.beside}{doubts}{rest}")
    if open_ones:
        text = f"{far}, but these may explain it: {', '.join(open_ones)}"
        return told("does not bear", text)
    if doubts:
        return told("does not bear", f"{far}{doubts}: a run with doubts contradicts nobody")
    return told("contradicts", f"{far}, with every condition the same, {one.beside}")


def _obstacle(conditions: Sequence[Condition], run: MeasuredRun) -> str:
    """Why no figure of the run can stand beside the claim's; empty where they can."""
    if run.summary.verdict == "invalid":
        return f"the run is invalid: {'; '.join(run.summary.verdict_reasons)}"
    differs = [one.name for one in conditions if one.relation == "differs"]
    if differs:
        return f"not the same {', '.join(differs)}"
    unknown = [one.name for one in _open(conditions) if one.essential]
    if unknown:
        return f"not told whether it is the same {', '.join(unknown)}"
    if run.simulated:
        return "the run is of a simulation: it tells of no real system"
    return ""


def _distance(one: Counterpart, share: float) -> str:
    """Ours over theirs, in words."""
    ratio = 1.0 / share if one.lower_is_better else share
    return f"ours is {sized(ratio)} times the claimed, at those ends of both that favour it"
