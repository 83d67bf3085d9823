"""`docs/cli.md` out of the app itself: `python -m loadgen.cli.reference > docs/cli.md`."""

import sys
from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from loadgen.cli.aliases import ALIASES
from loadgen.cli.app import build_app

EXIT_CODES = (
    (0, "the run went well; its verdict is for you to read"),
    (1, "internal error: a fault of loadgen, or a report that could not be made"),
    (2, "usage: options that can't be"),
    (3, "an input file or a run folder can't be used"),
    (4, "the endpoint is unreachable or refuses before any load"),
    (5, "the run failed: too many requests failed (`--error-limit`), or no token came"),
    (6, "a gate was missed, or a run supports no sentence (`claim`)"),
    (7, "the verdict is invalid, under `--strict` and for `claim`"),
    (130, "interrupted; what was measured is kept"),
)
INTRODUCTION = """\
# The command line

Made from the program by `python -m loadgen.cli.reference > docs/cli.md`; a test keeps it current.

Results go to stdout; progress, errors and hints to stderr. No output holds an escape sequence.
"""
ENVIRONMENT = """\
## Environment

Every option is also read from `LOADGEN_<NAME>`: `LOADGEN_GPU_PRICE=2.31` is `--gpu-price 2.31`.
The command line comes first. Beside them:

| variable | is |
|---|---|
| `OPENAI_BASE_URL` | the TARGET, where none is given (`LOADGEN_TARGET` comes before it) |
| `OPENAI_API_KEY` | the key; `--api-key-env NAME` names another variable |
| `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY` | proxies, unless `--no-proxy` |
| `LOADGEN_DEBUG=1` | prints the traceback of an internal error |

A key is never taken from an option. It is sent as `Authorization: Bearer`; what
`--header "Authorization: ..."` says comes before it, a login inside the URL after it. Values of
Authorization, api-key, x-api-key and Cookie headers, keys and logins never appear in a file, a log
or an error.
"""


def reference() -> Iterator[str]:
    """The page in pieces: one section a command, then aliases, environment and exit codes."""
    yield INTRODUCTION
    group: Any = get_command(build_app())
    for name, command in group.commands.items():
        yield f"\n## `loadgen {name}`\n\n{_paragraphs(command.help)}\n"
        yield from _options(command)
        yield f"\n```\n{_trimmed(command.epilog)}\n```\n"
    yield from _aliases()
    yield "\n" + ENVIRONMENT
    yield "\n## Exit codes\n\n| code | means |\n|---:|---|\n"
    yield from (f"| {code} | {meaning} |\n" for code, meaning in EXIT_CODES)


def _paragraphs(text: str) -> str:
    """The help as paragraphs."""
    return "\n".join(line.strip() for line in text.strip().splitlines())


def _trimmed(text: str) -> str:
    """The examples without the space round them."""
    return "\n".join(line.strip() for line in text.strip().splitlines())


def _options(command: Any) -> Iterator[str]:
    """A table of the command's arguments and options."""
    shown = [p for p in command.params if not getattr(p, "hidden", False) and p.name != "help"]
    if not shown:
        return
    yield "\n| option | is |\n|---|---|\n"
    for parameter in shown:
        yield f"| {_names(parameter)} | {parameter.help} |\n"


def _names(parameter: Any) -> str:
    """All names of one option with what it takes; the name of an argument."""
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar}`"
    names = [*parameter.opts, *parameter.secondary_opts]
    long_first = sorted(names, key=lambda name: not name.startswith("--"))
    taken = (parameter.metavar or "").replace("|", "\\|")
    value = f" {taken}" if taken and not parameter.is_flag else ""
    return ", ".join(f"`{name}`" for name in long_first) + value


def _aliases() -> Iterator[str]:
    """Names of other tools, by ours."""
    yield "\n## Names that other tools use\n\nAccepted where they mean the same.\n\n"
    yield "| ours | also |\n|---|---|\n"
    for ours in dict.fromkeys(ALIASES.values()):
        also = ", ".join(f"`{name}`" for name, target in ALIASES.items() if target == ours)
        yield f"| `{ours}` | {also} |\n"


if __name__ == "__main__":
    sys.stdout.writelines(reference())
