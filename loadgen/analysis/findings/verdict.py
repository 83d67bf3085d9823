"""What the findings amount to: any fatal makes a run invalid, any doubt suspect."""

from collections.abc import Iterable, Sequence

from loadgen.analysis.fidelity import GRADES, UNGRADED
from loadgen.model.summary import Finding, Verdict


def verdict_of(findings: Iterable[Finding]) -> Verdict:
    """`invalid`, `suspect` or `valid`."""
    severities = {finding.severity for finding in findings}
    if "fatal" in severities:
        return "invalid"
    return "suspect" if "doubt" in severities else "valid"


def reasons_of(findings: Sequence[Finding]) -> tuple[str, ...]:
    """Texts of the findings that made the verdict: the fatal ones, else the doubts."""
    deciding = [f for f in findings if f.severity == "fatal"]
    deciding = deciding or [f for f in findings if f.severity == "doubt"]
    return tuple(finding.text for finding in deciding)


def worst_grade(grades: Sequence[str]) -> str:
    """The worst client grade of all points; `ungraded` where none could be given."""
    known = [grade for grade in grades if grade in GRADES]
    return max(known, key=GRADES.index) if known else UNGRADED
