"""The six values that a comparable benchmark discloses: the summary's own, else the headline's."""

from loadgen.model.disclosure import SixthValue
from loadgen.model.summary import Measure, PointSummary
from loadgen.report.figures import format_figure, format_number, format_usd
from loadgen.report.headline import NOT_MEASURED, answers
from loadgen.report.page.loads import load_name
from loadgen.report.rows import OUT, USD_OUT, USD_TOTAL, USER_P50, Sheet, measure_of, point_at

TITLES = {
    "aggregate_throughput": "Aggregate throughput",
    "single_stream": "Single stream",
    "ttft": "Time to first token",
    "latency": "Latency P50 / P95",
    "energy": "Energy",
    "cost": "Cost per 1M tokens",
}


def six_of(sheet: Sheet) -> list[SixthValue]:
    """Six values in the order in which they are disclosed."""
    told = sheet.summary.disclosure
    if told is not None and told.six:
        return list(told.six)
    best = point_at(sheet.summary, sheet.summary.headline.best_aggregate)
    single = sheet.single_stream
    return [
        _rate("aggregate_throughput", measure_of(best, OUT), best, "output tokens, all users"),
        _rate(
            "single_stream", measure_of(single, USER_P50), single, "one user, median decode speed"
        ),
        _times("ttft", "ttft_s", ("p50",), single or best, "from due to the first token"),
        _times("latency", "e2e_s", ("p50", "p95"), best, "from due to the last token"),
        _energy(sheet),
        _cost(sheet, best),
    ]


def _absent(name: str, definition: str, hint: str) -> SixthValue:
    return SixthValue(name, NOT_MEASURED, definition, measured=False, hint=hint)


def _rate(
    name: str, measure: Measure | None, point: PointSummary | None, definition: str
) -> SixthValue:
    """`3,156 tok/s ±42 at c=32, n=740`."""
    if measure is None or measure.value is None or point is None:
        hint = measure.reason if measure is not None and measure.reason else "needs -c 1 in a sweep"
        if name == "aggregate_throughput":
            hint = "no point has a measured output rate"
        return _absent(name, definition, hint)
    figure = f"{format_figure(measure.value)} tok/s"
    if measure.low is not None and measure.high is not None:
        figure += f" ±{format_figure((measure.high - measure.low) / 2, 1)}"
    text = f"{figure} at {load_name(point)}, n={format_number(measure.n)}"
    return SixthValue(name, text, definition, measured=True)


def _times(
    name: str, metric: str, stats: tuple[str, ...], point: PointSummary | None, definition: str
) -> SixthValue:
    """`61 ms at c=1, n=32`; a percentile that can't be given reads n/a."""
    found = [measure_of(point, f"{metric}.{stat}") for stat in stats]
    values = [m.value if m is not None else None for m in found]
    if point is None or values[0] is None:
        reason = found[0].reason if found[0] is not None else ""
        return _absent(name, definition, reason or "no request ended well")
    scale, unit = (1.0, "s") if values[0] >= 1.0 else (1000.0, "ms")
    figures = " / ".join(format_figure(None if v is None else v * scale) for v in values)
    n = found[0].n if found[0] is not None else 0
    text = f"{figures} {unit} at {load_name(point)}, n={format_number(n)}"
    return SixthValue(name, text, definition, measured=True)


def _energy(sheet: Sheet) -> SixthValue:
    """Joules over the best point's window; how to measure them otherwise."""
    definition = "energy over the measuring window"
    best = sheet.summary.headline.best_aggregate
    told = next((one for one in sheet.summary.energy if one.point == best), None)
    if told is None or told.joules is None:
        row = next((row for row in answers(sheet) if row.label == "energy"), None)
        hint = row.meaning if row is not None else ""
        return _absent("energy", definition, told.reason if told is not None else hint)
    power = "" if told.mean_w is None else f", {format_figure(told.mean_w)} W"
    text = f"{format_figure(told.joules)} J{power} ({told.boundary})"
    return SixthValue("energy", text, definition, measured=True)


def _cost(sheet: Sheet, best: PointSummary | None) -> SixthValue:
    definition = "at the best aggregate, 100 % busy"
    out, total = measure_of(best, USD_OUT), measure_of(best, USD_TOTAL)
    if out is not None and out.value is not None:
        figures = [f"{format_usd(out.value)} output, all on it"]
        if total is not None and total.value is not None:
            figures.append(f"{format_usd(total.value)} total")
        return SixthValue("cost", " · ".join(figures), definition, measured=True)
    row = next((r for r in sheet.summary.costs if best is not None and r.point == best.index), None)
    if row is not None and row.output_all_in is not None:
        figures = [f"{format_usd(row.output_all_in)} output, all on it"]
        if row.total is not None:
            figures.append(f"{format_usd(row.total)} total")
        basis = f"{definition}; {row.tier} {format_usd(row.usd_per_gpu_h)}/GPU-h × {row.gpus:g}"
        return SixthValue("cost", " · ".join(figures), basis, measured=True)
    return _absent("cost", definition, "give --gpu-price USD (an hour) and --gpus N")
