"""`loadgen audit`: what a published claim can and can't mean."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loadgen.cli.option import RESULTS, option
from loadgen.errors import UsageError

if TYPE_CHECKING:
    from loadgen.model.claim import AuditResult, Claim

EXAMPLES = """
loadgen audit workloads/claims/dsv41-flash-gb300-848.yaml
loadgen audit CLAIM.yaml --format json
loadgen audit workloads/claims/*.yaml
"""

MARKS = {"ok": "ok", "note": "note", "warn": "warn", "contradiction": "FALSE"}
LABEL = 26

Files = Annotated[list[Path], typer.Argument(metavar="CLAIM.yaml...", show_default=False)]
Format = Annotated[
    str,
    option(
        "--format", "-f", says="What to print. Default: text.", group=RESULTS, metavar="text|json"
    ),
]


def audit(files: Files, output: Format = "text") -> int:
    """Examine published claims: arithmetic, physics, wording, and what they leave out.

    A claim is a YAML file: the number, what its source says of it, and further numbers
    (docs/howto-audit-a-claim.md).
    """
    import msgspec

    from loadgen.audit import audit as examine
    from loadgen.cli.output import write_pieces
    from loadgen.model.claim import Claim
    from loadgen.specs import load_yaml

    if output not in {"text", "json"}:
        raise UsageError(f"unknown format `{output}`", "known: text, json")
    claims = [load_yaml(path, Claim) for path in files]
    results = [examine(claim) for claim in claims]
    if output == "json":
        pieces = iter([msgspec.json.format(msgspec.json.encode(results)).decode() + "\n"])
    else:
        pieces = _sheets(claims, results)
    write_pieces(pieces)
    return 0


def _sheets(claims: "list[Claim]", results: "list[AuditResult]") -> Iterator[str]:
    for number, (claim, result) in enumerate(zip(claims, results, strict=True)):
        if number:
            yield "\n"
        yield "\n".join(_sheet(claim, result)) + "\n"


def _sheet(claim: "Claim", result: "AuditResult") -> Iterator[str]:
    """The page of one claim, 100 columns wide."""
    from loadgen.report.layout import flow, paragraph

    yield from paragraph(f'"{claim.text}"')
    yield ""
    yield from paragraph(result.verdict, _label("verdict"))
    scores = (
        f"disclosure {result.disclosure:.0f}/100 (grade {result.grade})",
        f"consistency: {result.consistency}",
        f"reproducibility {result.reproducibility}/4",
    )
    yield from flow(scores, _label("scores"), _label(""))
    for survives, label in ((True, "readings that survive"), (False, "readings that fall")):
        for reading in (r for r in result.readings if r.survives is survives):
            by = f" [{', '.join(reading.by)}]" if reading.by else ""
            needs = f"; needs {reading.needs}" if reading.needs else ""
            yield from paragraph(f"{reading.name}{by}: {reading.text}{needs}", _label(label))
            label = ""
    yield ""
    for ruling in result.rulings:
        head = f"  {ruling.rule:<4}{MARKS[ruling.verdict]:<7}"
        yield from paragraph(ruling.text, head)
    yield ""
    label = "to make it auditable"
    for rank, lack in enumerate(result.lacking, 1):
        yield from paragraph(f"{rank}. publish {lack.publish} ({lack.points:g})", _label(label))
        label = ""
    sources = [f"{source.id}: {source.locator}" for source in claim.sources]
    yield from flow(sources, _label("sources"), _label(""))


def _label(text: str) -> str:
    return f"  {text:<{LABEL - 2}}"
