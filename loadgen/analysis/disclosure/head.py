"""The head of a report: the six values that a comparable benchmark discloses, and the card."""

from collections.abc import Iterator

from loadgen.analysis.disclosure.card import SHARES, card
from loadgen.analysis.disclosure.told import View
from loadgen.analysis.words import sized
from loadgen.model.cost import CostRow
from loadgen.model.disclosure import Disclosure, SixthValue
from loadgen.model.summary import Measure, PointSummary, Summary
from loadgen.model.table import Recording

NOT_MEASURED = "not measured"
ENERGY_HINT = "give --gpu-metrics-url (DCGM), or loadgen[gpu] on the node"
COST_HINT = "give --gpu-price USD (an hour) and --gpus N"
DEFINITIONS = {
    "aggregate_throughput": "output tokens of all users over the window (out_tps)",
    "single_stream": "decode speed of one user on an idle server: 1 / tpot_s, median (intvty_tps)",
    "ttft": "from due to the first token with text, median (ttft_s)",
    "latency": "from due to the last token, p50 and p95 (e2e_s)",
    "energy": "joules of the window over the output tokens of the same window",
    "cost": "US dollars per 10^6 tokens: all on output, over all tokens, and split",
}


def disclosure_of(summary: Summary, recording: Recording) -> Disclosure:
    """Six values, the card, and its score: told fields count in full, inferred ones 0.6."""
    fields = card(summary, recording)
    score = sum(field.weight * SHARES[field.status] for field in fields)
    view = View(summary, recording)
    return Disclosure(
        score=round(score, 1),
        six=(
            _rate("aggregate_throughput", view.best, "out_tps", "tok/s", _no_point(view)),
            _single(summary),
            _times("ttft", view, ("ttft_s.p50",)),
            _times("latency", view, ("e2e_s.p50", "e2e_s.p95")),
            _energy(view),
            _cost(view),
        ),
        fields=fields,
    )


def _no_point(view: View) -> str:
    return "" if view.best else "a point with answers that ended well"


def _value(name: str, text: str, hint: str = "") -> SixthValue:
    measured = bool(text)
    return SixthValue(
        name, text or NOT_MEASURED, DEFINITIONS[name], measured, "" if measured else hint
    )


def _rate(
    name: str, point: PointSummary | None, key: str, unit: str, hint: str, scale: float = 1.0
) -> SixthValue:
    measure = None if point is None else point.measures.get(key)
    if point is None or measure is None or measure.value is None:
        return _value(name, "", hint or _why(measure))
    return _value(name, f"{_figure(measure, unit, scale)} at {_load(point)}")


def _single(summary: Summary) -> SixthValue:
    """The speed at concurrency 1."""
    wanted = summary.headline.single_stream
    point = next((p for p in summary.points if p.index == wanted), None)
    hint = "a point at c=1: -c 1,..." if point is None else ""
    return _rate("single_stream", point, "intvty_tps.p50", "tok/s", hint)


def _times(name: str, view: View, keys: tuple[str, ...]) -> SixthValue:
    """Times of the best point, with that of one user beside the median where there is one."""
    if view.best is None:
        return _value(name, "", _no_point(view))
    told = []
    for key in keys:
        measure = view.best.measures.get(key)
        if measure is None or measure.value is None:
            told.append("")
            continue
        scale, unit = (1e3, "ms") if measure.value < 1 else (1.0, "s")
        told.append(f"{measure.stat} {_figure(measure, unit, scale)}")
    if not any(told):
        return _value(name, "", _why(view.best.measures.get(keys[0])))
    absent = [key.rpartition(".")[2] for key, text in zip(keys, told, strict=True) if not text]
    more = [f"{stat} not measured (too few requests)" for stat in absent]
    return _value(name, f"{', '.join([*filter(None, told), *more])} at {_load(view.best)}")


def _energy(view: View) -> SixthValue:
    """Joules an output token at the best point, with boundary and source."""
    best = view.best
    found = next((e for e in view.summary.energy if best and e.point == best.index), None)
    rate = view.measure("out_tps")
    if found is None or best is None or rate is None or not rate.value:
        return _value("energy", "", ENERGY_HINT)
    if found.joules is None:
        return _value("energy", "", found.reason or ENERGY_HINT)
    joules = found.joules / (rate.value * found.window_s)
    text = f"{sized(joules)} J per output token ({found.boundary}, {found.source})"
    return _value("energy", f"{text} at {_load(best)}")


def _cost(view: View) -> SixthValue:
    """Dollars a million tokens at the best point: the first tier at full use."""
    best = view.best
    if best is None:
        return _value("cost", "", _no_point(view))
    rows = [r for r in view.summary.costs if r.point == best.index and r.utilisation == 1.0]
    whole = next((r for r in rows if r.method == "all_in" and r.output_all_in is not None), None)
    if whole is None:
        return _value("cost", "", COST_HINT)
    same = (r for r in rows if r.tier == whole.tier and r.method != "all_in")
    split = next((r for r in same if r.output is not None), None)
    told = ", ".join([*_all_in(whole), *(_split(split) if split else ())])
    basis = f"{whole.tier} ${whole.usd_per_gpu_h:g}/GPU-h x {whole.gpus:g}, 100 % busy"
    return _value("cost", f"{told} at {_load(best)} ({basis})")


def _all_in(row: CostRow) -> Iterator[str]:
    if row.output_all_in is not None:
        yield f"${sized(row.output_all_in)} per 1M output, all on it"
    if row.total is not None:
        yield f"${sized(row.total)} per 1M of all tokens"


def _split(row: CostRow) -> Iterator[str]:
    if row.input is not None:
        yield f"${sized(row.input)} per 1M input"
    if row.output is not None:
        yield f"${sized(row.output)} per 1M output by {row.method}"


def _figure(measure: Measure, unit: str, scale: float = 1.0) -> str:
    """`3,156 tok/s (3,124 .. 3,188, 95 %, blocks; n 740)`."""
    assert measure.value is not None
    inside = [f"n {measure.n:,}"]
    if measure.low is not None and measure.high is not None:
        level, _, how = measure.interval.partition(", ")
        interval = "".join(f", {part}" for part in (level, how.partition(",")[0]) if part)
        low, high = sized(measure.low * scale), sized(measure.high * scale)
        inside.insert(0, f"{low} .. {high}{interval}")
    return f"{sized(measure.value * scale)} {unit} ({'; '.join(inside)})"


def _load(point: PointSummary) -> str:
    return point.load if point.concurrency is None else f"c={point.concurrency}"


def _why(measure: Measure | None) -> str:
    return (measure.reason if measure else "") or "answers that ended well"
