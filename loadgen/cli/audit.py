"""`loadgen audit`: what a published claim can and can't mean."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loadgen.cli.option import RESULTS, option
from loadgen.errors import UsageError

if TYPE_CHECKING:
    from loadgen.model.claim import AgainstResult, AuditResult, Claim

EXAMPLES = """
loadgen audit workloads/claims/dsv41-flash-gb300-848.yaml
loadgen audit CLAIM.yaml --format json
loadgen audit workloads/claims/*.yaml
loadgen audit CLAIM.yaml --against results/2026-11-30T22-10Z-my-model --system system.yaml
"""

MARKS = {"ok": "ok", "note": "note", "warn": "warn", "contradiction": "FALSE"}
LABEL = 26
AGAINST = "A run of your own"

Files = Annotated[list[Path], typer.Argument(metavar="CLAIM.yaml...", show_default=False)]
Format = Annotated[
    str,
    option(
        "--format", "-f", says="What to print. Default: text.", group=RESULTS, metavar="text|json"
    ),
]


@dataclass(frozen=True, kw_only=True)
class AgainstOptions:
    """Which run the claims are held against, and what is told of it."""

    against: Annotated[
        str | None,
        option(
            "--against",
            says="A run of your own: each figure is supported, contradicted, or not touched by it.",
            group=AGAINST,
            metavar="RUN",
        ),
    ] = None
    system: Annotated[
        str | None,
        option(
            "--system",
            says="What ran behind the run's endpoint, instead of what the run was told.",
            group=AGAINST,
            metavar="FILE",
        ),
    ] = None
    gpus: Annotated[
        int | None,
        option("--gpus", says="GPUs of the run, for figures per GPU.", group=AGAINST, metavar="N"),
    ] = None


def audit(files: Files, output: Format = "text", *, held: AgainstOptions) -> int:
    """Examine published claims: arithmetic, physics, wording, and what they leave out.

    A claim is a YAML file: the number, what its source says of it, and further numbers
    (docs/howto-audit-a-claim.md). With --against, each of its figures stands beside a run's.
    """
    import msgspec

    from loadgen.audit import audit as examine
    from loadgen.cli.output import write_pieces
    from loadgen.model.claim import Claim
    from loadgen.specs import load_yaml

    if output not in {"text", "json"}:
        raise UsageError(f"unknown format `{output}`", "known: text, json")
    if held.against is None and (held.system or held.gpus):
        raise UsageError("`--system` and `--gpus` are of a run", "name it: --against RUN")
    claims = [load_yaml(path, Claim) for path in files]
    results = [examine(claim) for claim in claims]
    beside = [_against(claim, held) for claim in claims] if held.against else []
    if output == "json":
        pairs = [{"audit": r, "against": b} for r, b in zip(results, beside, strict=bool(beside))]
        told = msgspec.json.encode(pairs if beside else results)
        pieces = iter([msgspec.json.format(told).decode() + "\n"])
    else:
        pieces = _sheets(claims, results, beside)
    write_pieces(pieces)
    return 0


def _against(claim: "Claim", held: AgainstOptions) -> "AgainstResult":
    """The claim beside the run, whose ladder is read at the claim's own targets."""
    from loadgen.audit.against import against
    from loadgen.cli.options import MoneyOptions
    from loadgen.cli.price_file import with_prices
    from loadgen.cli.system_file import with_system
    from loadgen.model.claim import Ladder
    from loadgen.review import measured

    ladders = [said for said in claim.statements if isinstance(said, Ladder)]
    targets = [row.per_user_tps for said in ladders for row in said.rows]
    told = (with_prices(MoneyOptions(gpus=held.gpus)), with_system(held.system, held.gpus))
    changes = [change for change in told if change is not None]
    return against(claim, measured(Path(held.against or ""), changes, targets))


def _sheets(
    claims: "list[Claim]", results: "list[AuditResult]", beside: "list[AgainstResult]"
) -> Iterator[str]:
    from loadgen.report.against import against_lines

    for number, (claim, result) in enumerate(zip(claims, results, strict=True)):
        if number:
            yield "\n"
        yield "\n".join(_sheet(claim, result)) + "\n"
        if beside:
            yield "\n" + "\n".join(against_lines(beside[number])) + "\n"


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
