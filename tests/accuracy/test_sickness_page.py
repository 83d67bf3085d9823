"""The page of sicknesses names tests that are there, and every test of one stands on the page."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "sicknesses.md"
OURS = ("test_sickness.py", "test_sick_servers.py")


def named() -> set[tuple[str, str]]:
    """(file, test) of the page, parameters left out."""
    found = re.findall(r"`(\S+\.py)::(\w+)[^`]*`", PAGE.read_text(encoding="utf-8"))
    return {(file if "/" in file else f"tests/accuracy/{file}", test) for file, test in found}


def names_in(file: str) -> set[str]:
    text = (ROOT / file).read_text(encoding="utf-8")
    return set(re.findall(r"^(?:async )?def (test_\w+)\(", text, re.MULTILINE))


def test_every_test_on_the_page_exists() -> None:
    missing = {(file, test) for file, test in named() if test not in names_in(file)}
    assert not missing
    assert len(named()) > 10


def test_every_staged_sickness_is_on_the_page() -> None:
    there = {(file, test) for file in OURS for test in names_in(f"tests/accuracy/{file}")}
    assert {(f"tests/accuracy/{file}", test) for file, test in there} <= named()
