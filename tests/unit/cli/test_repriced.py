"""`loadgen report --gpu-price`: other prices over a stored run, whose folder stays as it is."""

from pathlib import Path

import pytest

from loadgen.cli.options import MoneyOptions
from loadgen.cli.price_file import with_prices
from loadgen.errors import UsageError
from tests.unit.report.examples import plan_of

TABLE = "retrieved: 2026-11-30\nsource: q\ngpus: {card: {tiers: {lease: {usd_per_gpu_h: 2}}}}\n"


def test_nothing_said_changes_nothing() -> None:
    assert with_prices(MoneyOptions()) is None


def test_what_is_said_counts_over_the_runs_own_and_the_rest_stays(tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(TABLE, encoding="utf-8")
    plan = plan_of(["closed:1"], prices={"gpus": 8.0, "gpu_usd_per_h": 2.0})
    dearer = with_prices(MoneyOptions(gpu_price=4.0))
    tabled = with_prices(MoneyOptions(prices=str(file)))

    assert dearer is not None
    assert tabled is not None
    assert dearer(plan).prices == {"gpus": 8.0, "gpu_usd_per_h": 4.0}
    assert dearer(plan).price_table is None
    assert tabled(plan).prices == plan.prices
    assert tabled(plan).price_table is not None
    assert dearer(tabled(plan)).price_table is not None
    assert plan.prices["gpu_usd_per_h"] == 2.0


@pytest.mark.parametrize("said", [{"gpus": 0}, {"gpu_price": 0.0}, {"gpu_price": float("nan")}])
def test_prices_that_are_none_are_refused(said: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="--gpu"):
        with_prices(MoneyOptions(**said))  # type: ignore[arg-type]
