"""What a machine can't outrun: floors, bounds and unit slips as pure formulas with their sources.

Plain floats in SI units go in and come out (bytes, bytes/s, FLOP/s, seconds, watts). Knows no run,
no claim and no table of facts. A bound is not a prediction: real systems reach a part of it.
"""

from loadgen.physics.money import (
    MTOK,
    Split,
    billed_usd_per_s,
    capital_recovery,
    owned_usd_per_h,
    per_mtok,
    power_usd_per_h,
    split_by_ratio,
    split_by_time,
    usd_per_second,
)
from loadgen.physics.roofline import (
    cached_frac_least,
    compute_tps_most,
    decode_step_least_s,
    flop_per_tok,
    gpus_least,
    joules_per_tok,
    memory_bytes_least,
    power_most_w,
    prefill_least_s,
    touched_params,
    ttft_least_s,
    usd_per_mtok,
)
from loadgen.physics.slips import SLIPS, Band, Slip, per_system_slips, unit_slips

__all__ = [
    "MTOK",
    "SLIPS",
    "Band",
    "Slip",
    "Split",
    "billed_usd_per_s",
    "cached_frac_least",
    "capital_recovery",
    "compute_tps_most",
    "decode_step_least_s",
    "flop_per_tok",
    "gpus_least",
    "joules_per_tok",
    "memory_bytes_least",
    "owned_usd_per_h",
    "per_mtok",
    "per_system_slips",
    "power_most_w",
    "power_usd_per_h",
    "prefill_least_s",
    "split_by_ratio",
    "split_by_time",
    "touched_params",
    "ttft_least_s",
    "unit_slips",
    "usd_per_mtok",
    "usd_per_second",
]
