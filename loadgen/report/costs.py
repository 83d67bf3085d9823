"""What tokens cost, on the screen: the best point by tier and use. All points: json and csv."""

from collections.abc import Iterator, Sequence

from loadgen.model.cost import BreakEven, CostRow, PhaseFit, SplitMethod
from loadgen.model.summary import PointSummary, Summary
from loadgen.report.figures import format_figure, format_percent, format_usd
from loadgen.report.layout import flow, paragraph
from loadgen.report.rows import point_at, point_label

INDENT = " " * 4
SPLITS: tuple[SplitMethod, ...] = ("server_time", "regression", "api_ratio")
"""Methods that tell input from output, the one that rests on most measuring first."""
MEANT = {
    "server_time": "the server's prefill and decode seconds",
    "regression": "the requests' times over their lengths",
    "api_ratio": "an API's ratio of prices",
}
HEADS = ("sold", "total", "all on out", "uncached in", "cached in", "output")
WIDTHS = (6, 10, 11, 12, 10, 10)
LIMIT = (
    "full load is a limit and no capacity, so each price stands at 100, 60 and 30 % of these tokens"
    " being sold; other points, tiers at 60 and 30 %, methods and sources: --format json"
)


def cost_lines(summary: Summary) -> Iterator[str]:
    """The costs of the best point, nothing without any; 100 columns."""
    best = _best(summary)
    point = point_at(summary, best)
    rows = [row for row in summary.costs if row.point == best]
    if point is None or not rows:
        return
    method = _method(rows)
    yield from flow(_facts(rows[0], point), first="  cost          ", then=" " * 16)
    heads = zip(HEADS, WIDTHS, strict=True)
    yield f"{INDENT}{'tier':<18}{'$/GPU-h':>8}{'as of':>11}" + "".join(
        f"{h:>{w}}" for h, w in heads
    )
    for row in rows:
        first = row.tier == rows[0].tier
        if row.method == (method or "all_in") and (first or row.utilisation == 1.0):
            yield _line(row, named=row.utilisation == 1.0)
    notes = [*_notes(rows, method), *_bills(summary, rows[0]), LIMIT]
    for note in notes:
        yield from paragraph(note, first=INDENT, then=INDENT + "  ")


def phase_lines(summary: Summary) -> Iterator[str]:
    """Prefill and decode of each point that tells them apart; nothing where none does."""
    fits = [fit for fit in summary.phases if fit.prefill_tps is not None]
    for number, fit in enumerate(fits):
        label = "" if number else "phases"
        point = point_at(summary, fit.point)
        facts = [_load(point), *_phase(fit)]
        yield from flow(facts, first=f"  {label}".ljust(16), then=" " * 18)


def cost_cells(summary: Summary, point: int) -> dict[str, float | None]:
    """One point's prices by heading, `cost.<tier>.<sold>.<method>.<kind>`, for a row of csv."""
    cells: dict[str, float | None] = {}
    for row in summary.costs:
        if row.point != point:
            continue
        start = f"cost.{row.tier}.{row.utilisation:g}"
        if row.method == "all_in":
            cells |= {f"{start}.total": row.total, f"{start}.output_all_in": row.output_all_in}
        elif row.output is not None:
            kinds = {"input": row.input, "cached": row.cached, "output": row.output}
            cells |= {f"{start}.{row.method}.{kind}": usd for kind, usd in kinds.items()}
    return cells


def _best(summary: Summary) -> int | None:
    """The point that the screen prices: the best aggregate, else the last that is priced."""
    best = summary.headline.best_aggregate
    priced = [row.point for row in summary.costs]
    return best if best in priced or not priced else priced[-1]


def _method(rows: Sequence[CostRow]) -> SplitMethod | None:
    """The first method that tells input from output here."""
    told = {row.method for row in rows if row.output is not None}
    return next((method for method in SPLITS if method in told), None)


def _facts(row: CostRow, point: PointSummary) -> list[str]:
    """What the prices stand on."""
    gpus = f"{row.gpus:g} GPU" + ("" if row.gpus == 1 else "s")
    facts = [f"$ per 1M tokens at {_load(point)}", gpus]
    if row.in_out_ratio is not None:
        facts.append(f"in:out {format_figure(row.in_out_ratio, 2)}")
    if row.cached_frac is None:
        return [*facts, "cached share unknown"]
    return [*facts, f"cached {format_percent(row.cached_frac)} of the prompts ({row.cached_basis})"]


def _line(row: CostRow, *, named: bool) -> str:
    """One row of the table; the tier's name, price and date in its first one."""
    usd = (row.total, row.output_all_in, row.input, row.cached, row.output)
    cells = (format_percent(row.utilisation), *(format_usd(value) for value in usd))
    start = f"{row.tier:<18}{format_usd(row.usd_per_gpu_h):>8} {row.dated:>10}" if named else ""
    aligned = (f"{cell:>{width}}" for cell, width in zip(cells, WIDTHS, strict=True))
    return f"{INDENT}{start:<37}" + "".join(aligned)


def _notes(rows: Sequence[CostRow], method: SplitMethod | None) -> Iterator[str]:
    """By which method input and output are told apart, and why not by the others."""
    shown = next((row for row in rows if row.method == method), None)
    if shown is not None:
        part = "" if shown.input_frac is None else f", {format_percent(shown.input_frac)} on input"
        why = f"; {shown.reason}" if shown.reason else ""
        yield f"input and output by {shown.method}: {MEANT[shown.method]}{part}{why}"
    for row in rows[: len(SPLITS) + 1]:
        if row.method in SPLITS and row.output is None:
            yield f"{row.method} n/a: {row.reason}"


def _bills(summary: Summary, first: CostRow) -> Iterator[str]:
    """From which use on the first tier beats each API."""
    for even in summary.break_even:
        if (even.point, even.tier) == (first.point, first.tier):
            yield _bill(even)


def _bill(even: BreakEven) -> str:
    own, api = format_usd(even.own_usd * 3600), format_usd(even.api_usd * 3600)
    answer = (
        "never cheaper than that bill"
        if even.utilisation is None
        else f"cheaper once {format_percent(even.utilisation)} of these tokens are sold"
    )
    text = f"{even.api} ({even.dated}) would bill {api} an hour, {even.tier} costs {own}: {answer}"
    return f"{text} ({even.assumes})" if even.assumes else text


def _phase(fit: PhaseFit) -> Iterator[str]:
    """Rates with their intervals, shares of time."""
    rates = (
        ("prefill", fit.prefill_tps, fit.prefill_low_tps, fit.prefill_high_tps),
        ("decode", fit.decode_tps, fit.decode_low_tps, fit.decode_high_tps),
    )
    for name, value, low, high in rates:
        bounds = f" ({format_figure(low, 2)} to {format_figure(high, 2)})" if low and high else ""
        yield f"{name} {format_figure(value, 2)} tok/s{bounds} of one request"
    if fit.prefill_j_per_tok is not None and fit.decode_j_per_tok is not None:
        joules = (format_figure(j, 2) for j in (fit.prefill_j_per_tok, fit.decode_j_per_tok))
        yield " and ".join(joules) + " J a token"
    if fit.prefill_time_frac is not None:
        yield f"{format_percent(fit.prefill_time_frac)} of the time on prompts"


def _load(point: PointSummary | None) -> str:
    """`c=32`, or the load's own words."""
    if point is None:
        return "this point"
    label = point_label(point)
    return f"c={label}" if point.concurrency is not None else label
