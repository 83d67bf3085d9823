"""The table of commands. A command is a file here and a line in COMMANDS."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

import typer

import loadgen
from loadgen.cli import (
    audit,
    check,
    claim,
    compare,
    demo,
    mock,
    probe,
    replay,
    report,
    run,
    selftest,
    sweep,
    synth,
)
from loadgen.cli.commands import CONTEXT, add_command


class Entry(NamedTuple):
    """A command's function, its examples, and settings of its parser."""

    function: Callable[..., int]
    examples: str
    settings: Mapping[str, Any] = MappingProxyType({})


PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}

COMMANDS: dict[str, Entry] = {
    "demo": Entry(demo.demo, demo.EXAMPLES),
    "probe": Entry(probe.probe, probe.EXAMPLES),
    "sweep": Entry(sweep.sweep, sweep.EXAMPLES),
    "run": Entry(run.run, run.EXAMPLES),
    "replay": Entry(replay.replay, replay.EXAMPLES),
    "report": Entry(report.report, report.EXAMPLES),
    "compare": Entry(compare.compare, compare.EXAMPLES),
    "check": Entry(check.check, check.EXAMPLES),
    "mock": Entry(mock.mock, mock.EXAMPLES, PASSED_ON),
    "synth": Entry(synth.synth, synth.EXAMPLES),
    "audit": Entry(audit.audit, audit.EXAMPLES),
    "claim": Entry(claim.claim, claim.EXAMPLES),
    "selftest": Entry(selftest.selftest, selftest.EXAMPLES),
}


def _show_version(wanted: bool) -> None:
    """Prints the version and ends."""
    if wanted:
        print(f"loadgen {loadgen.__version__}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", help="Show the version.", is_eager=True, callback=_show_version)
]


def _top(version: Version = False) -> None:
    """Load tests for OpenAI-compatible LLM endpoints, with results that can be defended."""


def build_app() -> typer.Typer:
    """The command line as a typer app."""
    app = typer.Typer(
        name="loadgen",
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=False,
        context_settings=CONTEXT,
    )
    app.callback()(_top)
    for name, entry in COMMANDS.items():
        add_command(app, name, entry.function, entry.examples, **entry.settings)
    return app
