"""Price tables: what a GPU-hour costs by tier, what owning one costs, what APIs bill a token.

Built in (`loadgen/facts/prices.yaml`) or the user's (`--prices FILE`); US dollars. `source` and
`dated` of a row default to the file's own `source` and `retrieved`.
"""

from datetime import date
from typing import Annotated, Literal

from msgspec import Meta, Struct

UsdAnHour = Annotated[float, Meta(gt=0, le=10_000)]
UsdAMillion = Annotated[float, Meta(ge=0, le=100_000)]
Usd = Annotated[float, Meta(ge=0, le=1e9)]
Kilowatts = Annotated[float, Meta(gt=0, le=1_000)]
Years = Annotated[float, Meta(gt=0, le=50)]
Frac = Annotated[float, Meta(ge=0, le=1)]
Times = Annotated[float, Meta(gt=0, le=10_000)]
Overhead = Annotated[float, Meta(ge=1, le=10)]


class PriceTier(Struct, frozen=True, forbid_unknown_fields=True):
    """One way to get one GPU for one hour."""

    usd_per_gpu_h: UsdAnHour
    source: str = ""
    dated: date | None = None
    note: str = ""


class OwnCost(Struct, frozen=True, forbid_unknown_fields=True):
    """What owning one GPU costs, its share of host, network and building included."""

    capex_usd_per_gpu: Usd
    years: Years
    kw_per_gpu: Kilowatts
    usd_per_kwh: Annotated[float, Meta(ge=0, le=100)]
    interest_frac: Frac = 0.0
    opex_usd_per_gpu_year: Usd = 0.0
    """Staff, space, repairs a year; power apart."""
    pue: Overhead = 1.0
    """Facility power over IT power; 1 where `kw_per_gpu` has cooling in it."""
    source: str = ""
    dated: date | None = None
    note: str = ""


class GpuPrices(Struct, frozen=True, forbid_unknown_fields=True):
    """One GPU's tiers by name; `kw_per_gpu` is all-in, cooling and network in."""

    tiers: dict[str, PriceTier] = {}
    tco: OwnCost | None = None
    kw_per_gpu: Kilowatts | None = None


class ApiPrice(Struct, frozen=True, forbid_unknown_fields=True):
    """What an API bills: USD per 10^6 tokens. `cached` None: as much as any prompt token."""

    input: UsdAMillion
    output: UsdAMillion
    serves: tuple[str, ...]
    """Names under which servers serve this model; compared without owner, case and marks."""
    cached: UsdAMillion | None = None
    source: str = ""
    dated: date | None = None
    note: str = ""


class ApiRatio(Struct, frozen=True, forbid_unknown_fields=True):
    """Prices of output and cached tokens over that of an uncached prompt token, as declared."""

    output: Times
    cached: Frac = 1.0


class PriceTable(Struct, frozen=True, forbid_unknown_fields=True):
    """A dated table of prices and its source."""

    retrieved: date
    source: str
    schema: Literal["prices/1"] = "prices/1"
    gpus: dict[str, GpuPrices] = {}
    api: dict[str, ApiPrice] = {}
    api_ratio: ApiRatio | None = None
    """Overrules the ratio of API rows in the split method `api_ratio`."""
