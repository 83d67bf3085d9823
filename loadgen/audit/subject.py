"""What a claim says of the system it measured, joined with the tables of facts."""

from dataclasses import dataclass

from loadgen.errors import InputError
from loadgen.facts import GpuRow, load_gpus, load_prices
from loadgen.model.claim import Claim, Fact
from loadgen.model.prices import GpuPrices

STORED_BYTES = {"fp4": 4.5 / 8, "fp8": 1.0, "bf16": 2.0}
"""Bytes a weight takes in memory; FP4 with one 8-bit scale for each 16 weights (NVFP4)."""
READ_BYTES = {"fp4": 0.5, "fp8": 1.0, "bf16": 2.0}
"""Least bytes a weight costs to read: scales left out, so that a floor never accuses falsely."""


@dataclass(frozen=True, slots=True)
class Subject:
    """None where the claim doesn't say and no table knows; parameters as counts."""

    gpu_name: str = ""
    gpu: GpuRow | None = None
    price: GpuPrices | None = None
    domain_gpus: int | None = None
    """GPUs of the whole rack or node that is named."""
    gpus_used: int | None = None
    params_total: float | None = None
    params_decode: float | None = None
    params_prefill: float | None = None
    precisions: tuple[str, ...] = tuple(STORED_BYTES)
    usd_per_gpu_h: float | None = None
    rack_w: float | None = None

    @property
    def hour_usd(self) -> float | None:
        """Dollars a GPU-hour: the claim's own rate, else the table's cheapest."""
        if self.usd_per_gpu_h is not None:
            return self.usd_per_gpu_h
        tiers = self.price.tiers.values() if self.price else ()
        return min((tier.usd_per_gpu_h for tier in tiers), default=None)


def subject_of(claim: Claim) -> Subject:
    """The claim's system.

    Raises: InputError for a fact whose value can't be one.
    """
    hw = _fact(claim, "hw").v
    named = hw if isinstance(hw, dict) else {}
    name = str(named.get("gpu") or (hw if isinstance(hw, str) else "") or "")
    precision = _fact(claim, "precision").v
    precisions = (str(precision).lower(),) if precision else tuple(STORED_BYTES)
    unknown = [name for name in precisions if name not in STORED_BYTES]
    if unknown:
        raise InputError(
            f"`{claim.id}` at `$.facts.precision.v`: one of {', '.join(STORED_BYTES)} was expected;"
            f" the value is {precision!r}"
        )
    total, decode = _billions(claim, "params_total_b"), _billions(claim, "params_active_decode_b")
    rack_kw = _number(claim, "rack_kw")
    return Subject(
        gpu_name=name,
        gpu=load_gpus().get(name.upper()),
        price=load_prices().gpus.get(name.upper()),
        domain_gpus=_count(claim, named, "domain_gpus"),
        gpus_used=_count(claim, named, "gpus_used"),
        params_total=total,
        params_decode=decode or total,
        params_prefill=_billions(claim, "params_active_prefill_b") or decode or total,
        precisions=precisions,
        usd_per_gpu_h=_number(claim, "usd_per_gpu_h"),
        rack_w=None if rack_kw is None else rack_kw * 1e3,
    )


def _fact(claim: Claim, name: str) -> Fact:
    return claim.facts.get(name, Fact())


def _billions(claim: Claim, name: str) -> float | None:
    value = _number(claim, name)
    return None if value is None else value * 1e9


def _number(claim: Claim, name: str) -> float | None:
    value = _fact(claim, name).v
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise InputError(
            f"`{claim.id}` at `$.facts.{name}.v`: a number above 0 was expected;"
            f" the value is {value!r}"
        )
    return float(value)


def _count(claim: Claim, named: dict[object, object], name: str) -> int | None:
    value = named.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InputError(
            f"`{claim.id}` at `$.facts.hw.v.{name}`: a whole number above 0 was expected;"
            f" the value is {value!r}"
        )
    return value
