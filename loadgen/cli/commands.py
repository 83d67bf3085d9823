"""How a function becomes a command: shared options spread out, grouped help, examples, aliases."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

import typer
from typer.core import TyperCommand

from loadgen.cli.aliases import key_option, without_aliases
from loadgen.errors import UsageError

HELP_WIDTH = 100
CONTEXT = {"max_content_width": HELP_WIDTH, "help_option_names": ["-h", "--help"]}


class Command(TyperCommand):
    """A command whose help groups its options and ends with examples, as they were written."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Takes other tools' option names, and refuses a key before anything is read.

        A command that hands its arguments on (`mock`) leaves them as they are.
        """
        if ctx.ignore_unknown_options:
            return super().parse_args(ctx, args)
        name = key_option(args)
        if name is not None:
            raise UsageError(
                f"`{name}`: a key on the command line can be read by every user of this machine",
                "put it into $OPENAI_API_KEY, or into another variable named by --api-key-env NAME",
            )
        return super().parse_args(ctx, without_aliases(args))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments first, then the options by group, in the order in which groups appear."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                is_argument = parameter.param_type_name == "argument"
                group = getattr(parameter, "rich_help_panel", None) or "Options"
                groups.setdefault("Arguments" if is_argument else group, []).append(record)
        for group in sorted(groups, key=lambda name: name == "Options"):
            with formatter.section(group):
                formatter.write_dl(groups[group])

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """The examples, line by line."""
        if self.epilog:
            with formatter.section("Examples"):
                for line in self.epilog.strip().splitlines():
                    formatter.write(f"  {line.strip()}\n")


def add_command(
    app: typer.Typer, name: str, function: Callable[..., int], examples: str, **settings: Any
) -> None:
    """Adds the function as a command of this name; its docstring is the help."""
    register = app.command(name, cls=Command, epilog=examples, context_settings=CONTEXT | settings)
    register(spread(function))


def spread(function: Callable[..., int]) -> Callable[..., int]:
    """The function with every dataclass parameter replaced by its fields, as typer wants them."""
    hints = get_type_hints(function, include_extras=True)
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(function).parameters.values():
        kind = hints[parameter.name]
        if is_dataclass(kind):
            parameters += _parameters_of(kind)
        else:
            keyword = inspect.Parameter.KEYWORD_ONLY
            parameters.append(parameter.replace(annotation=kind, kind=keyword))
    taken = inspect.signature(function).parameters

    def command(**values: Any) -> int:
        return function(**{name: _gathered(hints[name], name, values) for name in taken})

    command.__name__ = function.__name__
    command.__doc__ = function.__doc__
    command.__module__ = function.__module__
    command.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": int}
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return command


def _parameters_of(kind: Any) -> list[inspect.Parameter]:
    """One keyword parameter for each field, fields of nested dataclasses included."""
    hints = get_type_hints(kind, include_extras=True)
    parameters: list[inspect.Parameter] = []
    for item in fields(kind):
        if is_dataclass(hints[item.name]):
            parameters += _parameters_of(hints[item.name])
        else:
            parameters.append(
                inspect.Parameter(
                    item.name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=item.default,
                    annotation=hints[item.name],
                )
            )
    return parameters


def _gathered(kind: Any, name: str, values: Mapping[str, Any]) -> Any:
    """The value of one parameter; a dataclass is put together out of its fields."""
    if not is_dataclass(kind):
        return values[name]
    hints = get_type_hints(kind, include_extras=True)
    return kind(**{f.name: _gathered(hints[f.name], f.name, values) for f in fields(kind)})  # type: ignore[operator]
