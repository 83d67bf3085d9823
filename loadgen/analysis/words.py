"""How findings write shares and counts: `4.0 %`, `1 answer was`, `2 answers were`."""

from loadgen.units import sized as sized


def in_percent(share: float, signed: bool = False) -> str:
    """`4.0 %`, `100 %`; signed `+1.7 %`."""
    percent = share * 100
    decimals = 0 if abs(percent) >= 99.95 or percent == 0 else 1
    return f"{percent:+.{decimals}f} %" if signed else f"{percent:.{decimals}f} %"


def counted(n: int, one: str, many: str) -> str:
    """`1 answer`, `2 answers`: the number and the words that go with it."""
    return f"{n} {one if n == 1 else many}"
