"""What a machine can't outrun: floors, bounds and unit slips as pure formulas with their sources.

Plain floats in SI units go in and come out (bytes, bytes/s, FLOP/s, seconds, watts). Knows no run,
no claim and no table of facts. A bound is not a prediction: real systems reach a part of it.
"""

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
    "SLIPS",
    "Band",
    "Slip",
    "cached_frac_least",
    "compute_tps_most",
    "decode_step_least_s",
    "flop_per_tok",
    "gpus_least",
    "joules_per_tok",
    "memory_bytes_least",
    "per_system_slips",
    "power_most_w",
    "prefill_least_s",
    "touched_params",
    "ttft_least_s",
    "unit_slips",
    "usd_per_mtok",
]
