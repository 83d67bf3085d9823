"""What the headline number can mean: each reading with what it would take, or what kills it."""

from loadgen import physics
from loadgen.audit.subject import READ_BYTES, STORED_BYTES, Subject
from loadgen.model.claim import Claim, Reading

REACHABLE = 0.8
"""Share of memory bandwidth that the best decode kernels reach; a judgement, said where used."""
IDLE_FRAC = 0.05
"""A system whose GPUs each yield less than this share of one user's bound would stand idle."""
GPUS = (1, 8)


def readings_of(claim: Claim, subject: Subject) -> tuple[Reading, ...]:
    """Per stream in each number format, then aggregates of one GPU, a node and the whole domain.

    Empty where model or GPU aren't known well enough for any arithmetic, and where the number is
    said to be no rate of output: only that can be mistaken for another.
    """
    if subject.gpu is None or subject.params_decode is None or subject.params_total is None:
        return ()
    if claim.value.unit != "tok/s" or claim.value.quantity in ("total", "per_gpu_total"):
        return ()
    rate = claim.value.num
    streams = tuple(_per_stream(rate, name, subject) for name in subject.precisions)
    domain = (subject.domain_gpus,) if subject.domain_gpus else ()
    return streams + tuple(_aggregate(rate, gpus, subject) for gpus in (*GPUS, *domain))


def _per_stream(rate_tps: float, precision: str, subject: Subject) -> Reading:
    """One user's decode speed: the fewest GPUs whose memory holds and whose bandwidth carries."""
    gpu = subject.gpu
    assert gpu is not None
    assert subject.params_decode is not None
    assert subject.params_total is not None
    weights = physics.memory_bytes_least(subject.params_total, STORED_BYTES[precision])
    by_memory = physics.gpus_least(weights, gpu.memory_gb * 1e9)
    bandwidth = gpu.bandwidth_tbps * 1e12
    floor_s = physics.decode_step_least_s(subject.params_decode, READ_BYTES[precision], bandwidth)
    share = rate_tps * floor_s
    by_speed = physics.gpus_least(share, REACHABLE)
    gpus = max(by_memory, by_speed, 1)
    most = subject.domain_gpus or subject.gpus_used
    needs = []
    if by_memory > 1:
        needs.append(
            f"at least {by_memory} GPUs: the weights take {weights / 1e9:,.0f} GB,"
            f" one holds {gpu.memory_gb:g}"
        )
    if by_speed > 1:
        step = physics.gpus_least(share, REACHABLE)
        needs.append(
            f"at least {by_speed} GPUs or {step} tokens a step by speculation:"
            f" the floor of one GPU is {floor_s * 1e3:.2f} ms a token"
        )
    text = (
        f"{1e3 / rate_tps:.2f} ms a token; reading {subject.params_decode / 1e9:g}B active weights"
        f" in {precision.upper()} takes {floor_s * 1e3:.2f} ms on one {subject.gpu_name}"
        f" ({share:.0%} of its bandwidth)"
    )
    name = f"one stream's decode speed, {precision.upper()}"
    if most is not None and gpus > most:
        return Reading(name, False, by=("P1",), text=f"{text}: more than {most} GPUs needed")
    return Reading(name, True, "; ".join(needs) or "nothing more", text=text)


def _aggregate(rate_tps: float, gpus: int, subject: Subject) -> Reading:
    """The sum over all users of so many GPUs, with its cost and energy a token."""
    gpu = subject.gpu
    assert gpu is not None
    assert subject.params_decode is not None
    assert subject.params_total is not None
    name = f"aggregate of {gpus} GPU{'s' if gpus > 1 else ''}"
    smallest = min(subject.precisions, key=lambda precision: STORED_BYTES[precision])
    weights = physics.memory_bytes_least(subject.params_total, STORED_BYTES[smallest])
    per_gpu = rate_tps / gpus
    text = f"{per_gpu:,.1f} tok/s per GPU{_cost_of(per_gpu, gpus, subject)}"
    if weights > gpus * gpu.memory_gb * 1e9:
        text = f"{weights / 1e9:,.0f} GB of weights don't fit into {gpus * gpu.memory_gb:g} GB"
        return Reading(name, False, by=("P4",), text=text)
    bound_s = physics.decode_step_least_s(
        subject.params_decode, READ_BYTES[smallest], gpu.bandwidth_tbps * 1e12
    )
    if per_gpu * bound_s < IDLE_FRAC:
        text += f"; one GPU's bandwidth alone allows one user {1 / bound_s:,.0f} tok/s"
        return Reading(name, False, by=("P5", "A3"), text=text)
    return Reading(name, True, "a load that leaves the GPUs far below their bound", text=text)


def _cost_of(per_gpu: float, gpus: int, subject: Subject) -> str:
    """Dollars and joules that the reading would come to, with the rates they rest on."""
    parts = []
    watts = subject.rack_w if gpus == subject.domain_gpus else None
    if watts is None and subject.price is not None and subject.price.kw_per_gpu is not None:
        watts = subject.price.kw_per_gpu * 1e3 * gpus
    if watts is not None:
        joules = physics.joules_per_tok(watts, per_gpu * gpus)
        parts.append(f"about {joules:,.0f} J per token at {watts / 1e3:,.0f} kW")
    if subject.hour_usd is not None:
        usd = physics.usd_per_mtok(subject.hour_usd, per_gpu)
        parts.append(f"${usd:,.4g} per 1M at ${subject.hour_usd:.2f}/GPU-h")
    return "".join(f", {part}" for part in parts)
