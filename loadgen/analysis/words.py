"""How findings write shares and counts: `4.0 %`, `1 answer was`, `2 answers were`."""

import math


def in_percent(share: float, signed: bool = False) -> str:
    """`4.0 %`, `100 %`; signed `+1.7 %`."""
    percent = share * 100
    decimals = 0 if abs(percent) >= 99.95 or percent == 0 else 1
    return f"{percent:+.{decimals}f} %" if signed else f"{percent:.{decimals}f} %"


def counted(n: int, one: str, many: str) -> str:
    """`1 answer`, `2 answers`: the number and the words that go with it."""
    return f"{n} {one if n == 1 else many}"


def sized(value: float, digits: int = 3) -> str:
    """`3,156`, `98.4`, `0.0612`: at least `digits` digits, thousands parted, no exponent."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{min(decimals, 9)}f}"
