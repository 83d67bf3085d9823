"""`loadgen probe`: what an endpoint is, before any load."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated

from loadgen.cli.option import RESULTS, Target, option
from loadgen.cli.options import SharedOptions
from loadgen.cli.request_options import EndpointOptions
from loadgen.errors import UsageError

if TYPE_CHECKING:
    from loadgen.model.observed import Observed

EXAMPLES = """
loadgen probe http://localhost:8000
loadgen probe mock: --format json
loadgen probe https://api.example.com -m my-model --api-key-env MY_KEY
"""
UNKNOWN = "not seen"
MS_PER_NS = 1e-6

Format = Annotated[
    str,
    option(
        "--format", "-f", says="What to print. Default: text.", group=RESULTS, metavar="text|json"
    ),
]


def probe(target: Target = None, output: Format = "text", *, endpoint: EndpointOptions) -> int:
    """Say what an endpoint is, before any load.

    Models, engine and version, stream shape, usage, routes, round trip. Sends one short request
    and asks the usual routes; what is missing is noted, not an error.
    """
    import asyncio

    from loadgen.cli.keys import secrets_of
    from loadgen.cli.output import write_pieces
    from loadgen.cli.plans import Order, plan_of
    from loadgen.cli.targets import reachable, require_no_bare_mock
    from loadgen.transport.probing.probe import probe as observe

    if output not in {"text", "json"}:
        raise UsageError(f"unknown format `{output}`", "known: text, json")
    named = endpoint.url or target or ""
    require_no_bare_mock(named)
    with reachable(named) as url:
        order = Order("run", url, None, ("closed:1",))
        plan = plan_of(order, SharedOptions(endpoint=endpoint))
        secrets = secrets_of(url, plan, endpoint.header or ())
        observed = asyncio.run(observe(plan.target, secrets))
    write_pieces(_json(observed) if output == "json" else probe_lines(observed))
    return 0


def _json(observed: "Observed") -> Iterator[str]:
    """Strict JSON, null for what was not seen."""
    import msgspec

    yield msgspec.json.format(msgspec.json.encode(observed), indent=2).decode() + "\n"


def probe_lines(observed: "Observed") -> Iterator[str]:
    """An aligned list; what was not seen says so."""
    from loadgen.report.layout import paragraph

    rows = list(_rows(observed))
    width = max(len(name) for name, _ in rows) + 2
    for name, words in rows:
        for line in paragraph(words or UNKNOWN, first=name.ljust(width)):
            yield line + "\n"


def _rows(observed: "Observed") -> Iterator[tuple[str, str | None]]:
    """Names and what was seen, None where nothing was."""
    from loadgen.report.heading import engine_name

    engine = engine_name(observed)
    evidence = f" ({observed.engine_evidence})" if observed.engine_evidence else ""
    yield "engine", engine + evidence if engine else None
    yield "models", ", ".join(observed.models) or None
    root = observed.model_root
    yield "model root", root if root not in observed.models else None
    yield "cache", _cache(observed.cache_config)
    yield "settings", ", ".join(f"{k} {v}" for k, v in observed.server_args.items()) or None
    yield "context", _with_unit(observed.max_model_len, "tokens")
    yield "reasoning", observed.reasoning_field
    yield "usage in streams", _yes_no(observed.usage_streamed)
    yield "running usage", _yes_no(observed.usage_running)
    yield "cached tokens", _yes_no(observed.cached_tokens_reported, "reported", "not reported")
    yield "token ids", _yes_no(observed.token_ids)
    yield "tokenize", observed.tokenize_route
    yield "metrics", observed.metrics_route
    yield "health", observed.health_route
    yield "stream", _yes_no(observed.buffered, "held back: comes in one piece", "as it is made")
    yield "role event first", _yes_no(observed.role_event_first)
    yield "[DONE] marker", _yes_no(observed.done_marker)
    yield "keep-alive", _yes_no(observed.keep_alive)
    yield "HTTP", observed.http_version
    yield "server", observed.server_header
    yield "peer", observed.peer
    yield "proxy", observed.proxy or "none"
    yield "round trip", _milliseconds(observed.rtt_ns)
    yield "first answer", _milliseconds(observed.first_answer_e2e_ns)
    for number, note in enumerate(observed.notes):
        yield "" if number else "notes", note


def _cache(config: Mapping[str, str]) -> str | None:
    """Number format and size of the engine's cache, as far as its metrics tell."""
    told = [
        f"{name} {config[name]}"
        for name in ("cache_dtype", "block_size", "num_gpu_blocks", "enable_prefix_caching")
        if name in config
    ]
    return ", ".join(told) or None


def _with_unit(value: int | None, unit: str) -> str | None:
    """The count with its unit."""
    return None if value is None else f"{value:,} {unit}"


def _yes_no(value: bool | None, yes: str = "yes", no: str = "no") -> str | None:
    """The word for a seen fact."""
    return None if value is None else yes if value else no


def _milliseconds(value_ns: int | None) -> str | None:
    """The time in ms."""
    return None if value_ns is None else f"{value_ns * MS_PER_NS:,.2f} ms"
