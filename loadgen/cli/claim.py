"""`loadgen claim`: the sentence that a run supports, with all that must be said with it."""

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from loadgen.cli.option import RESULTS, option
from loadgen.cli.options import MoneyOptions
from loadgen.errors import GateMissedError, LoadgenError, ResultInvalidError, UsageError

if TYPE_CHECKING:
    from loadgen.model.measured import MeasuredRun, RunClaim

EXAMPLES = """
loadgen claim results/2026-11-30T22-10Z-my-model --system system.yaml
loadgen claim RUN --quantity per_stream_decode
loadgen claim RUN --quantity per_gpu_total --at c=32 --gpus 8
loadgen claim RUN --endpoint-only --format json
loadgen claim RUN --format yaml > mine.yaml
"""
CLAIM = "The claim"
WIDTH = 100

Run = Annotated[str, typer.Argument(metavar="RUN", help="A run folder.")]
Quantity = Annotated[
    str,
    option(
        "--quantity",
        says="What the figure is of. Default: aggregate_output.",
        group=CLAIM,
        metavar="aggregate_output|total|per_gpu_total|per_gpu_output|per_stream_decode"
        "|per_stream_e2e",
    ),
]
At = Annotated[
    str,
    option(
        "--at",
        says="The point, as c=8. Default: the best aggregate; of a stream, one user.",
        group=CLAIM,
        metavar="LOAD",
    ),
]
EndpointOnly = Annotated[
    bool,
    option(
        "--endpoint-only",
        says="About an endpoint whose GPUs, precision and engine nobody tells: the sentence "
        "says so instead of being refused.",
        group=CLAIM,
    ),
]
System = Annotated[
    str | None,
    option(
        "--system",
        says="What runs behind the endpoint, instead of what the run was told "
        "(docs/system-file.md).",
        group=CLAIM,
        metavar="FILE",
    ),
]
Format = Annotated[
    str,
    option(
        "--format",
        "-f",
        says="What to print; yaml is a claim file that `loadgen audit` takes. Default: text.",
        group=RESULTS,
        metavar="text|json|yaml",
    ),
]


def claim(
    run: Run,
    quantity: Quantity = "aggregate_output",
    at: At = "",
    endpoint_only: EndpointOnly = False,
    system: System = None,
    output: Format = "text",
    *,
    money: MoneyOptions,
) -> int:
    """Print the sentence that a run supports: the figure and all that must be said with it.

    Refused where the run can't support one: exit 7 where its result is invalid, 6 where a figure
    was not measured or something that belongs to the sentence isn't told.
    """
    import msgspec

    from loadgen.audit.sentence import claim_of
    from loadgen.cli.output import write_pieces
    from loadgen.cli.price_file import with_prices
    from loadgen.cli.system_file import with_system
    from loadgen.review import measured

    if output not in {"text", "json", "yaml"}:
        raise UsageError(f"unknown format `{output}`", "known: text, json, yaml")
    said = (with_prices(money), with_system(system, money.gpus))
    changes = [change for change in said if change is not None]
    seen = measured(Path(run), changes)
    told = claim_of(seen, quantity, at, endpoint_only)
    if output == "yaml" and told.sentence:
        write_pieces([_file(told, seen)])
    elif output == "json":
        write_pieces([msgspec.json.format(msgspec.json.encode(told)).decode() + "\n"])
    elif output == "text" and told.sentence:
        write_pieces(["\n".join(_page(told)) + "\n"])
    if told.refused:
        raise _refusal(told)
    return 0


def _page(told: "RunClaim") -> Iterator[str]:
    """The sentence, and what nobody told; 100 columns."""
    from loadgen.report.layout import paragraph

    yield from paragraph(told.sentence)
    if told.not_told:
        yield ""
        yield from paragraph(", ".join(told.not_told), "  not told, by weight: ")


def _file(told: "RunClaim", seen: "MeasuredRun") -> str:
    """The claim file, members that say nothing left out."""
    import msgspec
    import yaml

    from loadgen.audit.publish import claim_file

    members = msgspec.to_builtins(claim_file(told, seen), builtin_types=(datetime.date,))
    plain = {"schema": members.pop("schema"), **_said(members)}
    return yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=WIDTH)


def _said(value: Any) -> Any:
    """The value without members that are absent, empty or false."""
    if isinstance(value, dict):
        return {
            k: _said(v) for k, v in value.items() if v is not None and v is not False and v != ""
        }
    return [_said(one) for one in value] if isinstance(value, list | tuple) else value


def _refusal(told: "RunClaim") -> LoadgenError:
    """The error that says every reason and what would help."""
    kind = ResultInvalidError if told.refused[0].invalid else GateMissedError
    texts = "".join(f"\n  {refusal.text}" for refusal in told.refused)
    hints = list(dict.fromkeys(refusal.hint for refusal in told.refused if refusal.hint))
    return kind(f"`{told.run}` supports no such sentence:{texts}", "; ".join(hints))
