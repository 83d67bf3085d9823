"""Which of our figures stands beside each figure of a claim."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from loadgen.audit.printed import Number, read_number, read_seconds
from loadgen.model import claim as said
from loadgen.model.claim import Claim, Fact
from loadgen.model.measured import MeasuredRun
from loadgen.model.summary import Measure, PointSummary
from loadgen.physics import usd_per_mtok
from loadgen.units import sized


class Counterpart(NamedTuple):
    """A figure of the claim with ours; `absent` says why there is none of ours to compare."""

    what: str
    said_text: str
    ours: str = ""
    beside: str = ""
    """At which point ours was measured, in words."""
    reached_frac: float | None = None
    """Ours over theirs at the ends that favour the claim; of times theirs over ours."""
    absent: str = ""
    lower_is_better: bool = False
    src: str = ""


KEYS = {
    "per_stream_decode": ("intvty_tps", True),
    "per_stream_e2e": ("e2e_tps", True),
    "aggregate_output": ("out_tps", False),
    "total": ("total_tps", False),
    "per_gpu_total": ("total_tps", False),
}
"""The metric of each quantity, and whether it is one user's."""
UNITS = {"per_gpu_total": "tok/s per GPU"}
FOLLOWS = "it follows from other figures, or sets sources beside each other: no run measures it"


def counterparts_of(claim: Claim, run: MeasuredRun) -> Iterator[Counterpart]:
    """The headline first, then every statement; figures alike may come twice."""
    yield _headline(claim, run)
    for statement in claim.statements:
        make = STATEMENTS.get(type(statement))
        if make is None:
            rule = str(statement.__struct_config__.tag)
            yield Counterpart(rule, _listed(statement), absent=FOLLOWS, src=statement.src)
        else:
            yield from make(statement, run)


def _headline(claim: Claim, run: MeasuredRun) -> Counterpart:
    value = claim.value
    text = f"{value.num:,.10g} {value.unit}"
    number = read_number(value.num)
    if value.quantity not in KEYS:
        ours = "; ".join(f"{name.replace('_', ' ')} {_plainly(run, name)}" for name in KEYS)
        absent = f"the claim doesn't say what is counted; ours: {ours}"
        return Counterpart("headline", text, absent=absent)
    row = _row_of(claim, number)
    if row is not None:
        return next(iter(_rung(row, None, run, "headline", "")))
    name, _ = KEYS[value.quantity]
    stat = "" if name.endswith(("out_tps", "total_tps")) else _stat(value.statistic)
    point = _point(run, value.quantity, _concurrency(claim))
    key = f"{name}.{stat}" if stat else name
    per_gpu = value.quantity == "per_gpu_total"
    return _rate("headline", number, text, run, point, key, per_gpu=per_gpu)


def _row_of(claim: Claim, number: Number) -> said.Rung | None:
    """The row of a ladder that prints the headline's number: it says at which speed a user."""
    for statement in claim.statements:
        if isinstance(statement, said.Ladder):
            for row in statement.rows:
                printed = None if row.tps_per_gpu is None else read_number(row.tps_per_gpu)
                if printed is not None and printed.value == number.value:
                    return row
    return None


def _ladder(statement: said.Ladder, run: MeasuredRun) -> Iterator[Counterpart]:
    price = statement.usd_per_gpu_h
    for row in statement.rows:
        if row.tps_per_gpu is not None:
            yield from _rung(row, price, run, "A10", statement.src)


def _rung(
    row: said.Rung, price: said.Printed | None, run: MeasuredRun, what: str, src: str
) -> Iterator[Counterpart]:
    """A row's throughput, and its cost at the claim's price."""
    assert row.tps_per_gpu is not None
    printed = read_number(row.tps_per_gpu)
    text = f"{printed.text} tok/s per GPU at {row.per_user_tps:g} tok/s a user"
    rung = next((r for r in run.ladder if r.target_tps == row.per_user_tps), None)
    if rung is None:
        absent = "the run has no ladder: it needs two points and the number of GPUs (--gpus N)"
        yield Counterpart(what, text, absent=absent, src=src)
        return
    if rung.interpolated_tps is None:
        yield Counterpart(what, text, absent=rung.reason, src=src)
        return
    ours = rung.interpolated_tps
    words = f"{sized(ours)} tok/s per GPU"
    beside = f"interpolated between {' and '.join(rung.between)}"
    yield Counterpart(what, text, words, beside, ours / printed.low, src=src)
    if price is not None and row.usd_per_mtok is not None:
        yield _usd(what, row.usd_per_mtok, price, ours, beside, src)


def _usd(
    what: str, cost: said.Printed, price: said.Printed, ours_tps: float, beside: str, src: str
) -> Counterpart:
    """The cost that our throughput comes to at the claim's own price."""
    printed, hour = read_number(cost), read_number(price)
    made = usd_per_mtok(hour.value, ours_tps)
    text = f"{printed.text} per 1M at ${hour.value:g} a GPU-hour"
    words = f"${sized(made)} per 1M at the same price"
    return Counterpart(
        what, text, words, beside, printed.high / made, lower_is_better=True, src=src
    )


def _unit_cost(statement: said.UnitCost, run: MeasuredRun) -> Iterator[Counterpart]:
    printed = read_number(statement.tps_per_gpu)
    text = f"{printed.text} tok/s per GPU"
    best = _point(run, "per_gpu_total", None)
    one = _rate("A3", printed, text, run, best, "total_tps", per_gpu=True)
    yield one._replace(src=statement.src)
    measure = _figure(best, "total_tps")
    if measure is not None and measure.value and run.gpus and statement.usd_per_gpu_h is not None:
        tps = measure.value / run.gpus
        yield _usd(
            "A3", statement.usd_per_mtok, statement.usd_per_gpu_h, tps, one.beside, statement.src
        )


def _latencies(statement: said.Latencies, run: MeasuredRun) -> Iterator[Counterpart]:
    for name, printed in (("ttft_s", statement.ttft), ("tpot_s", statement.tpot)):
        if printed:
            yield _shortest(f"P6 {name.partition('_')[0].upper()}", name, printed, run)


def _shortest(what: str, name: str, printed: str, run: MeasuredRun) -> Counterpart:
    """The least median over all points: what favours the claim."""
    number, _ = read_seconds(printed)
    told = [
        (measure.value, point)
        for point in run.summary.points
        if (measure := _figure(point, f"{name}.p50")) is not None and measure.value is not None
    ]
    if not told:
        return Counterpart(what, printed, absent=f"`{name}.p50` was not measured")
    value, point = min(told, key=lambda pair: pair[0])
    ours = f"p50 {sized(value * 1e3)} ms at {_load(point)}"
    beside = "the shortest of our points"
    return Counterpart(what, printed, ours, beside, number.high / value, lower_is_better=True)


def _streams(statement: said.Streams, run: MeasuredRun) -> Iterator[Counterpart]:
    point = _point(run, "aggregate_output", statement.concurrency)
    pairs = (
        ("A8 per stream", statement.per_stream_tps, "intvty_tps.p50"),
        ("A8 aggregate", statement.aggregate_tps, "out_tps"),
    )
    for what, value, key in pairs:
        number = read_number(value)
        text = f"{number.text} tok/s at c={statement.concurrency:g}"
        if point is None:
            absent = f"the run has no point at c={statement.concurrency:g}"
            yield Counterpart(what, text, absent=absent, src=statement.src)
        else:
            yield _rate(what, number, text, run, point, key)._replace(src=statement.src)


def _power(statement: said.Power, run: MeasuredRun) -> Iterator[Counterpart]:
    """Joules an output token at the best point."""
    printed = read_number(statement.joules_per_tok)
    text = f"{printed.text} J a token"
    best = _point(run, "aggregate_output", None)
    energy = next((e for e in run.summary.energy if best and e.point == best.index), None)
    rate = _figure(best, "out_tps")
    if best is None or energy is None or not energy.joules or rate is None or not rate.value:
        why = (energy.reason if energy else "") or "no power was read"
        yield Counterpart("P5", text, absent=f"energy was not measured: {why}", src=statement.src)
        return
    made = energy.joules / (rate.value * energy.window_s)
    ours = f"{sized(made)} J per output token ({energy.boundary})"
    yield Counterpart("P5", text, ours, f"at {_load(best)}", printed.high / made, src=statement.src)


STATEMENTS: dict[type, Callable[[Any, MeasuredRun], Iterator[Counterpart]]] = {
    said.Ladder: _ladder,
    said.UnitCost: _unit_cost,
    said.Latencies: _latencies,
    said.Streams: _streams,
    said.Power: _power,
}
"""What a run may measure of a statement; of the others it measures nothing."""


def _rate(
    what: str,
    number: Number,
    text: str,
    run: MeasuredRun,
    point: PointSummary | None,
    key: str,
    per_gpu: bool = False,
) -> Counterpart:
    """A rate of one point; its upper end favours the claim."""
    measure = _figure(point, key)
    if point is None or measure is None or measure.value is None:
        why = "no such point" if point is None else (measure.reason if measure else "")
        return Counterpart(what, text, absent=f"`{key}` was not measured: {why or 'no figure'}")
    if per_gpu and not run.gpus:
        return Counterpart(what, text, absent="the run's GPUs aren't told: --gpus N")
    scale = 1.0 / (run.gpus or 1.0) if per_gpu else 1.0
    high = measure.value if measure.high is None else measure.high
    ours = f"{sized(measure.value * scale)} tok/s{' per GPU' if per_gpu else ''}"
    if measure.low is not None and measure.high is not None:
        ours += f" ({sized(measure.low * scale)} to {sized(measure.high * scale)})"
    reached = high * scale / number.low if number.low > 0 else None
    return Counterpart(what, text, f"{ours} at {_load(point)}", f"at {_load(point)}", reached)


def _plainly(run: MeasuredRun, quantity: str) -> str:
    name, single = KEYS[quantity]
    point = _point(run, quantity, None)
    measure = _figure(point, f"{name}.p50" if single else name)
    if point is None or measure is None or measure.value is None:
        return "not measured"
    if quantity == "per_gpu_total":
        return f"{sized(measure.value / run.gpus)} tok/s" if run.gpus else "not told"
    return f"{sized(measure.value)} tok/s"


def _point(run: MeasuredRun, quantity: str, concurrency: float | None) -> PointSummary | None:
    """The point at that concurrency; without one the point that favours the claim."""
    points, headline = run.summary.points, run.summary.headline
    if concurrency is not None:
        return next((p for p in points if p.concurrency == concurrency), None)
    single = KEYS[quantity][1] and headline.single_stream is not None
    wanted = headline.single_stream if single else headline.best_aggregate
    found = next((p for p in points if p.index == wanted), None)
    return found or (points[0] if len(points) == 1 else None)


def _concurrency(claim: Claim) -> float | None:
    value = claim.facts.get("concurrency", Fact()).v
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else None  # type: ignore[arg-type]


def _stat(statistic: str) -> str:
    """The percentile that is named; the median where none is, or a mean of speeds."""
    return statistic if statistic[:1] == "p" and statistic[1:].isdigit() else "p50"


def _figure(point: PointSummary | None, key: str) -> Measure | None:
    return None if point is None else point.measures.get(key)


def _load(point: PointSummary) -> str:
    return point.load if point.concurrency is None else f"c={point.concurrency}"


def _listed(statement: Any) -> str:
    """A statement in its own numbers, for readers."""
    parts = (
        f"{name} {value}"
        for name in statement.__struct_fields__
        if name != "src" and isinstance(value := getattr(statement, name), str | int | float)
        if value != ""
    )
    return ", ".join(parts)
