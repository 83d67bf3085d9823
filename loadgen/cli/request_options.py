"""The options about single requests: where they go, how they look, what they ask."""

from dataclasses import dataclass
from typing import Annotated

from loadgen.cli.option import ENDPOINT, PROMPTS, option


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
    system: Annotated[
        str | None,
        option(
            "--system",
            says="What you declare of model and GPUs, as YAML: floors are held against it.",
            group=ENDPOINT,
            metavar="FILE",
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
    replica: Annotated[
        list[str] | None,
        option(
            "--replica",
            says="A further base URL of the same deployment; sessions are spread; repeatable.",
            group=ENDPOINT,
            metavar="URL",
        ),
    ] = None
    affinity: Annotated[
        list[str] | None,
        option(
            "--affinity",
            says="A header that names the session, as X-Session-ID; repeatable. A replay sends "
            "X-Correlation-ID.",
            group=ENDPOINT,
            metavar="NAME",
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
