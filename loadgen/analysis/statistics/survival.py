"""Quantiles of times that were not all seen to their end: Kaplan-Meier in numpy."""

import numpy as np

from loadgen.model.table import Flags, Floats

ROUNDING = 1e-12


def kaplan_meier(values: Floats, censored: Flags) -> tuple[Floats, Floats]:
    """(times, cdf): the times at which something ended, rising, and the share ended by each.

    `censored` values are lower bounds; one that equals an ended time counts as at risk there.
    Source: Kaplan and Meier 1958.
    """
    ended = np.sort(values[~censored])
    times, deaths = np.unique(ended, return_counts=True)
    at_risk = len(values) - np.searchsorted(np.sort(values), times, side="left")
    left: Floats = np.cumprod(1.0 - deaths / at_risk).astype(np.float64)
    return times, 1.0 - left


def censored_quantile(values: Floats, censored: Flags, fraction: float) -> float | None:
    """The first time by which that share has ended; None where the estimate never gets so far."""
    times, ended_frac = kaplan_meier(values, censored)
    reached = np.flatnonzero(ended_frac >= fraction - ROUNDING)
    return float(times[reached[0]]) if len(reached) else None
