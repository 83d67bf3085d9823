"""`--prices FILE`: kept in the plan, refused by the path inside the file."""

import re
from pathlib import Path

import pytest

from loadgen.cli.options import MoneyOptions, SharedOptions
from loadgen.cli.plans import Order, plan_of
from loadgen.cli.price_file import load_price_file
from loadgen.errors import InputError

HEAD = "retrieved: 2026-11-30\nsource: a quote\n"
ORDER = Order("sweep", "http://host:8000", None, ("closed:1",))
PAGE = Path(__file__).parents[3] / "docs" / "howto-energy-and-cost.md"


def written(folder: Path, text: str, head: str = HEAD) -> Path:
    path = folder / "prices.yaml"
    path.write_text(head + text, encoding="utf-8")
    return path


def test_the_example_of_the_page_is_read(tmp_path: Path) -> None:
    blocks = re.findall(r"```yaml\n(.+?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    shown = next(block for block in blocks if "usd_per_gpu_h" in block)
    table = load_price_file(written(tmp_path, shown, head=""))

    assert table.gpus["H200"].tiers["my-lease"].usd_per_gpu_h == 2.10
    assert table.gpus["H200"].tco is not None
    assert table.api


def test_the_table_is_part_of_the_plan(tmp_path: Path) -> None:
    path = written(tmp_path, "gpus: {H200: {tiers: {lease: {usd_per_gpu_h: 2}}}}\n")
    plan = plan_of(ORDER, SharedOptions(money=MoneyOptions(prices=str(path))))

    assert plan.price_table is not None
    assert plan.price_table.gpus["H200"].tiers["lease"].usd_per_gpu_h == 2
    assert plan_of(ORDER, SharedOptions()).price_table is None


@pytest.mark.parametrize(
    ("text", "place", "expected", "value"),
    [
        (
            "gpus: {H200: {tiers: {a: {usd_per_gpu_h: 2}, b: {usd_per_gpu_h: -1}}}}\n",
            "$.gpus.H200.tiers.b.usd_per_gpu_h",
            "a number > 0.0 was expected",
            "-1",
        ),
        (
            "api: {one: {input: 1, output: 2, serves: []}, two: {input: dear, output: 2}}\n",
            "$.api.two.input",
            "a number was expected",
            "'dear'",
        ),
        ("gpus: {B200: {tier: {}}}\n", "$.gpus.B200", "unknown field `tier`", "dict"),
        ("gpus: {B200: {}}\n", "$.gpus.B200", "`tiers` or `tco` was expected", "neither"),
        ("api_ratio: {output: 0}\n", "$.api_ratio.output", "a number > 0.0 was expected", "0"),
        ("api: {}\n", "$", "`gpus`, `api` or `api_ratio` was expected", "none is there"),
    ],
)
def test_a_wrong_value_is_refused_with_its_path(
    tmp_path: Path, text: str, place: str, expected: str, value: str
) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError) as refused:
        load_price_file(path)

    said = str(refused.value)
    assert str(path) in said
    assert f"`{place}`" in said
    assert expected in said
    assert value in said


def test_a_file_without_its_date_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="missing required field `retrieved`"):
        load_price_file(written(tmp_path, "api: {}\n", head="source: x\n"))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.yaml"):
        load_price_file(tmp_path / "none.yaml")
