"""What the user says money is: `--gpus`, `--gpu-price`, and the price table of `--prices FILE`."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from loadgen.cli.options import MoneyOptions
from loadgen.errors import InputError, UsageError
from loadgen.model.plan import Plan
from loadgen.model.prices import PriceTable
from loadgen.specs import load_yaml


@dataclass(frozen=True, slots=True)
class Money:
    """`prices` as `Plan.prices` has them, as far as they were said; the table if one was named."""

    prices: dict[str, float]
    table: PriceTable | None


def declared_money(options: MoneyOptions) -> Money:
    """What the options say.

    Raises:
        UsageError: no GPU, or a price that is none.
        InputError: a price file that can't be used.

    """
    prices = {}
    if options.gpus is not None:
        if options.gpus < 1:
            raise UsageError(f"`--gpus {options.gpus}`: at least 1 is needed")
        prices["gpus"] = float(options.gpus)
    if options.gpu_price is not None:
        if not 0 < options.gpu_price < math.inf:
            raise UsageError(f"`--gpu-price {options.gpu_price}`: dollars an hour, above 0")
        prices["gpu_usd_per_h"] = options.gpu_price
    named = options.prices
    return Money(prices, None if named is None else load_price_file(Path(named)))


def with_prices(options: MoneyOptions) -> Callable[[Plan], Plan] | None:
    """What gives a plan these prices over its own; None where nothing was said.

    Raises: as `declared_money`.
    """
    said = declared_money(options)
    if not said.prices and said.table is None:
        return None

    def priced(plan: Plan) -> Plan:
        table = plan.price_table if said.table is None else said.table
        return msgspec.structs.replace(plan, prices=plan.prices | said.prices, price_table=table)

    return priced


def load_price_file(path: Path) -> PriceTable:
    """The table of a YAML file.

    Raises:
        InputError: unreadable, a value that can't be, or nothing in it; names file, path inside
            it, value and what was expected.

    """
    table = load_yaml(path, PriceTable)
    if not table.gpus and not table.api and table.api_ratio is None:
        raise InputError(
            f"`{path}` at `$`: `gpus`, `api` or `api_ratio` was expected; none is there",
            "docs/howto-energy-and-cost.md shows one of each",
        )
    for name, gpu in table.gpus.items():
        if not gpu.tiers and gpu.tco is None:
            raise InputError(
                f"`{path}` at `$.gpus.{name}`: `tiers` or `tco` was expected; neither is there"
            )
    return table
