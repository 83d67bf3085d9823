"""Every command line of the recipes is one that the program takes, and their files can be read."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from loadgen.cli import run_line
from loadgen.cli.app import build_app
from loadgen.cli.system_file import load_system

DOCS = Path(__file__).parents[3] / "docs"
RECIPES = ("howto-rented-gb300-node.md", "howto-audit-a-claim.md")
PLANNED = ("sweep", "run", "replay")


def lines() -> list[str]:
    """Command lines of all code blocks, `$URL` filled in, remarks left out."""
    found = []
    for name in RECIPES:
        for block in (DOCS / name).read_text().split("```")[1::2]:
            found += [line for line in block.splitlines() if line.startswith("loadgen ")]
    return sorted({line.replace("$URL", "http://127.0.0.1:1") for line in found})


@pytest.mark.parametrize("line", lines())
def test_the_program_takes_every_line_of_the_recipes(line: str) -> None:
    _, name, *arguments = shlex.split(line.partition(" > ")[0], comments=True)
    group: Any = get_command(build_app())
    context = group.commands[name].make_context(name, arguments)
    assert context.params


@pytest.mark.parametrize("line", [line for line in lines() if line.split()[1] in PLANNED])
def test_every_load_of_the_recipes_can_be_planned(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "system.yaml").write_text(file_of("system/1"))
    (tmp_path / "prices.yaml").write_text(file_of("prices/1"))
    arguments = [a for a in shlex.split(line, comments=True)[1:] if a != "--dry-run"]
    if "--traces" in arguments:
        at = arguments.index("--traces")
        del arguments[at : at + 2]  # nobody's corpus lies here
    assert run_line([*arguments, "-m", "any", "--dry-run"]) == 0
    assert "would send to http://127.0.0.1:1" in capsys.readouterr().out


def test_the_system_file_of_the_recipe_is_one(tmp_path: Path) -> None:
    path = tmp_path / "system.yaml"
    path.write_text(file_of("system/1"))
    system = load_system(path)
    assert (system.gpus, system.gpu.name, system.precision.weights) == (4, "GB300", "fp4")


def file_of(schema: str) -> str:
    """The YAML block of the rented node's recipe that has this schema."""
    page = (DOCS / RECIPES[0]).read_text()
    found = re.search(rf"```yaml\n(schema: {schema}.*?)```", page, re.S)
    assert found is not None
    return found[1]
