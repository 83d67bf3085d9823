"""Every field case of our scope has its line in docs/field-cases.md, and its tests exist."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PAGE = (TESTS.parent / "docs" / "field-cases.md").read_text(encoding="utf-8")
IDS = {
    "S": (1, 3, 4, 6, 8, 9, 10, 12, 14, 17, 18, 20, 21, 24, 25, 26, 27),
    "M": (2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, 16, 19, 20, 21, 22, 24, 25, 26),
    "L": (1, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16, 17, 19, 20, 21, 22),
    "E": (2, 3, 5, 6, 8, 9, 10),
    "O": (2, 3, 4, 5),
    "U": (1,),
}
ROWS = re.findall(r"^\| ([A-Z]\d\d) \| (.+?) \| (.+?) \|$", PAGE, re.MULTILINE)


def test_every_case_has_one_line() -> None:
    wanted = {f"{letter}{number:02}" for letter, numbers in IDS.items() for number in numbers}
    named = [case for case, _, _ in ROWS]
    assert len(named) == len(set(named))
    assert set(named) == wanted


@pytest.mark.parametrize(("case", "shown"), [(case, shown) for case, _, shown in ROWS])
def test_every_named_test_exists(case: str, shown: str) -> None:
    places = re.findall(r"`([\w/]+\.py)::(\w+)`", shown)
    assert places, f"{case} names no test"
    for file, name in places:
        text = (TESTS / file).read_text(encoding="utf-8")
        assert re.search(rf"^(async )?def {name}\(", text, re.MULTILINE), f"{case}: {file}::{name}"
