"""The options that commands share, said once.

Every option defaults to "not given", so that a plan from `--config` is overridden only by what was
said; the real defaults stand in `plans.py`.
"""

from dataclasses import dataclass, field
from typing import Annotated

from loadgen.cli.option import ENDPOINT, LIMITS, LOAD, MONEY, RESULTS, option
from loadgen.cli.repeat_options import RepeatOptions
from loadgen.cli.request_options import EndpointOptions, PromptOptions
from loadgen.cli.witness_options import WitnessOptions


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
            says="Of each point, instead of or beside a time; of several turns each: sessions.",
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
        option(
            "--workers",
            says="Sending processes. Default: by load and cores.",
            group=LOAD,
            metavar="N",
        ),
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
    no_canary: Annotated[
        bool,
        option(
            "--no-canary",
            says="Don't measure the stamps' error by a stream of our own beside the load.",
            group=LOAD,
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
    prices: Annotated[
        str | None,
        option(
            "--prices",
            says="A YAML file of prices a GPU-hour by tier, of owning, of APIs "
            "(docs/howto-energy-and-cost.md).",
            group=MONEY,
            metavar="FILE",
        ),
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
    floor: Annotated[
        str | None,
        option(
            "--floor",
            says="How long a steady window must be: strict wants 600 s. Default: quick.",
            group=RESULTS,
            metavar="quick|strict",
        ),
    ] = None
    config: Annotated[
        str | None,
        option(
            "--config",
            says="A run.json to repeat, or a YAML file with members of its plan (docs/plans.md); "
            "options override it.",
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
    witnesses: WitnessOptions = field(default_factory=WitnessOptions)
    repeat: RepeatOptions = field(default_factory=RepeatOptions)
    money: MoneyOptions = field(default_factory=MoneyOptions)
    results: ResultOptions = field(default_factory=ResultOptions)
