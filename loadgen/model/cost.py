"""What tokens cost, by named basis, method and utilisation; and where the time of a run went."""

from typing import Literal

from msgspec import Struct

SplitMethod = Literal["all_in", "server_time", "regression", "api_ratio"]


class CostRow(Struct, frozen=True):
    """USD per 10^6 tokens at one point, price tier, utilisation and split method.

    None where the method can't give it; `reason` then says why. `total` spreads the cost over
    all tokens, `output_all_in` over output tokens alone; `input`, `cached`, `output` share it.
    """

    point: int
    tier: str
    """The price row's name: declared, or a tier of `facts/prices.yaml`."""
    usd_per_gpu_h: float
    gpus: float
    utilisation: float
    """Sold over peak capacity, 0 to 1."""
    method: SplitMethod
    total: float | None = None
    output_all_in: float | None = None
    input: float | None = None
    """Uncached prompt tokens."""
    cached: float | None = None
    output: float | None = None
    reason: str = ""
    source: str = ""
    dated: str = ""
    input_frac: float | None = None
    """Share of the price that the method puts on uncached prompt tokens."""
    in_out_ratio: float | None = None
    """Prompt tokens, cached ones too, per output token at this point."""
    cached_frac: float | None = None
    """Cached share of the prompt tokens; None where nobody tells."""
    cached_basis: str = ""
    """Who tells: usage, server (its counters), design (prompts that share nothing)."""


class BreakEven(Struct, frozen=True):
    """From which use on serving it oneself is cheaper than an API's list price."""

    point: int
    tier: str
    api: str
    api_usd: float
    """What the API would bill for the point's tokens a second, USD a second."""
    own_usd: float
    """What the GPUs cost a second, USD."""
    utilisation: float | None
    """Own is cheaper above this utilisation; None: never, within this capacity."""
    source: str = ""
    dated: str = ""
    assumes: str = ""
    """What the bill rests on beside the list price."""


class PhaseFit(Struct, frozen=True):
    """Prefill and decode apart, at one point: E2E = base + input x a + output x b.

    Rates with 95 % intervals; None with a `reason` (`not identifiable: ...`) where the requests'
    lengths don't vary enough to tell the two apart.
    """

    point: int
    n: int
    prefill_tps: float | None = None
    """Uncached prompt tokens a second of one request."""
    prefill_low_tps: float | None = None
    prefill_high_tps: float | None = None
    decode_tps: float | None = None
    decode_low_tps: float | None = None
    decode_high_tps: float | None = None
    base_s: float | None = None
    prefill_time_frac: float | None = None
    """Share of the requests' time that their prompts took."""
    decode_time_frac: float | None = None
    prefill_j_per_tok: float | None = None
    decode_j_per_tok: float | None = None
    reason: str = ""
