"""What tokens cost: owning, renting and being billed, as pure formulas. US dollars and seconds.

Splitting one price over kinds of tokens takes a rule; each rule here gives back the whole:
the prices times their tokens a second add up to the dollars a second that were put in.
"""

import math
from dataclasses import dataclass

HOURS_PER_YEAR = 8760.0
S_PER_HOUR = 3600.0
MTOK = 1e6


@dataclass(frozen=True, slots=True)
class Split:
    """USD per 10^6 tokens by kind; None where the rule says nothing of a kind."""

    input: float | None
    cached: float | None
    output: float | None


def capital_recovery(interest: float, years: float) -> float:
    """Yearly payment over what was borrowed: r (1 + r)^N / ((1 + r)^N - 1); 1 / N without interest.

    The annuity of N equal payments at the end of each year, at r a year.
    """
    if interest == 0:
        return 1.0 / years
    grown = math.pow(1.0 + interest, years)
    return interest * grown / (grown - 1.0)


def power_usd_per_h(kw: float, pue: float, usd_per_kwh: float) -> float:
    """Dollars an hour of power at the meter: kW x PUE x $/kWh."""
    return kw * pue * usd_per_kwh


def owned_usd_per_h(capex: float, recovery: float, opex_per_year: float, power: float) -> float:
    """Dollars an hour of owning: (capex x recovery + opex) / 8760 h + power dollars an hour."""
    return (capex * recovery + opex_per_year) / HOURS_PER_YEAR + power


def usd_per_second(usd_per_gpu_h: float, gpus: float, utilisation: float = 1.0) -> float:
    """What a second of the tokens at full rate must earn, if `utilisation` of them are sold."""
    return usd_per_gpu_h * gpus / (S_PER_HOUR * utilisation)


def per_mtok(usd_per_s: float, tps: float) -> float | None:
    """Dollars a million tokens, all of the price on these; None where there are none."""
    return None if tps <= 0 else usd_per_s * MTOK / tps


def split_by_time(usd_per_s: float, input_frac: float, uncached: float, output: float) -> Split:
    """The price shared by time: `input_frac` of it on uncached prompt tokens, the rest on output.

    Cached tokens take no prefill, so the rule puts nothing on them and tells no price.
    """
    return Split(
        input=per_mtok(usd_per_s * input_frac, uncached),
        cached=None,
        output=per_mtok(usd_per_s * (1.0 - input_frac), output),
    )


def split_by_ratio(
    usd_per_s: float, rates: tuple[float, float, float], output_ratio: float, cached_ratio: float
) -> Split:
    """The price shared as an API would: p uncached, `cached_ratio` p cached, `output_ratio` p out.

    `rates` are uncached, cached and output tokens a second. p solves
    p (uncached + cached_ratio x cached + output_ratio x output) = the price.
    """
    uncached, cached, output = rates
    weighed = uncached + cached_ratio * cached + output_ratio * output
    if weighed <= 0:
        return Split(None, None, None)
    unit = usd_per_s * MTOK / weighed
    return Split(unit, unit * cached_ratio, unit * output_ratio)


def billed_usd_per_s(
    rates: tuple[float, float, float], prices: tuple[float, float, float]
) -> float:
    """What an API bills a second: uncached, cached and output tokens at USD per 10^6 of each."""
    return sum(rate * price for rate, price in zip(rates, prices, strict=True)) / MTOK
