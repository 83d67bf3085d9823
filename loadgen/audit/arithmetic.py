"""Rules A1 to A8: what must follow from the numbers that a source prints, rounding allowed."""

from loadgen.audit.printed import Number, read_number
from loadgen.model.claim import (
    Change,
    EndToEnd,
    InFlight,
    Inverse,
    PerGpu,
    RateTime,
    Ruling,
    Streams,
    UnitCost,
    Verdict,
)
from loadgen.physics import usd_per_mtok

MEANS_TOLERANCE_FRAC = 0.05
"""Laws that hold for means are judged to 5 %: sources mix means with medians."""


def rate_times(said: RateTime) -> list[Ruling]:
    """A1: rate x time is the total, and the total is so many answers of that length."""
    rate = read_number(said.rate)
    total = rate.value * said.seconds
    name = {3600.0: "an hour", 86400.0: "a day"}.get(said.seconds, f"{said.seconds:g} s")
    text = f"{rate.value:,.10g} tok/s make {total:,.0f} tokens {name}"
    rulings = []
    if said.total is not None:
        low, high = rate.low * said.seconds, rate.high * said.seconds
        rulings.append(_matched("A1", read_number(said.total), (low, high), text, said.src))
    if said.per_answer_tok is not None:
        answers = total / said.per_answer_tok
        text = f"{total:,.0f} tokens are {answers:,.1f} answers of {said.per_answer_tok:,} tokens"
        printed = None if said.answers is None else read_number(said.answers)
        if printed is None:
            rulings.append(Ruling("A1", "note", text, said.src))
        else:
            near = (answers - 1.0, answers + 1.0)  # sources cut or round
            rulings.append(_matched("A1", printed, near, text, said.src))
    return rulings or [Ruling("A1", "note", text, said.src)]


def changes(said: Change) -> list[Ruling]:
    """A2: difference and percentage between two values; nothing gets more than 100 % cheaper."""
    before, after = read_number(said.before), read_number(said.after)
    rulings = []
    if said.delta is not None:
        delta = after.value - before.value
        text = f"{before.text} to {after.text} is {delta:+,.10g}"
        bounds = (after.low - before.high, after.high - before.low)
        rulings.append(_matched("A2", read_number(said.delta), bounds, text, said.src))
    if before.value <= 0:
        return rulings
    percent = 100.0 * (after.value / before.value - 1.0)
    text = f"{before.text} to {after.text} is {percent:+.1f} %"
    if said.percent is None:
        return [*rulings, Ruling("A2", "note", text, said.src)]
    printed = read_number(said.percent)
    if printed.value <= -100.0 and after.value > 0:
        text = f"{printed.text}: nothing falls by 100 % or more and is still above zero"
        return [*rulings, Ruling("A2", "contradiction", text, said.src)]
    ends = [
        100.0 * (high / low - 1.0)
        for high, low in ((after.low, before.high), (after.high, before.low))
    ]
    return [*rulings, _matched("A2", printed, (min(ends), max(ends)), text, said.src)]


def unit_costs(said: UnitCost) -> list[Ruling]:
    """A3: $/GPU-h = $/1M x tok/s/GPU x 3600 / 1e6, with both printed values' rounding."""
    tps, cost = read_number(said.tps_per_gpu), read_number(said.usd_per_mtok)
    needed = cost.value * tps.value * 3600.0 / 1e6
    if said.usd_per_gpu_h is None:
        text = f"{tps.text} tok/s a GPU at {cost.text} per 1M need ${needed:,.2f} a GPU-hour"
        return [Ruling("A3", "note", text, said.src)]
    price = read_number(said.usd_per_gpu_h)
    made = usd_per_mtok(price.value, tps.value)
    low = usd_per_mtok(max(price.low, 0.0), tps.high)
    high = usd_per_mtok(price.high, max(tps.low, 1e-12))
    text = (
        f"{tps.text} tok/s a GPU at ${price.value:g} a GPU-hour cost ${made:.4g} per 1M"
        f" ({cost.text} per 1M would need ${needed:,.2f} a GPU-hour)"
    )
    return [_matched("A3", cost, (low, high), text, said.src)]


def per_gpus(said: PerGpu) -> list[Ruling]:
    """A4: a figure a GPU times the GPUs is the system's; a part left out makes it no cost."""
    one, system = read_number(said.per_gpu), read_number(said.system)
    text = f"{one.text} x {said.gpus} GPUs is {one.value * said.gpus:,.10g}"
    bounds = (one.low * said.gpus, one.high * said.gpus)
    rulings = [_matched("A4", system, bounds, text, said.src)]
    if said.leaves_out:
        text = f"the denominator leaves out {said.leaves_out}: the system's figure a GPU is lower"
        rulings.append(Ruling("A4", "warn", text, said.src))
    return rulings


def inverses(said: Inverse) -> list[Ruling]:
    """A5: time an output token x tokens a second of a user = 1, at the same statistic."""
    tpot, user = read_number(said.tpot_s), read_number(said.tps_per_user)
    product = tpot.value * user.value
    text = f"TPOT {tpot.text} s x {user.text} tok/s a user is {product:.3g}; 1 was expected"
    if said.tpot_statistic != said.user_statistic:
        text += (
            f", but one is {said.tpot_statistic or 'unnamed'} and the other"
            f" {said.user_statistic or 'unnamed'}: the slow tail of one is the fast tail of neither"
        )
        return [Ruling("A5", "warn", text, said.src)]
    fits = tpot.low * user.low <= 1.0 <= tpot.high * user.high
    near = abs(product - 1.0) <= MEANS_TOLERANCE_FRAC
    return [Ruling("A5", "ok" if fits or near else "contradiction", text, said.src)]


def end_to_ends(said: EndToEnd) -> list[Ruling]:
    """A6: mean E2E = mean TTFT + (n - 1) x mean TPOT."""
    ttft, tpot, e2e = (read_number(value) for value in (said.ttft_s, said.tpot_s, said.e2e_s))
    made = ttft.value + (said.output_tok - 1) * tpot.value
    text = f"TTFT {ttft.text} s + {said.output_tok - 1:g} x TPOT {tpot.text} s is {made:.4g} s"
    return [_about("A6", e2e, made, text, said.src)]


def in_flights(said: InFlight) -> list[Ruling]:
    """A7: concurrency = rate x mean time in system (Little)."""
    rate, e2e = read_number(said.rate_rps), read_number(said.e2e_s)
    made = rate.value * e2e.value
    text = f"{rate.text} requests/s x {e2e.text} s are {made:.4g} in flight"
    concurrency = Number(said.concurrency, 0.5, f"{said.concurrency:g}")
    return [_about("A7", concurrency, made, text, said.src)]


def streams(said: Streams) -> list[Ruling]:
    """A8: streams of one speed can't yield more together than speed x how many there are."""
    one, whole = read_number(said.per_stream_tps), read_number(said.aggregate_tps)
    most = one.high * said.concurrency
    text = (
        f"{said.concurrency:g} streams of {one.text} tok/s make at most {most:,.10g} tok/s;"
        f" the aggregate is {whole.text}"
    )
    fits = whole.low <= most * (1 + MEANS_TOLERANCE_FRAC)
    return [Ruling("A8", "ok" if fits else "contradiction", text, said.src)]


def _matched(
    rule: str, printed: Number, bounds: tuple[float, float], text: str, src: str
) -> Ruling:
    """Ok where the printed interval and the computed one meet."""
    slack = 1e-9 * max(abs(bounds[0]), abs(bounds[1]), abs(printed.value))
    meet = printed.low - slack <= bounds[1] and bounds[0] <= printed.high + slack
    if meet:
        return Ruling(rule, "ok", text, src)
    return Ruling(rule, "contradiction", f"{text}, not {printed.text}", src)


def _about(rule: str, printed: Number, made: float, text: str, src: str) -> Ruling:
    """Ok within rounding or 5 %, a warning to 20 %: laws of means on unnamed statistics."""
    error = abs(printed.value - made) / max(abs(made), 1e-12)
    verdict: Verdict = "ok" if printed.holds(made) or error <= MEANS_TOLERANCE_FRAC else "warn"
    if error > 4 * MEANS_TOLERANCE_FRAC and not printed.holds(made):
        verdict = "contradiction"
    return Ruling(rule, verdict, f"{text}; {printed.text} is said", src)
