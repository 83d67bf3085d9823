"""What the user says of the system under test. Declared, never observed, never mixed with it."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

Billions = Annotated[float, Meta(gt=0, le=100_000)]
ParamBytes = Annotated[float, Meta(gt=0, le=8)]
CacheBytes = Annotated[float, Meta(ge=0, le=1e8)]
Count = Annotated[int, Meta(ge=1)]
MemoryGb = Annotated[float, Meta(gt=0, le=10_000)]
BandwidthTbps = Annotated[float, Meta(gt=0, le=1_000)]
Peaks = Annotated[dict[str, Annotated[float, Meta(gt=0, le=10_000_000)]], Meta(min_length=1)]
"""Dense 10^12 FLOP/s by number format: bf16, fp8, fp4."""
Watts = Annotated[float, Meta(gt=0, le=20_000)]
StepTok = Annotated[float, Meta(ge=1, le=64)]
Said = Annotated[str, Meta(min_length=1, max_length=400)]
Digest = Annotated[str, Meta(pattern="^(.+@)?sha256:[0-9a-f]{64}$")]
"""A container image by content: `sha256:...`, with or without its name before an `@`."""


class DeclaredModel(Struct, frozen=True, forbid_unknown_fields=True):
    """The model as its user describes it; parameters in 10^9, bytes as they are."""

    params_total_b: Billions
    weight_bytes_per_param: ParamBytes
    name: str = ""
    params_active_b: Billions | None = None
    """None: a dense model, each token uses all of them."""
    kv_bytes_per_token: CacheBytes | None = None
    """None: not said; floors then leave the cache out."""
    layers: Count | None = None
    context_tok: Count | None = None
    revision: Said | None = None
    """Which weights: a tag, a commit, a date."""
    source: str = ""


class DeclaredGpu(Struct, frozen=True, forbid_unknown_fields=True):
    """One of the GPUs that serve a replica: 10^9 bytes, 10^12 bytes/s, dense 10^12 FLOP/s."""

    name: str
    memory_gb: MemoryGb
    bandwidth_tbps: BandwidthTbps
    dense_tflops: Peaks
    tdp_w: Watts | None = None
    source: str = ""


class DeclaredEngine(Struct, frozen=True, forbid_unknown_fields=True):
    """What serves: name and version as `/version` tells them, the flags it was started with."""

    name: Said | None = None
    version: Said | None = None
    flags: Said | None = None
    image_digest: Digest | None = None


class DeclaredPrecision(Struct, frozen=True, forbid_unknown_fields=True):
    """Number formats by name (fp4, fp8, bf16) of weights, activations and cache."""

    weights: Said | None = None
    activations: Said | None = None
    kv: Said | None = None


class DeclaredTopology(Struct, frozen=True, forbid_unknown_fields=True):
    """How the GPUs share the work: tensor, pipeline, expert and data parallel."""

    tp: Count | None = None
    pp: Count | None = None
    ep: Count | None = None
    dp: Count | None = None
    disaggregated: bool | None = None
    """Prefill and decode on GPUs of their own."""
    interconnect: Said | None = None


class DeclaredSystem(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole: `gpus_per_replica` GPUs share one copy of the weights, `replicas` copies serve."""

    model: DeclaredModel
    gpu: DeclaredGpu
    gpus_per_replica: Count = 1
    replicas: Count = 1
    compute_format: str | None = None
    """Number format of the matrix products; None: the fastest that the GPU has."""
    tok_per_step: StepTok = 1.0
    """Tokens that one forward pass may yield: 1 + draft length with speculative decoding."""
    engine: DeclaredEngine = DeclaredEngine()
    precision: DeclaredPrecision = DeclaredPrecision()
    topology: DeclaredTopology = DeclaredTopology()
    speculation: Said | None = None
    """The method, or `none`."""
    power_cap_w: Watts | None = None
    """Of one GPU, where it is set below its rating."""
    driver: Said | None = None
    client: Said | None = None
    """Where the client stands: same host, same rack, over which network."""
    schema: Literal["system/1"] = "system/1"

    @property
    def params_active(self) -> float:
        """Parameters that one token uses."""
        return (self.model.params_active_b or self.model.params_total_b) * 1e9

    @property
    def replica_bandwidth_bps(self) -> float:
        """Bytes/s of the GPUs that share one copy of the weights."""
        return self.gpus_per_replica * self.gpu.bandwidth_tbps * 1e12

    @property
    def replica_memory_bytes(self) -> float:
        """Bytes of the GPUs that share one copy of the weights."""
        return self.gpus_per_replica * self.gpu.memory_gb * 1e9

    @property
    def replica_flops(self) -> float:
        """Dense peak FLOP/s of one replica, in the declared format, else in the fastest."""
        peaks = self.gpu.dense_tflops
        peak = peaks[self.compute_format] if self.compute_format else max(peaks.values())
        return self.gpus_per_replica * peak * 1e12

    @property
    def gpus(self) -> int:
        """GPUs of the whole system."""
        return self.gpus_per_replica * self.replicas
