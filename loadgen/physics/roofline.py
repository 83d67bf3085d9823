"""Rooflines of a decoder-only transformer: what must be read, multiplied, held and powered.

Sources: Pope et al., Efficiently Scaling Transformer Inference, arXiv 2211.05102 (decode is bound
by weights and KV read per step, prefill by FLOPs; a forward pass costs 2 FLOP a parameter and
token); Kaplan et al., arXiv 2001.08361 (2 N FLOP a token, attention scores apart).
"""

import math

FLOP_PER_PARAM = 2.0


def decode_step_least_s(
    params_read: float,
    weight_bytes: float,
    bandwidth_bps: float,
    kv_bytes_read: float = 0.0,
    tok_per_step: float = 1.0,
) -> float:
    """Shortest seconds a token of one stream can take: (weights + KV read) / bandwidth / tokens.

    `params_read` is what one step touches (active parameters for one stream, `touched_params` for
    a batch), `weight_bytes` its bytes a parameter, `kv_bytes_read` the cache that a step reads,
    summed over the batch, `bandwidth_bps` the bytes/s of all GPUs that share the weights, and
    `tok_per_step` what one forward pass yields (1 without speculation). The network doesn't bound
    it: tokens of a stream overlap on the way.
    """
    return (params_read * weight_bytes + kv_bytes_read) / (bandwidth_bps * tok_per_step)


def touched_params(
    params_total: float, params_active: float, experts: int, per_token: int, batch: int
) -> float:
    """Parameters that a decode step of `batch` tokens reads, when routing is even and independent.

    Grows from the active ones to all: S + E p (1 - (1 - k/E)^B) with p = (total - active) / (E - k)
    the size of one expert over all layers and S = active - k p what every token uses. Skewed
    routing touches fewer, so this is an expectation and no floor; the active ones are the floor.
    """
    if experts <= per_token:
        return params_total
    one = (params_total - params_active) / (experts - per_token)
    shared = params_active - per_token * one
    reached = experts * (1.0 - (1.0 - per_token / experts) ** batch)
    return shared + one * reached


def flop_per_tok(params_active: float) -> float:
    """FLOP of one token's forward pass, attention scores left out: 2 a parameter."""
    return FLOP_PER_PARAM * params_active


def prefill_least_s(params_active: float, uncached_tok: float, flops: float) -> float:
    """Shortest seconds to compute a prompt on `flops` FLOP/s; cached tokens cost nothing."""
    return flop_per_tok(params_active) * uncached_tok / flops


def ttft_least_s(
    rtt_s: float, params_active: float = 0.0, uncached_tok: float = 0.0, flops: float = math.inf
) -> float:
    """Shortest seconds from send to first token: the round trip, then the prompt's FLOPs."""
    return rtt_s + prefill_least_s(params_active, uncached_tok, flops)


def compute_tps_most(params_active: float, flops: float) -> float:
    """Most tokens/s, prompt and output together, that `flops` FLOP/s can compute."""
    return flops / flop_per_tok(params_active)


def cached_frac_least(params_active: float, tps: float, flops: float, mfu: float = 1.0) -> float:
    """Least share of `tps` that must have come from a cache: 1 - MFU F / (2 P tps); never below 0.

    `mfu` is the share of the peak that was reached, at most 1.
    """
    return max(0.0, 1.0 - mfu * compute_tps_most(params_active, flops) / tps)


def memory_bytes_least(
    params_total: float, weight_bytes: float, kv_bytes_per_tok: float = 0.0, kv_tok: float = 0.0
) -> float:
    """Bytes that weights and the cache of `kv_tok` tokens take; activations come on top."""
    return params_total * weight_bytes + kv_bytes_per_tok * kv_tok


def gpus_least(needed_bytes: float, gpu_bytes: float) -> int:
    """Fewest GPUs whose memory holds `needed_bytes`."""
    return math.ceil(needed_bytes / gpu_bytes)


def power_most_w(gpus: float, tdp_w: float, host_frac: float = 0.0) -> float:
    """Most watts that `gpus` may draw by their limit; `host_frac` adds CPUs, switches, fans."""
    return gpus * tdp_w * (1.0 + host_frac)


def joules_per_tok(power_w: float, tps: float) -> float:
    """Joules a token at `power_w` watts, all of them put on these tokens."""
    return power_w / tps


def usd_per_mtok(usd_per_gpu_h: float, tps_per_gpu: float, utilisation: float = 1.0) -> float:
    """Dollars a million tokens: $/GPU-h x 1e6 / (3600 s x tok/s a GPU x utilisation).

    All of the GPU's price is put on these tokens; `utilisation` is the share of the rate that is
    sold, at most 1. The formula of published InferenceX and AgentX costs.
    """
    return usd_per_gpu_h * 1e6 / (3600.0 * tps_per_gpu * utilisation)
