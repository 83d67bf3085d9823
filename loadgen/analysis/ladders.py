"""The frontier and the ladder of several runs together, per GPU, by p50 and slow-tail p90.

One curve goes through the points of all runs: its value between two points of unlike runs is of
no run, so the neighbours are named, and it has a price only where theirs is one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from msgspec import structs

from loadgen.analysis.frontier import TARGETS_TPS, Knot, frontier, ladder, steffen
from loadgen.model.ladder import FrontierPoint, Ladder, LadderRow, LadderRun, Ladders
from loadgen.model.measured import MeasuredRun
from loadgen.model.summary import PointSummary, ReplaySummary
from loadgen.physics import usd_per_mtok

STATISTICS = ("p50", "p90")
TOTAL = "total_tps"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


Ends = tuple[float | None, float | None]
NO_ENDS: Ends = (None, None)


@dataclass(frozen=True, slots=True)
class _Rates:
    """One point's user speed by statistic, and its rates over all GPUs."""

    user_tps: dict[str, float | None]
    total_tps: float | None
    output_tps: float | None
    ends: dict[str, Ends] = field(default_factory=dict)
    """Intervals of p50, p90 and total; absent where there are none."""


def ladders_of(runs: Sequence[MeasuredRun], targets: Sequence[float] = TARGETS_TPS) -> Ladders:
    """Both ladders of all runs that have figures per GPU; the others are named with the reason."""
    named = list(zip(_letters(len(runs)), runs, strict=True))
    left_out = [f"{letter} {run.name}: {why}" for letter, run in named if (why := _useless(run))]
    made = []
    for statistic in STATISTICS:
        points = [point for letter, run in named for point in _points(letter, run, statistic)]
        made.append(_ladder(points, dict(named), statistic, targets))
    return Ladders(
        runs=tuple(_described(letter, run) for letter, run in named),
        ladders=tuple(made),
        left_out=(*left_out, *_without(named)),
        unlike=tuple(_unlike(runs)),
    )


def _letters(n: int) -> list[str]:
    """A, B ... Z, AA, AB ..."""
    return [
        (LETTERS[at // 26 - 1] if at >= len(LETTERS) else "") + LETTERS[at % 26] for at in range(n)
    ]


def _useless(run: MeasuredRun) -> str:
    """Why nothing of a run can be used; empty where it can."""
    if run.summary.verdict == "invalid":
        return f"its result is invalid: {'; '.join(run.summary.verdict_reasons)}"
    return "" if run.gpus else "how many GPUs served isn't told (--gpus N, or --system FILE)"


def _described(letter: str, run: MeasuredRun) -> LadderRun:
    kind = ", ".join(run.gpu_names)
    count = "" if run.gpus is None else f"{run.gpus:g}"
    return LadderRun(
        letter=letter,
        run=run.name,
        model=run.models[-1] if run.models else "",
        engine=f"{run.engine} {run.engine_version}".strip(),
        precision=run.precision,
        gpus=f"{count} x {kind}" if count and kind else f"{count} GPUs" if count else "",
        usd_per_gpu_h=run.usd_per_gpu_h,
        tier=run.tier,
    )


def _points(letter: str, run: MeasuredRun, statistic: str) -> Iterator[FrontierPoint]:
    """The run's points that bear every figure needed."""
    if not run.gpus or _useless(run):
        return
    for point, rates in _rates(run):
        user = rates.user_tps[statistic]
        if user is None or rates.total_tps is None:
            continue
        total = rates.total_tps / run.gpus
        low, high = (None if v is None else v / run.gpus for v in rates.ends.get(TOTAL, NO_ENDS))
        user_low, user_high = rates.ends.get(statistic, NO_ENDS)
        yield FrontierPoint(
            name=f"{letter} {_load(point)}",
            letter=letter,
            user_tps=user,
            total_tps=total,
            output_tps=None if rates.output_tps is None else rates.output_tps / run.gpus,
            usd_per_1m=_usd(run, total),
            user_low_tps=user_low,
            user_high_tps=user_high,
            total_low_tps=low,
            total_high_tps=high,
        )


def _rates(run: MeasuredRun) -> Iterator[tuple[PointSummary, _Rates]]:
    replays = {replay.point: replay for replay in run.summary.replays}
    for point in run.summary.points:
        replay = replays.get(point.index)
        yield point, _measured(point) if replay is None else _replayed(replay)


def _measured(point: PointSummary) -> _Rates:
    def value(key: str) -> float | None:
        measure = point.measures.get(key)
        return None if measure is None else measure.value

    keys = {statistic: f"intvty_tps.{statistic}" for statistic in STATISTICS}
    users = {statistic: value(key) for statistic, key in keys.items()}
    told = {name: point.measures.get(key) for name, key in (keys | {TOTAL: TOTAL}).items()}
    ends = {name: (measure.low, measure.high) for name, measure in told.items() if measure}
    return _Rates(users, value(TOTAL), value("out_tps"), ends)


def _replayed(replay: ReplaySummary) -> _Rates:
    """A replay's points stand on its own figures."""
    users = {statistic: replay.intvty_tps.get(statistic) for statistic in STATISTICS}
    return _Rates(users, replay.total_tps, replay.output_tps)


def _ladder(
    points: Sequence[FrontierPoint],
    runs: dict[str, MeasuredRun],
    statistic: str,
    targets: Sequence[float],
) -> Ladder:
    knots = [Knot(point.user_tps, point.total_tps, point.name) for point in points]
    edge = frontier(knots)
    by_name = {point.name: point for point in points}
    outputs = [by_name[knot.name].output_tps for knot in edge]
    told = [
        Knot(knot.x, output, knot.name)
        for knot, output in zip(edge, outputs, strict=True)
        if output is not None
    ]
    whole = len(told) == len(edge)
    rows = tuple(
        LadderRow(
            target_tps=rung.target,
            total_tps=rung.interpolated,
            output_tps=steffen(told, rung.target) if whole else None,
            usd_per_1m=_one_price(rung.between, rung.interpolated, by_name, runs),
            between=rung.between,
            measured=None if rung.measured is None else by_name[rung.measured.name],
            reason=rung.reason,
        )
        for rung in ladder(knots, targets)
    )
    return Ladder(statistic, tuple(_placed(points, edge)), rows)


def _placed(points: Sequence[FrontierPoint], edge: Sequence[Knot]) -> Iterator[FrontierPoint]:
    """Every point with what beats it."""
    on_edge = {knot.name for knot in edge}
    by_name = {point.name: point for point in points}
    for point in points:
        if point.name in on_edge:
            yield point
            continue
        knot = next(k for k in edge if k.x >= point.user_tps and k.y >= point.total_tps)
        better = by_name[knot.name]
        yield structs.replace(point, beaten_by=better.name, tied=not _clearly(better, point))


def _clearly(better: FrontierPoint, point: FrontierPoint) -> bool:
    """Whether the intervals lie apart in both; a value without one counts as exact."""

    def least(low: float | None, value: float) -> float:
        return value if low is None else low

    apart_users = least(better.user_low_tps, better.user_tps) > least(
        point.user_high_tps, point.user_tps
    )
    apart_totals = least(better.total_low_tps, better.total_tps) > least(
        point.total_high_tps, point.total_tps
    )
    return apart_users and apart_totals


def _one_price(
    between: Sequence[str],
    tps: float | None,
    by_name: dict[str, FrontierPoint],
    runs: dict[str, MeasuredRun],
) -> float | None:
    """Dollars a million tokens where all neighbours have one price."""
    prices = {runs[by_name[name].letter].usd_per_gpu_h for name in between}
    price = prices.pop() if len(prices) == 1 else None
    return None if price is None or not tps else usd_per_mtok(price, tps)


def _usd(run: MeasuredRun, tps: float) -> float | None:
    return None if run.usd_per_gpu_h is None or not tps else usd_per_mtok(run.usd_per_gpu_h, tps)


def _without(named: Sequence[tuple[str, MeasuredRun]]) -> Iterator[str]:
    """Points that lack a figure, by run."""
    for letter, run in named:
        if _useless(run):
            continue
        for statistic in STATISTICS:
            lacking = [
                _load(point)
                for point, rates in _rates(run)
                if rates.user_tps[statistic] is None or rates.total_tps is None
            ]
            if lacking:
                where = ", ".join(lacking)
                yield f"{letter} {where}: no {statistic} speed a user or no token rate was measured"


def _unlike(runs: Sequence[MeasuredRun]) -> Iterator[str]:
    """Differences that make points ones of unlike things; engine and precision are compared."""
    for name, told in (
        ("model", [run.models[-1] if run.models else "not told" for run in runs]),
        ("data", [_data(run) for run in runs]),
        ("verdict", [run.summary.verdict for run in runs]),
    ):
        if len(set(told)) > 1:
            pairs = zip(_letters(len(runs)), told, strict=True)
            yield f"{name}: {'; '.join(f'{letter} {text}' for letter, text in pairs)}"


def _data(run: MeasuredRun) -> str:
    field = run.fields.get("data set")
    return field.observed if field is not None and field.observed else "not told"


def _load(point: PointSummary) -> str:
    return point.load if point.concurrency is None else f"c={point.concurrency}"
