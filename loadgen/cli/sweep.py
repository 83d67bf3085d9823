"""`loadgen sweep`: the main job, and the way from options to a run that `run` shares."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from loadgen.cli.errors import say
from loadgen.cli.option import LOAD, Target, option
from loadgen.cli.options import SharedOptions
from loadgen.errors import UsageError

if TYPE_CHECKING:
    from loadgen.cli.like import Earlier
    from loadgen.cli.plans import Order
    from loadgen.model.plan import Plan

EXAMPLES = """
loadgen sweep http://localhost:8000
loadgen sweep mock: -c 1,2,4,8 --duration 10s
loadgen sweep http://node:8000 -c 1..64 --isl 8k --osl 512 --gpus 8 --gpu-price 2.31
loadgen sweep https://api.example.com -m my-model --api-key-env MY_KEY --max-rate 2/s
loadgen sweep --config results/2026-11-30T22-10Z-my-model/run.json --duration 60s
"""
DEFAULT_COUNTS = "1,2,4,8,16,32"

Counts = Annotated[
    str | None,
    option(
        "--concurrency",
        "-c",
        says=f"Users at once, a point each: 1,2,4,8 or 1..64. Default: {DEFAULT_COUNTS}.",
        group=LOAD,
        metavar="LIST",
    ),
]


Between = Annotated[
    str | None,
    option(
        "--between-points",
        says="Run before every point but the first, as to restart the server.",
        group=LOAD,
        metavar="CMD",
    ),
]
Rules = Annotated[
    str | None,
    option(
        "--rules",
        says="For recorded sessions. agentx: as published; mvp: its predecessor; smoke: a minute,"
        " for a first try. Default: agentx.",
        group=LOAD,
        metavar="NAME",
    ),
]


def sweep(
    target: Target = None,
    concurrency: Counts = None,
    between_points: Between = None,
    rules: Rules = None,
    *,
    shared: SharedOptions,
) -> int:
    """Measure an endpoint at rising concurrency: the main job.

    One user's speed stands beside what the system yields. Prints the verdict, single stream and
    best aggregate, the knee, and a table of latencies, and keeps every record in a folder of
    its own.
    """
    from loadgen.cli.plans import Order
    from loadgen.specs import parse_counts

    counts = None if concurrency is None else parse_counts(concurrency)
    if counts is not None and len(set(counts)) < len(counts):
        twice = next(count for count in counts if counts.count(count) > 1)
        raise UsageError(
            f"`-c {concurrency}`: {twice} is named twice",
            "name each concurrency once; to repeat a point, run it again",
        )
    loads = None if counts is None else _closed(counts)
    default = _closed(parse_counts(DEFAULT_COUNTS))
    order = Order("sweep", "", loads, default, rules=rules, between_points=between_points)
    return carry_out(order, target, shared)


def _closed(counts: tuple[int, ...]) -> tuple[str, ...]:
    """Closed loads of these concurrencies."""
    return tuple(f"closed:{count}" for count in counts)


def carry_out(
    order: "Order", target: str | None, shared: SharedOptions, like: "Earlier | None" = None
) -> int:
    """The exit code of a run as ordered, or 0 after what `--dry-run` prints.

    `like`: the earlier run whose plan this repeats.
    """
    from loadgen.cli.output import write_pieces
    from loadgen.cli.plans import plan_of, require_known_data
    from loadgen.cli.rules import reading_notice
    from loadgen.cli.targets import is_mock, require_no_bare_mock

    named = shared.endpoint.url or target or ""
    if shared.endpoint.url and target and shared.endpoint.url != target:
        raise UsageError("a target was named twice, as TARGET and as `--url`")
    require_no_bare_mock(named)
    plan = plan_of(replace(order, base_url="http://mock" if is_mock(named) else named), shared)
    _require_sense(plan, shared, like)
    notice = None if shared.results.quiet else reading_notice(plan)
    if notice:
        say(notice)
    require_known_data(plan)
    if shared.results.dry_run:
        from loadgen.cli.dry_run import dry_run_lines

        shown = named if is_mock(named) else plan.target.base_url
        write_pieces(dry_run_lines(plan, shown))
        return 0
    targets = [named or plan.target.base_url, *filter(None, [shared.repeat.vs])]
    with ExitStack() as stack:
        ready = [_ready(stack, order, each, plan.replay is not None, shared) for each in targets]
        if shared.repeat.asked:
            from loadgen.cli.repeats import conduct_repeats

            return conduct_repeats(ready, shared.repeat.count, shared.results)
        from loadgen.cli.live import conduct

        return conduct(*ready[0], shared.results, _then(like, shared))


def _require_sense(plan: "Plan", shared: SharedOptions, like: "Earlier | None") -> None:
    """Raises: UsageError for repetitions that can't be, InputError for data that changed."""
    if like is not None:
        from loadgen.cli.like import require_same

        require_same(like, plan)
        if shared.repeat.asked:
            raise UsageError(
                "`--like` makes one run and holds it against the earlier one",
                f"for several: --config {like.folder / 'run.json'} --repeat N",
            )
    if shared.repeat.asked:
        from loadgen.cli.repeats import require_repeatable
        from loadgen.cli.targets import require_no_bare_mock

        require_repeatable(shared.repeat.count, shared.results.format)
        require_no_bare_mock(shared.repeat.vs or "")


def _ready(
    stack: ExitStack, order: "Order", target: str, is_replay: bool, shared: SharedOptions
) -> "tuple[Plan, dict[str, str]]":
    """The plan for a target that can be reached as long as the stack is open, and its secrets."""
    from msgspec.structs import replace as changed

    from loadgen.cli.keys import secrets_of
    from loadgen.cli.plans import plan_of
    from loadgen.cli.targets import DEFAULT_PROFILE, LONG_PROFILE, mock_profile, reachable

    profile = LONG_PROFILE if is_replay else DEFAULT_PROFILE
    url = stack.enter_context(reachable(target, profile))
    plan = plan_of(replace(order, base_url=url), shared)
    plan = changed(plan, target=changed(plan.target, mock=mock_profile(target, profile)))
    return plan, secrets_of(url, plan, shared.endpoint.header or ())


def _then(like: "Earlier | None", shared: SharedOptions) -> "Callable[[Path], None] | None":
    """What is told after the run: whether it came out as the one that it repeats."""
    if like is None:
        return None
    from loadgen.cli.like import tell_repetition

    to_stdout = (shared.results.format or "text") in {"text", "md"}
    return lambda folder: tell_repetition(like, folder, to_stdout=to_stdout)
