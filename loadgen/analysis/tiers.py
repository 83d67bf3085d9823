"""Which prices concern a run: the declared one, every tier of its GPU, APIs that serve its model.

The user's table (`--prices FILE`) comes before the built-in one, row by row.
"""

from dataclasses import dataclass
from datetime import date

from loadgen import physics
from loadgen.facts import load_prices
from loadgen.facts.names import plain_model, row_of
from loadgen.model.plan import Plan
from loadgen.model.prices import ApiPrice, ApiRatio, GpuPrices, OwnCost, PriceTable

DECLARED = "declared"
OWNED = "own (tco)"
W_PER_KW = 1000.0


@dataclass(frozen=True, slots=True)
class Tier:
    """One way to pay for one GPU-hour."""

    name: str
    usd_per_gpu_h: float
    source: str
    dated: str


@dataclass(frozen=True, slots=True)
class Api:
    """An API's list price for the model that was measured."""

    name: str
    price: ApiPrice
    source: str
    dated: str

    @property
    def usd_per_mtok(self) -> tuple[float, float, float]:
        """Uncached, cached and output tokens."""
        cached = self.price.input if self.price.cached is None else self.price.cached
        return self.price.input, cached, self.price.output


def gpus_of(plan: Plan) -> float | None:
    """GPUs whose price is meant; one where only a price was said, None where neither was."""
    one = 1.0 if "gpu_usd_per_h" in plan.prices else None
    return plan.prices.get("gpus", one)


def tiers_of(plan: Plan, gpu_names: tuple[str, ...] = ()) -> tuple[Tier, ...]:
    """The declared price first, then the tiers of the GPU that is declared or was observed."""
    tiers = []
    declared = plan.prices.get("gpu_usd_per_h")
    if declared is not None:
        tiers.append(Tier(DECLARED, declared, "declared by the user", ""))
    for table in _tables(plan):
        gpu = _gpu(table, plan, gpu_names)
        if gpu is None:
            continue
        known = {tier.name for tier in tiers}
        tiers += [
            Tier(name, row.usd_per_gpu_h, *_cited(table, row.source, row.dated, row.note))
            for name, row in gpu.tiers.items()
            if name not in known
        ]
        if gpu.tco is not None and OWNED not in known:
            cited = _cited(table, gpu.tco.source, gpu.tco.dated, gpu.tco.note)
            tiers.append(Tier(OWNED, owned_usd_per_h(gpu.tco), *cited))
    return tuple(tiers)


def provisioned_w(plan: Plan, gpu_names: tuple[str, ...] = ()) -> float | None:
    """What the declared GPUs may draw, cooling and network in; None where no row says it."""
    gpus = plan.prices.get("gpus")
    rows = (_gpu(table, plan, gpu_names) for table in _tables(plan))
    rated = next((row.kw_per_gpu for row in rows if row is not None and row.kw_per_gpu), None)
    return None if gpus is None or rated is None else gpus * rated * W_PER_KW


def owned_usd_per_h(own: OwnCost) -> float:
    """Dollars a GPU-hour of owning it."""
    return physics.owned_usd_per_h(
        own.capex_usd_per_gpu,
        physics.capital_recovery(own.interest_frac, own.years),
        own.opex_usd_per_gpu_year,
        physics.power_usd_per_h(own.kw_per_gpu, own.pue, own.usd_per_kwh),
    )


def apis_of(plan: Plan) -> tuple[Api, ...]:
    """APIs that list a price for the measured model, the user's first."""
    wanted = plain_model(plan.target.model)
    found: dict[str, Api] = {}
    for table in _tables(plan):
        for name, row in table.api.items():
            if name not in found and wanted in {plain_model(served) for served in row.serves}:
                found[name] = Api(name, row, *_cited(table, row.source, row.dated, row.note))
    return tuple(found.values()) if wanted else ()


def ratio_of(plan: Plan) -> tuple[ApiRatio, str] | None:
    """Output and cached price over that of input, and who says so; None where nobody does."""
    table = plan.price_table
    if table is not None and table.api_ratio is not None:
        return table.api_ratio, table.source
    for api in apis_of(plan):
        price, cached, output = api.usd_per_mtok
        if price > 0 and output > 0:
            return ApiRatio(output / price, cached / price), f"{api.name}, {api.dated}"
    return None


def _tables(plan: Plan) -> tuple[PriceTable, ...]:
    own = () if plan.price_table is None else (plan.price_table,)
    return (*own, load_prices())


def _gpu(table: PriceTable, plan: Plan, names: tuple[str, ...]) -> GpuPrices | None:
    """The row of the GPU that was named; of a user's table with one row, that one."""
    said = (plan.system.gpu.name,) if plan.system else names
    for name in said:
        row = row_of(table.gpus, name)
        if row is not None:
            return row
    only = list(table.gpus.values())
    return only[0] if table is plan.price_table and not said and len(only) == 1 else None


def _cited(table: PriceTable, source: str, dated: date | None, note: str) -> tuple[str, str]:
    """Source and date of a row, else those of its table."""
    text = " ".join((source or table.source).split())
    return f"{text}; {note}" if note else text, (dated or table.retrieved).isoformat()
