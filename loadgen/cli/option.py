"""How an option is said: its names, its help group, its environment variable. And TARGET.

Imports nothing but typer, as every file of options: `--help` must be quick.
"""

from typing import Annotated, Any

import typer

ENDPOINT = "The endpoint"
PROMPTS = "The prompts"
LOAD = "The load"
LIMITS = "Limits"
WITNESSES = "Witnesses"
MONEY = "Money"
RESULTS = "Results"


def option(
    name: str, *more: str, says: str, group: str, metavar: str | None = None, hidden: bool = False
) -> Any:
    """A typer option that can also be set by `LOADGEN_<NAME>`."""
    return typer.Option(
        name,
        *more,
        help=says,
        metavar=metavar,
        hidden=hidden,
        envvar=environment_name(name),
        show_envvar=False,
        show_default=False,
        rich_help_panel=group,
    )


def environment_name(name: str) -> str:
    """`LOADGEN_GPU_PRICE` for `--gpu-price`."""
    return "LOADGEN_" + name.partition("/")[0].lstrip("-").upper().replace("-", "_")


TARGET_VARIABLES = ["LOADGEN_TARGET", "OPENAI_BASE_URL"]
Target = Annotated[
    str | None,
    typer.Argument(
        metavar="TARGET",
        help="Base URL, with or without /v1; or mock: or mock:PROFILE for the built-in server. "
        "Default: $OPENAI_BASE_URL.",
        envvar=TARGET_VARIABLES,
        show_envvar=False,
        show_default=False,
    ),
]
