"""Rules P2 to P7: floors, peaks, capacity and unit slips that a printed value must respect.

P1, the decode floor of the headline number itself, is asked of each reading (`readings.py`).
"""

from loadgen import physics
from loadgen.audit.printed import Number, read_number, read_seconds
from loadgen.audit.subject import READ_BYTES, STORED_BYTES, Subject
from loadgen.model.claim import Latencies, Power, Ruling

LEAST_TTFT_S = 1e-3
"""A request, its scheduling, one forward pass of every layer and the way back take longer."""
USUAL_MFU = 0.4
"""Share of the dense peak that good prefill reaches; said beside every use."""


def compute_ceiling(tps_per_gpu: Number, subject: Subject, src: str) -> list[Ruling]:
    """P3: tokens a second and GPU against the dense peak; what is above it came from a cache."""
    if subject.gpu is None or subject.params_prefill is None or subject.params_decode is None:
        return []
    peaks = subject.gpu.dense_tflops
    fastest = max(peaks, key=lambda name: peaks[name])
    if len(subject.precisions) == 1 and subject.precisions[0] in peaks:
        fastest = subject.precisions[0]
    flops = peaks[fastest] * 1e12
    most = physics.compute_tps_most(subject.params_prefill, flops)
    said = (
        f"{tps_per_gpu.value:,.10g} tok/s a GPU against at most {most:,.0f} that {subject.gpu_name}"
        f" can prefill in dense {fastest.upper()} ({subject.params_prefill / 1e9:g}B active)"
    )
    share = physics.cached_frac_least(subject.params_prefill, tps_per_gpu.value, flops)
    usual = physics.cached_frac_least(subject.params_prefill, tps_per_gpu.value, flops, USUAL_MFU)
    if share > 0:
        decode = physics.cached_frac_least(subject.params_decode, tps_per_gpu.value, flops)
        text = (
            f"{said}: above the peak unless at least {share:.0%} came from a cache"
            f" ({usual:.0%} at {USUAL_MFU:.0%} of the peak, {decode:.0%} if all were decoded)"
        )
        return [Ruling("P3", "warn", text, src)]
    if usual > 0:
        text = f"{said}: at {USUAL_MFU:.0%} of the peak at least {usual:.0%} came from a cache"
        return [Ruling("P3", "note", text, src)]
    return [Ruling("P3", "ok", said, src)]


def capacity(subject: Subject) -> list[Ruling]:
    """P4: the weights fit into the memory of the GPUs that are said to be used."""
    if subject.gpu is None or subject.params_total is None or subject.gpus_used is None:
        return []
    smallest = min(STORED_BYTES[name] for name in subject.precisions)
    needed = physics.memory_bytes_least(subject.params_total, smallest)
    held = subject.gpus_used * subject.gpu.memory_gb * 1e9
    text = (
        f"weights take at least {needed / 1e9:,.0f} GB, {subject.gpus_used} x {subject.gpu_name}"
        f" hold {held / 1e9:,.0f} GB"
    )
    return [Ruling("P4", "ok" if needed <= held else "contradiction", text)]


def powers(said: Power) -> list[Ruling]:
    """P5: joules a token = watts / tokens a second."""
    watts, tps, joules = (read_number(v) for v in (said.watts, said.tps, said.joules_per_tok))
    made = physics.joules_per_tok(watts.value, tps.value)
    low = physics.joules_per_tok(watts.low, tps.high)
    high = physics.joules_per_tok(watts.high, max(tps.low, 1e-12))
    text = f"{watts.text} W over {tps.text} tok/s are {made:.4g} J a token"
    if joules.low <= high and low <= joules.high:
        return [Ruling("P5", "ok", text, said.src)]
    slips = (("kW for W", 1e3), ("tokens a watt-second for joules a token", 1 / made**2))
    for name, factor in slips:
        if joules.holds(made * factor):
            return [
                Ruling(
                    "P7", "contradiction", f"{text}, not {joules.text}: probably {name}", said.src
                )
            ]
    return [Ruling("P5", "contradiction", f"{text}, not {joules.text}", said.src)]


def latencies(said: Latencies, subject: Subject) -> list[Ruling]:
    """P2, P6, P7: first-token and token times above their floors, and the slip that explains.

    What a slip explains is a warning; what nothing explains is a contradiction.
    """
    return [*_first_token(said), *_token_gap(said, subject)]


def _first_token(said: Latencies) -> list[Ruling]:
    if not said.ttft:
        return []
    value, unit = read_seconds(said.ttft)
    if value.high >= LEAST_TTFT_S:
        return [Ruling("P2", "ok", f"TTFT {said.ttft} is above the least there can be", said.src)]
    text = f"TTFT {said.ttft} is shorter than any request's way there and back"
    if unit != "ms":
        return [Ruling("P6", "contradiction", text, said.src)]
    slip = f"TTFT {said.ttft}: probable slip of s for ms ({value.value * 1e3:g} s)"
    return [Ruling("P6", "warn", text, said.src), Ruling("P7", "warn", slip, said.src)]


def _token_gap(said: Latencies, subject: Subject) -> list[Ruling]:
    if not said.tpot:
        return []
    value, unit = read_seconds(said.tpot)
    floor_s = _tpot_floor_s(subject)
    if value.value > 0 and (floor_s is None or value.high >= floor_s):
        return [Ruling("P6", "ok", f"TPOT {said.tpot} is above the decode floor", said.src)]
    text = f"TPOT {said.tpot} is no measured value: a token takes time"
    slip = _as_seconds(said, value) if unit == "ms" else []
    return [Ruling("P6", "warn" if slip else "contradiction", text, said.src), *slip]


def _as_seconds(said: Latencies, value: Number) -> list[Ruling]:
    """P7: whether the printed milliseconds are right as seconds, by the speeds beside them."""
    if not said.tps_per_user:
        return []
    slow, fast = min(said.tps_per_user), max(said.tps_per_user)
    if not value.low * 1e3 <= 1 / fast <= value.high * 1e3:
        return []
    text = (
        f"TPOT {said.tpot}: probable slip of s for ms; {slow:g} to {fast:g} tok/s a user are"
        f" {1 / fast:g} to {1 / slow:g} s a token, printed in seconds as {value.text.split()[0]}"
    )
    return [Ruling("P7", "warn", text, said.src)]


def _tpot_floor_s(subject: Subject) -> float | None:
    """The decode floor on the whole domain, the generous bound; None where facts are missing."""
    if subject.gpu is None or subject.params_decode is None:
        return None
    gpus = subject.gpus_used or subject.domain_gpus or 1
    weight_bytes = min(READ_BYTES[name] for name in subject.precisions)
    bandwidth = gpus * subject.gpu.bandwidth_tbps * 1e12
    return physics.decode_step_least_s(subject.params_decode, weight_bytes, bandwidth)
