"""Numbers as readers see them: thousands, decimals that a column shares, `n/a` if absent."""

import math
from collections.abc import Iterable

NOT_AVAILABLE = "n/a"
CONFIDENCE_MISS = 0.05
"""A percentile is shown when a two-sided 95 % interval for it exists (distribution-free)."""


def format_number(value: float | None, decimals: int = 0) -> str:
    """`1,234.5`; `n/a` for None and for what is no finite number."""
    if value is None or not math.isfinite(value):
        return NOT_AVAILABLE
    return f"{value:,.{decimals}f}"


def shared_decimals(values: Iterable[float | None], significant: int, most: int = 3) -> int:
    """Decimals with which the smallest of the values still shows `significant` digits, 0..most."""
    sizes = [abs(value) for value in values if value and math.isfinite(value)]
    if not sizes:
        return 0
    whole_digits = math.floor(math.log10(min(sizes))) + 1
    return max(0, min(most, significant - whole_digits))


def format_figure(value: float | None, significant: int = 3) -> str:
    """One number by itself, at least `significant` digits: `3,156`, `98.4`, `7.02`."""
    return format_number(value, shared_decimals([value], significant))


def format_percent(fraction: float | None, signed: bool = False) -> str:
    """`75 %`, with one decimal below one percent; `n/a` for None."""
    if fraction is None or not math.isfinite(fraction):
        return NOT_AVAILABLE
    percent = fraction * 100
    decimals = 1 if 0 < abs(percent) < 1 else 0
    return f"{percent:+.{decimals}f} %" if signed else f"{percent:.{decimals}f} %"


def format_duration(seconds: float) -> str:
    """`45 s`, `8 min`, `1 h 20 min`: for estimates, so never finer than a second."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


def format_usd(value: float | None) -> str:
    """`$0.20`, `$0.041`, `$12.30`; `n/a` for None."""
    if value is None or not math.isfinite(value):
        return NOT_AVAILABLE
    return "$" + format_number(value, max(2, shared_decimals([value], 2, most=4)))


def requests_needed(stat: str) -> int | None:
    """How many requests a `p95` needs before it may be shown; None where `stat` is no percentile.

    The smallest n with p^n + (1-p)^n <= 0.05, so that a two-sided 95 % order-statistic interval
    exists: p50 6, p90 29, p95 59, p99 299.
    """
    if not stat.startswith("p") or not stat[1:].replace(".", "", 1).isdigit():
        return None
    share = float(stat[1:]) / 100
    if not 0 < share < 1:
        return None
    needed = 1
    while share**needed + (1 - share) ** needed > CONFIDENCE_MISS:
        needed += 1
    return needed
