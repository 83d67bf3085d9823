"""Conversion factors and words for quantities. Nothing here knows about load tests."""

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
