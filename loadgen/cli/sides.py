"""Run folders as users name them: one, several parted by commas, or a folder that holds some."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from loadgen.errors import InputError, UsageError

if TYPE_CHECKING:
    from loadgen.model.comparison import ReviewedRun

T = TypeVar("T")
RUN_FILE = "run.json"


def runs_named(text: str) -> list[Path]:
    """The runs of one side: `RUN`, `RUN,RUN`, or a folder of runs, in order of their names.

    Raises:
        InputError: a folder that is no run and holds none.

    """
    found: list[Path] = []
    whole = Path(text)
    for path in [whole] if whole.exists() else map(Path, filter(None, text.split(","))):
        found += _runs_in(path)
    return found


def _runs_in(path: Path) -> list[Path]:
    """The path itself where it may be a run, else the runs right below it."""
    if not path.is_dir() or (path / RUN_FILE).exists():
        return [path]
    below = sorted(child.parent for child in path.glob(f"*/{RUN_FILE}"))
    if not below:
        raise InputError(
            f"`{path}` is no run: it has no {RUN_FILE} and no folder below it has one",
            "give the folder that the run printed at its end, or one that holds such folders",
        )
    return below


def side_of(text: str) -> "list[ReviewedRun]":
    """The reviewed runs of one side. Raises: InputError, as `runs_named` and `review`."""
    from loadgen.review import reviewed

    return [reviewed(path) for path in runs_named(text)]


def parse_margins(said: Sequence[str], known: Iterable[str], option: str) -> dict[str, float]:
    """`3%`, `ttft_s=10%`, `ttft_s.p90=10%` by name; a bare one under an empty name.

    Raises:
        UsageError: no share above 0, or no such figure.

    """
    from loadgen.cli.plans import parse_share

    found: dict[str, float] = {}
    for text in said:
        name, equals, share = text.rpartition("=")
        if equals:
            require_figures([name], known, option)
        found[name.strip()] = parse_share(share)
        if found[name.strip()] <= 0:
            raise UsageError(f"`{option} {text}`: a share above 0", "write it as `3%`")
    return found


def require_figures(
    names: Sequence[str], known: Iterable[str], option: str, *, metrics: bool = True
) -> None:
    """Raises: UsageError for a name that is no figure (`ttft_s.p90`), nor one of `metrics`."""
    from loadgen.specs.quantities import near_match

    figures = list(known)
    if metrics:
        figures += sorted({figure.partition(".")[0] for figure in figures})
    for name in names:
        if name not in figures:
            near = near_match(name, figures)
            raise UsageError(
                f"`{option} {name}`: no figure bears this name",
                f"{near}docs/definitions.md lists them; write metric.stat, as `ttft_s.p90`",
            )


def known_figures() -> list[str]:
    """Every `metric.stat`, and metrics that are one number a point."""
    from loadgen.analysis import METRICS

    return [
        metric.name if stat == "value" else f"{metric.name}.{stat}"
        for metric in METRICS
        for stat in metric.stats
    ]


def written(
    output: str, outputs: "Mapping[str, Callable[[T], Iterable[str]]]", told: T
) -> Iterable[str]:
    """The pieces of one output. Raises: UsageError for a format that there isn't."""
    if output not in outputs:
        raise UsageError(f"unknown format `{output}`", f"known: {', '.join(outputs)}")
    return outputs[output](told)
