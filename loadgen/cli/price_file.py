"""`--prices FILE`: the user's price table, laid over the built-in one row by row."""

from pathlib import Path

from loadgen.errors import InputError
from loadgen.model.prices import PriceTable
from loadgen.specs import load_yaml


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
