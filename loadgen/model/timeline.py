"""A run over time in equal bins, and its distributions thinned: to be drawn, never computed on."""

from dataclasses import dataclass

from loadgen.model.columns import Floats


@dataclass(frozen=True, slots=True)
class Curve:
    """The empirical distribution of one metric at one point: share `frac` is at most `value`.

    Thinned to quantiles; `n` values were there. Rising in both.
    """

    metric: str
    point: int
    n: int
    value: Floats
    frac: Floats


@dataclass(frozen=True, slots=True)
class Timeline:
    """All of a run; float64[n_bins], NaN where a bin has nothing to tell.

    `ttft_*` are of the requests that were due in a bin, `send_lag_max_s` too; `failed` of those
    that ended in it.
    """

    start_at_ns: int
    bin_s: float
    in_flight: Floats
    """Mean over the bin."""
    out_tps: Floats
    ttft_p50_s: Floats
    ttft_max_s: Floats
    send_lag_max_s: Floats
    failed: Floats
    curves: tuple[Curve, ...] = ()
