"""Conversion factors and words for quantities. Nothing here knows about load tests."""

import math

NS_PER_S = 1_000_000_000
NS_PER_MS = 1_000_000
NS_PER_US = 1_000
MS_PER_S = 1_000.0
S_PER_H = 3_600.0


def ns_from_s(seconds: float) -> int:
    """Nanoseconds, rounded to the nearest whole one."""
    return round(seconds * NS_PER_S)


def s_from_ns(nanoseconds: int) -> float:
    """Seconds."""
    return nanoseconds / NS_PER_S


def sized(value: float, digits: int = 3) -> str:
    """`3,156`, `98.4`, `0.0612`: at least `digits` digits, thousands parted, no exponent."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{min(decimals, 9)}f}"
