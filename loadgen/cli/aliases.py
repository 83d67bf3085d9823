"""Option names that users bring from other tools, and those by which a key would be handed over."""

from collections.abc import Sequence

ALIASES = {
    "--max-concurrency": "--concurrency",
    "--num-concurrency": "--concurrency",
    "--parallel": "--concurrency",
    "--num-prompts": "--requests",
    "--num-requests": "--requests",
    "--request-count": "--requests",
    "--max-seconds": "--duration",
    "--benchmark-duration": "--duration",
    "--input-len": "--isl",
    "--random-input-len": "--isl",
    "--prompt-tokens": "--isl",
    "--output-len": "--osl",
    "--random-output-len": "--osl",
    "--output-tokens": "--osl",
    "--warmup-requests": "--warmup",
    "--num-warmups": "--warmup",
    "--warmup-request-count": "--warmup",
    "--random-seed": "--seed",
    "--base-url": "--url",
    "--api-base": "--url",
    "--api-model-name": "--model",
    "--artifact-dir": "--out",
    "--output-dir": "--out",
    "--result-dir": "--out",
    "--report-dir": "--out",
}
"""Names that users bring from other tools, where they mean the same."""

KEY_OPTIONS = ("--api-key", "--openai-api-key", "--key", "--api-token", "--token")
"""Options by which other tools take a key; refused, since other users can read a command line."""


def without_aliases(arguments: Sequence[str]) -> list[str]:
    """The arguments with other tools' names replaced by ours; what follows `--` stays."""
    result: list[str] = []
    for place, argument in enumerate(arguments):
        if argument == "--":
            return [*result, *arguments[place:]]
        name, equals, value = argument.partition("=")
        result.append(ALIASES.get(name, name) + equals + value)
    return result


def key_option(arguments: Sequence[str]) -> str | None:
    """The first option that would hand over a key; None where there is none."""
    names = (argument.partition("=")[0] for argument in arguments)
    return next((name for name in names if name in KEY_OPTIONS), None)
