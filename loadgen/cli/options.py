"""The options that commands share, said once: names, help, environment variables, aliases.

Every option defaults to "not given", so that a plan from `--config` is overridden only by what was
said; the real defaults stand in `plans.py`. Imports nothing but typer: `--help` must be quick.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

ENDPOINT = "The endpoint"
PROMPTS = "The prompts"
LOAD = "The load"
LIMITS = "Limits"
MONEY = "Money"
RESULTS = "Results"

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


Target = Annotated[
    str | None,
    typer.Argument(
        metavar="TARGET",
        help="Base URL, with or without /v1; or mock: or mock:PROFILE for the built-in server. "
        "Default: $OPENAI_BASE_URL.",
        envvar=["LOADGEN_TARGET", "OPENAI_BASE_URL"],
        show_envvar=False,
        show_default=False,
    ),
]


@dataclass(frozen=True, kw_only=True)
class EndpointOptions:
    """Where requests go and how they look on the wire."""

    url: Annotated[
        str | None,
        option(
            "--url",
            "-u",
            says="The same as TARGET.",
            group=ENDPOINT,
            hidden=True,
        ),
    ] = None
    model: Annotated[
        str | None,
        option(
            "--model",
            "-m",
            says="Which model. Default: the first of /v1/models.",
            group=ENDPOINT,
            metavar="MODEL",
        ),
    ] = None
    endpoint_type: Annotated[
        str | None,
        option(
            "--endpoint-type",
            says="Which API. Default: chat.",
            group=ENDPOINT,
            metavar="chat|completions",
        ),
    ] = None
    endpoint: Annotated[
        str | None,
        option(
            "--endpoint", says="Another route than the type's own.", group=ENDPOINT, metavar="PATH"
        ),
    ] = None
    no_stream: Annotated[
        bool,
        option("--no-stream", says="Ask for whole answers: no TTFT, no TPOT.", group=ENDPOINT),
    ] = False
    running_usage: Annotated[
        bool,
        option(
            "--running-usage",
            says="Ask for a token count with every event, as vLLM and SGLang can.",
            group=ENDPOINT,
        ),
    ] = False
    header: Annotated[
        list[str] | None,
        option(
            "--header",
            "-H",
            says="Sent with every request; repeatable.",
            group=ENDPOINT,
            metavar="K:V",
        ),
    ] = None
    extra_body: Annotated[
        str | None,
        option("--extra-body", says="Members added to every body.", group=ENDPOINT, metavar="JSON"),
    ] = None
    api_key_env: Annotated[
        str | None,
        option(
            "--api-key-env",
            says="The variable that holds the key. Default: OPENAI_API_KEY.",
            group=ENDPOINT,
            metavar="NAME",
        ),
    ] = None
    insecure: Annotated[
        bool, option("--insecure", says="Accept any TLS certificate.", group=ENDPOINT)
    ] = False
    ca: Annotated[
        str | None, option("--ca", says="Trust this CA file (PEM).", group=ENDPOINT, metavar="FILE")
    ] = None
    no_proxy: Annotated[
        bool, option("--no-proxy", says="Ignore the proxies of the environment.", group=ENDPOINT)
    ] = False
    fresh_connections: Annotated[
        bool,
        option("--fresh-connections", says="A new connection for each request.", group=ENDPOINT),
    ] = False


@dataclass(frozen=True, kw_only=True)
class PromptOptions:
    """What is asked."""

    workload: Annotated[
        str | None,
        option(
            "--workload",
            "-w",
            says="A name, a file or a spec. Default: chat-1k-256.",
            group=PROMPTS,
            metavar="NAME",
        ),
    ] = None
    isl: Annotated[
        str | None,
        option(
            "--isl",
            says="Prompt tokens: 1024, 8k, or a distribution as normal:1024,sd=100.",
            group=PROMPTS,
            metavar="TOKENS",
        ),
    ] = None
    osl: Annotated[
        str | None,
        option("--osl", says="Answer tokens, asked as the limit.", group=PROMPTS, metavar="TOKENS"),
    ] = None
    ignore_eos: Annotated[
        bool | None,
        option(
            "--ignore-eos/--no-ignore-eos",
            says="Whether answers are forced to their full length. Default: by workload.",
            group=PROMPTS,
        ),
    ] = None
    isl_wire: Annotated[
        bool,
        option("--isl-wire", says="--isl counts the chat template too.", group=PROMPTS),
    ] = False
    shared_prefix: Annotated[
        str | None,
        option(
            "--shared-prefix",
            says="Tokens that all prompts begin with, to hit a prefix cache on purpose.",
            group=PROMPTS,
            metavar="TOKENS",
        ),
    ] = None
    turns: Annotated[
        str | None,
        option("--turns", says="Turns of a session. Default: 1.", group=PROMPTS, metavar="N"),
    ] = None
    think: Annotated[
        str | None,
        option("--think", says="Pause between turns. Default: 0.", group=PROMPTS, metavar="TIME"),
    ] = None
    history: Annotated[
        str | None,
        option(
            "--history",
            says="What later turns quote. Default: recorded.",
            group=PROMPTS,
            metavar="recorded|live",
        ),
    ] = None
    once: Annotated[
        bool, option("--once", says="Stop after one pass over the data.", group=PROMPTS)
    ] = False
    seed: Annotated[
        int | None,
        option("--seed", says="Same seed, same prompts. Default: 1.", group=PROMPTS, metavar="N"),
    ] = None
    salt: Annotated[
        str | None,
        option(
            "--salt",
            says="Fixes what keeps prompts new to a prefix cache.",
            group=PROMPTS,
            metavar="TEXT",
        ),
    ] = None
    tokenizer: Annotated[
        str | None,
        option(
            "--tokenizer",
            says="A tokenizer.json for counts, where the server has no /tokenize.",
            group=PROMPTS,
            metavar="FILE",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class LoadOptions:
    """How long, how much, and when to give up on a request."""

    duration: Annotated[
        str | None,
        option("--duration", says="Of each point. Default: 30s.", group=LOAD, metavar="TIME"),
    ] = None
    requests: Annotated[
        int | None,
        option(
            "--requests",
            "-n",
            says="Of each point, instead of or beside a time.",
            group=LOAD,
            metavar="N",
        ),
    ] = None
    warmup: Annotated[
        int | None,
        option(
            "--warmup",
            says="Requests before each point. Default: one wave of a closed load.",
            group=LOAD,
            metavar="N",
        ),
    ] = None
    workers: Annotated[
        int | None,
        option("--workers", says="Sending processes. Default: 1.", group=LOAD, metavar="N"),
    ] = None
    max_rate: Annotated[
        str | None,
        option(
            "--max-rate", says="Ceiling for shared endpoints, as 4/s.", group=LIMITS, metavar="RATE"
        ),
    ] = None
    timeout: Annotated[
        str | None,
        option(
            "--timeout", says="Of a whole request. Default: none.", group=LIMITS, metavar="TIME"
        ),
    ] = None
    timeout_connect: Annotated[
        str | None,
        option("--timeout-connect", says="To connect. Default: 10s.", group=LIMITS, metavar="TIME"),
    ] = None
    timeout_first_token: Annotated[
        str | None,
        option(
            "--timeout-first-token",
            says="To the first token. Default: none.",
            group=LIMITS,
            metavar="TIME",
        ),
    ] = None
    timeout_stall: Annotated[
        str | None,
        option(
            "--timeout-stall", says="Between events. Default: none.", group=LIMITS, metavar="TIME"
        ),
    ] = None
    no_preflight: Annotated[
        bool,
        option(
            "--no-preflight",
            says="Send nothing but the load itself: no probe, no tokenize; needs -m.",
            group=ENDPOINT,
        ),
    ] = False
    error_limit: Annotated[
        str | None,
        option(
            "--error-limit",
            says="Share of failed requests above which the run failed (exit 5). Default: 10%.",
            group=LIMITS,
            metavar="SHARE",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class MoneyOptions:
    """What the user says the system costs."""

    gpus: Annotated[
        int | None,
        option("--gpus", says="How many GPUs serve. Default: 1.", group=MONEY, metavar="N"),
    ] = None
    gpu_price: Annotated[
        float | None,
        option("--gpu-price", says="Of one GPU for one hour.", group=MONEY, metavar="USD"),
    ] = None


@dataclass(frozen=True, kw_only=True)
class ResultOptions:
    """What is kept and shown."""

    out: Annotated[
        str | None,
        option(
            "--out",
            "-o",
            says="Where the run folder is made. Default: results.",
            group=RESULTS,
            metavar="DIR",
        ),
    ] = None
    format: Annotated[
        str | None,
        option(
            "--format",
            "-f",
            says="What to print. Default: text.",
            group=RESULTS,
            metavar="text|json|jsonl|csv|md",
        ),
    ] = None
    keep_text: Annotated[
        bool, option("--keep-text", says="Keep the answers' text.", group=RESULTS)
    ] = False
    label: Annotated[
        str | None,
        option("--label", says="A note kept with the run.", group=RESULTS, metavar="TEXT"),
    ] = None
    quiet: Annotated[bool, option("--quiet", "-q", says="No progress.", group=RESULTS)] = False
    strict: Annotated[
        bool, option("--strict", says="Exit 7 when the verdict is invalid.", group=RESULTS)
    ] = False
    config: Annotated[
        str | None,
        option(
            "--config",
            says="A plan as YAML, or a run.json to repeat; options override it.",
            group=RESULTS,
            metavar="FILE",
        ),
    ] = None
    dry_run: Annotated[
        bool,
        option(
            "--dry-run", says="Say what would be sent, how long and for how much.", group=RESULTS
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class SharedOptions:
    """Everything that `sweep` and `run` share."""

    endpoint: EndpointOptions = field(default_factory=EndpointOptions)
    prompts: PromptOptions = field(default_factory=PromptOptions)
    load: LoadOptions = field(default_factory=LoadOptions)
    money: MoneyOptions = field(default_factory=MoneyOptions)
    results: ResultOptions = field(default_factory=ResultOptions)
