"""Help is quick, complete, and the reference page is made from it."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from loadgen.cli import run_line
from loadgen.cli.aliases import ALIASES
from loadgen.cli.app import COMMANDS, build_app
from loadgen.cli.option import environment_name
from loadgen.cli.reference import EXIT_CODES, reference
from loadgen.errors import LoadgenError

HEAVY = ("numpy", "pyarrow", "scipy", "httpx", "rich", "starlette", "uvicorn", "yaml", "uvloop")


@pytest.mark.parametrize("line", [["--help"], ["sweep", "--help"], ["report", "--help"]])
def test_help_imports_nothing_heavy(line: list[str]) -> None:
    code = (
        "import sys; from loadgen.cli import run_line; code = run_line(sys.argv[1:]);"
        f"print([m for m in {HEAVY!r} if m in sys.modules]); sys.exit(code)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, *line], capture_output=True, text=True, check=True
    )
    assert ended.stdout.splitlines()[-1] == "[]"


def test_plain_run_asks_for_no_number_crunching_before_the_load() -> None:
    code = (
        "import sys; from loadgen.cli import run_line;"
        "run_line(['sweep', 'http://host', '--dry-run']);"
        "import loadgen.cli.live, loadgen.measure, loadgen.measure.preflight;"
        "print([m for m in ('numpy', 'scipy', 'pyarrow') if m in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_every_command_ends_with_examples(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_line([name, "--help"]) == 0
    shown = capsys.readouterr().out
    examples = shown[shown.index("Examples:\n") :].splitlines()[1:]
    assert examples
    assert all(line.startswith("  loadgen ") for line in examples)


def test_no_arguments_show_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_line([]) == 0
    assert "sweep" in capsys.readouterr().out


def test_every_option_has_a_variable_of_its_name() -> None:
    group: Any = get_command(build_app())
    for command in group.commands.values():
        for parameter in command.params:
            if parameter.param_type_name == "option" and parameter.name != "help":
                long = next(name for name in parameter.opts if name.startswith("--"))
                assert parameter.envvar == environment_name(long), long


def test_aliases_lead_to_options_that_exist() -> None:
    group: Any = get_command(build_app())
    known = {name for p in group.commands["sweep"].params for name in p.opts}
    assert set(ALIASES.values()) <= known
    assert not set(ALIASES) & known


def test_reference_page_is_current() -> None:
    page = Path(__file__).parents[3] / "docs" / "cli.md"
    assert page.read_text("utf-8") == "".join(reference()), "make it: see its second line"


def test_reference_page_names_every_exit_code_there_is() -> None:
    codes = {0, 130, LoadgenError.exit_code}
    codes |= {kind.exit_code for kind in LoadgenError.__subclasses__()}
    assert {code for code, _ in EXIT_CODES} == codes


VLLM = (
    "--kv-cache-dtype",
    "--gpu-memory-utilization",
    "--max-num-seqs",
    "--max-num-batched-tokens",
)
"""Settings of the server that hints name."""


def test_options_that_hints_name_exist() -> None:
    group: Any = get_command(build_app())
    commands = group.commands.values()
    known = {name for c in commands for p in c.params for name in (*p.opts, *p.secondary_opts)}
    known |= {"--help", *VLLM}
    rooms = ("analysis", "measure", "report", "store", "transport", "workload", "schedule")
    package = Path(__file__).parents[3] / "loadgen"
    named = {
        option
        for room in rooms
        for file in (package / room).rglob("*.py")
        if file.name not in {"mockserver.py", "style.py"}  # the built-in server's; CSS
        for option in re.findall(r"--[a-z][a-z-]*[a-z]", file.read_text("utf-8"))
    }
    assert named <= known
