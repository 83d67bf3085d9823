"""The answer in seven rows: the six values that a comparable benchmark discloses, and the knee."""

from dataclasses import dataclass

from loadgen.model.summary import Measure, PointSummary
from loadgen.report.figures import format_figure, format_percent, format_usd
from loadgen.report.rows import (
    KEPT,
    OUT,
    USD_OUT,
    USD_TOTAL,
    USER_P50,
    Sheet,
    figure_of,
    measure_of,
    point_at,
    point_label,
)

NOT_MEASURED = "not measured"
ENERGY_HINT = "give --gpu-metrics-url (DCGM), or loadgen[gpu] on the node"


@dataclass(frozen=True, slots=True)
class Answer:
    """One row: what it is, its figure, facts beside it, and what it means or lacks."""

    label: str
    figure: str
    facts: tuple[str, ...] = ()
    meaning: str = ""


def answers(sheet: Sheet) -> list[Answer]:
    """The answers in reading order; what was not measured says what would measure it.

    A run of one point has no knee, and a single stream only where its point is one.
    """
    alone = not sheet.is_sweep
    return [
        *([] if alone and sheet.single_stream is None else [_single_stream(sheet)]),
        _best_aggregate(sheet),
        _first_token(sheet),
        _latency(sheet),
        *([] if alone else [_knee(sheet)]),
        *_cost(sheet),
        _energy(sheet),
    ]


def _load(point: PointSummary) -> str:
    """`c=32`, or the load's own words."""
    label = point_label(point)
    return f"c={label}" if point.concurrency is not None else label


def _rate(measure: Measure | None) -> str:
    """`3,156 tok/s ±42`; the half width only where an interval exists."""
    if measure is None or measure.value is None:
        return NOT_MEASURED
    text = f"{format_figure(measure.value)} tok/s"
    if measure.low is None or measure.high is None:
        return text
    return f"{text} ±{format_figure((measure.high - measure.low) / 2, 1)}"


def _milliseconds(point: PointSummary | None, key: str, name: str) -> tuple[str, ...]:
    """`TTFT 61 ms`, or nothing where it is absent."""
    value = figure_of(point, key)
    return () if value is None else (f"{name} {format_figure(value * 1000, 2)} ms",)


def _single_stream(sheet: Sheet) -> Answer:
    """One user's speed on an idle server."""
    point = sheet.single_stream
    measure = measure_of(point, USER_P50)
    if point is None:
        return Answer("single stream", NOT_MEASURED, meaning="needs a point at c=1: -c 1,...")
    if measure is None or measure.value is None:
        why = (measure.reason if measure else "") or "no request at c=1 has a decode speed"
        return Answer("single stream", NOT_MEASURED, meaning=why)
    facts = ("at c=1", *_milliseconds(point, "tpot_s.p50", "TPOT"))
    meaning = f"one user on an idle server, n {measure.n:,}"
    return Answer("single stream", _rate(measure), facts, meaning)


def _best_aggregate(sheet: Sheet) -> Answer:
    """What the system yields at its best point."""
    point = point_at(sheet.summary, sheet.summary.headline.best_aggregate)
    if point is None or figure_of(point, OUT) is None:
        why = "no point has a measured output rate"
        return Answer("best aggregate", NOT_MEASURED, meaning=why)
    user = figure_of(point, USER_P50)
    kept = figure_of(point, KEPT)
    speed = () if user is None else (f"{format_figure(user, 2)} tok/s/user",)
    facts = (f"at {_load(point)}", *speed)
    meaning = "" if kept is None else f"{format_percent(kept)} of single-stream speed kept"
    return Answer("best aggregate", _rate(measure_of(point, OUT)), facts, meaning)


def _first_token(sheet: Sheet) -> Answer:
    """Time to first token at the point of the best aggregate, one user's beside it."""
    point = point_at(sheet.summary, sheet.summary.headline.best_aggregate)
    measure = measure_of(point, "ttft_s.p50")
    if point is None or measure is None or measure.value is None:
        return Answer("first token", NOT_MEASURED, meaning=_reason(measure))
    alone = sheet.single_stream
    idle = () if alone is point else _milliseconds(alone, "ttft_s.p50", "c=1")
    facts = (f"p50 at {_load(point)}", *idle)
    meaning = f"from due to the first text, n {measure.n:,}"
    return Answer("first token", _time(measure), facts, meaning)


def _latency(sheet: Sheet) -> Answer:
    """Time to the last token at the same point: p50, and p95 where n carries it."""
    point = point_at(sheet.summary, sheet.summary.headline.best_aggregate)
    measure = measure_of(point, "e2e_s.p50")
    if point is None or measure is None or measure.value is None:
        return Answer("latency", NOT_MEASURED, meaning=_reason(measure))
    slow = measure_of(point, "e2e_s.p95")
    p95 = "p95 n/a" if slow is None or slow.value is None else f"p95 {_time(slow)}"
    facts = (f"p50 at {_load(point)}", p95)
    meaning = f"from due to the last text, n {measure.n:,}"
    return Answer("latency", _time(measure), facts, meaning)


def _time(measure: Measure) -> str:
    """`212 ms ±4`, `2.60 s`; the half width only where an interval exists."""
    assert measure.value is not None
    scale, unit = (1.0, "s") if measure.value >= 1 else (1000.0, "ms")
    text = f"{format_figure(measure.value * scale, 3)} {unit}"
    if measure.low is None or measure.high is None:
        return text
    return f"{text} ±{format_figure((measure.high - measure.low) / 2 * scale, 1)}"


def _reason(measure: Measure | None) -> str:
    """Why a time is absent."""
    return (measure.reason if measure else "") or "no point has answers that ended well"


def _energy(sheet: Sheet) -> Answer:
    """Joules an output token at the best point, with the boundary; else what would measure it."""
    best = sheet.summary.headline.best_aggregate
    found = next((one for one in sheet.summary.energy if one.point == best), None)
    point = point_at(sheet.summary, best)
    rate = figure_of(point, OUT)
    if found is None or point is None or not rate:
        return Answer("energy", NOT_MEASURED, meaning=ENERGY_HINT)
    if found.joules is None:
        return Answer("energy", NOT_MEASURED, meaning=found.reason or ENERGY_HINT)
    joules = found.joules / (rate * found.window_s)
    power = () if found.mean_w is None else (f"{format_figure(found.mean_w)} W",)
    facts = (f"at {_load(point)}", *power)
    return Answer(
        "energy",
        f"{format_figure(joules)} J/out tok",
        facts,
        f"within: {found.boundary}, by {found.source}",
    )


def _knee(sheet: Sheet) -> Answer:
    """Where more load stops paying."""
    headline = sheet.summary.headline
    point = point_at(sheet.summary, headline.knee)
    if point is None:
        return Answer("knee", "not found", meaning=headline.knee_text or "needs more points")
    return Answer("knee", _load(point), meaning=headline.knee_text)


def _cost(sheet: Sheet) -> list[Answer]:
    """$ per million tokens at the best point, with the price that it rests on."""
    prices = sheet.plan.prices
    if "gpu_usd_per_h" not in prices:
        return [_tier_cost(sheet)]
    point = point_at(sheet.summary, sheet.summary.headline.best_aggregate)
    out = figure_of(point, USD_OUT)
    if point is None or out is None:
        return [Answer("cost", NOT_MEASURED, meaning="no point has a measured output rate")]
    total = figure_of(point, USD_TOTAL)
    facts = () if total is None else (f"{format_usd(total)} /1M in + out",)
    price = f"{format_usd(prices['gpu_usd_per_h'])}/GPU-h × {prices.get('gpus', 1):g}"
    terms = f"at {_load(point)}, {price}, 100 % busy"
    return [Answer("cost", f"{format_usd(out)} /1M output", facts, terms)]


def _tier_cost(sheet: Sheet) -> Answer:
    """The same at the first tier of the price table, where no price was declared."""
    best = sheet.summary.headline.best_aggregate
    row = next((row for row in sheet.summary.costs if row.point == best), None)
    if row is None or row.output_all_in is None:
        return Answer("cost", NOT_MEASURED, meaning="give --gpu-price USD (an hour) and --gpus N")
    facts = () if row.total is None else (f"{format_usd(row.total)} /1M in + out",)
    price = f"{row.tier} {format_usd(row.usd_per_gpu_h)}/GPU-h × {row.gpus:g}"
    return Answer(
        "cost", f"{format_usd(row.output_all_in)} /1M output", facts, f"{price}, 100 % busy"
    )
