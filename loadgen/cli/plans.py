"""Options to a plan: the defaults, what `--config` says over them, what was typed over both."""

import math
import secrets as chance
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec

from loadgen import clock
from loadgen.cli.keys import parse_header, without_login
from loadgen.cli.options import LoadOptions, SharedOptions
from loadgen.cli.plan_file import DEFAULT_DURATION_NS, DEFAULT_WORKLOAD, PlanFile, load_plan
from loadgen.cli.price_file import declared_money
from loadgen.cli.request_options import EndpointOptions, PromptOptions
from loadgen.cli.rules import as_replay
from loadgen.cli.system_file import load_system, require_same_gpus
from loadgen.cli.witness_options import WitnessOptions
from loadgen.errors import UsageError
from loadgen.measure.workers import workers_for
from loadgen.model.plan import Deadlines, Plan, PointPlan, TargetPlan, WorkloadPlan
from loadgen.schedule import SHAPES, recorded_speed
from loadgen.specs import parse_duration_ns, parse_rate_rps, parse_spec, parse_tokens
from loadgen.telemetry.power import parse_query
from loadgen.transport.redact import REDACTED, is_secret_header
from loadgen.units import NS_PER_S
from loadgen.workload import load_workload, open_workload, workload_sha256

CHANGED = "synthetic"
NOBODY = "none"
BOUNDARIES = ("gpu", "gpu+cpu", "node", "rack", "facility")
HEADER_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")

Name = Literal["demo", "sweep", "run", "replay"]


@dataclass(frozen=True)
class Order:
    """What a command asks for: its name, where to, and its loads; None where nothing was said."""

    command: Name
    base_url: str
    loads: tuple[str, ...] | None
    default_loads: tuple[str, ...]
    rules: str | None = None
    """The name of a replay's rules; None: those of `--config`, else the published ones."""
    rule_changes: Mapping[str, Any] = field(default_factory=dict)
    """What a replay's rules have instead, by the names of `ReplayRules`."""
    between_points: str | None = None


def plan_of(order: Order, options: SharedOptions) -> Plan:
    """The plan of a command. It holds nothing secret: see `secrets_of`.

    Raises:
        UsageError: an option that can't be, or the model missing where nothing may be asked.
        InputError: the file of `--config`, or a workload file, can't be used.

    """
    file = _configured(options.results.config)
    base = None if file is None else file.plan
    run_id = new_run_id()
    salt = run_id if base is None or base.salt in {"", base.run_id} else base.salt
    plan = Plan(run_id=run_id, target=TargetPlan("", ""), workload=WorkloadPlan(), points=())
    plan = msgspec.structs.replace(
        base or plan,
        run_id=run_id,
        command=order.command,
        target=_target(order.base_url, base, options.endpoint),
        workload=_workload(base, options.prompts),
        points=_points(order, base, options.load),
        deadlines=_deadlines(base, options.load),
        **_declared(base, options),
        salt=options.prompts.salt if options.prompts.salt is not None else salt,
        **_rest(options),
        **_witnesses(options.witnesses),
        **_given(between_points=order.between_points),
    )
    plan = as_replay(plan, order.command, order.rules, _rule_changes(order, options))
    if options.load.workers is None and (file is None or not file.says_workers):
        plan = msgspec.structs.replace(plan, workers=workers_for(plan))
    if not plan.preflight and not plan.target.model:
        raise UsageError(
            "`--no-preflight` asks the endpoint for nothing, so it needs the model's name",
            "name it: -m MODEL",
        )
    return plan


def _rule_changes(order: Order, options: SharedOptions) -> dict[str, Any]:
    """What was said over a replay's rules."""
    said = options.load.duration
    length_s = None if said is None else parse_duration_ns(said) / NS_PER_S
    return _given(duration_s=length_s, seed=options.prompts.seed) | dict(order.rule_changes)


def _rest(options: SharedOptions) -> dict[str, Any]:
    """Plain fields of the plan that were said."""
    load, prompts, results = options.load, options.prompts, options.results
    return _given(
        seed=prompts.seed,
        tokenizer=prompts.tokenizer,
        workers=_at_least(1, "--workers", load.workers),
        max_rate_rps=None if load.max_rate is None else parse_rate_rps(load.max_rate),
        error_limit_frac=None if load.error_limit is None else parse_share(load.error_limit),
        keep_text=results.keep_text or None,
        label=results.label,
        floor=_one_of("--floor", results.floor, ("quick", "strict")),
        preflight=False if options.load.no_preflight else None,
        canary=False if options.load.no_canary else None,
    )


def _witnesses(options: WitnessOptions) -> dict[str, Any]:
    """Who is asked beside the endpoint. Raises: UsageError."""
    urls, power = options.metrics_url, options.gpu_metrics_url
    said = _given(
        gpu_metrics_url=None if power is None else without_login(power),
        power_query=options.power_query,
        power_boundary=_one_of("--power-boundary", options.power_boundary, BOUNDARIES),
        idle_s=None if options.idle is None else parse_duration_ns(options.idle) / NS_PER_S,
    )
    if options.power_query is not None:
        try:
            parse_query(options.power_query)
        except ValueError as error:
            raise UsageError(f"`--power-query {options.power_query}`: {error}") from error
    if urls is None:
        return said
    if urls == [NOBODY]:
        return said | {"metrics_urls": (), "ask_metrics": False}
    return said | {"metrics_urls": tuple(map(without_login, urls)), "ask_metrics": True}


def _given(**values: Any) -> dict[str, Any]:
    """Those that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def _at_least(low: int, name: str, value: int | None) -> int | None:
    """The value. Raises: UsageError when it is below `low`."""
    if value is not None and value < low:
        raise UsageError(f"`{name} {value}`: at least {low}")
    return value


def _one_of(name: str, value: str | None, words: tuple[str, ...]) -> str | None:
    """The value. Raises: UsageError when it is none of the words."""
    if value is not None and value not in words:
        raise UsageError(f"`{name} {value}`: {' or '.join(words)}")
    return value


def new_run_id() -> str:
    """UTC to the second and eight random digits: unique, and it sorts by time."""
    now = datetime.fromtimestamp(clock.wall_ns() // NS_PER_S, UTC)
    return f"{now:%Y%m%dT%H%M%SZ}-{chance.token_hex(4)}"


def _configured(path: str | None) -> PlanFile | None:
    """What `--config` names. Raises: InputError."""
    return None if path is None else load_plan(Path(path))


def _target(base_url: str, base: Plan | None, options: EndpointOptions) -> TargetPlan:
    """Where to, and how; secret header values replaced by a mark."""
    before = base.target if base else TargetPlan("", "")
    url = base_url or before.base_url
    if not url:
        raise UsageError(
            "no target was named", "give a base URL, or `mock:`, or set $OPENAI_BASE_URL"
        )
    if options.endpoint_type not in {None, "chat", "completions"}:
        raise UsageError(f"`--endpoint-type {options.endpoint_type}`: chat or completions")
    said = _given(
        model=options.model,
        endpoint_type=options.endpoint_type,
        path=options.endpoint,
        stream=False if options.no_stream else None,
        ask_running_usage=options.running_usage or None,
        ca_file=options.ca,
        api_key_env=options.api_key_env,
        insecure=options.insecure or None,
        use_proxy=False if options.no_proxy else None,
        fresh_connections=options.fresh_connections or None,
        replicas=None if options.replica is None else tuple(map(without_login, options.replica)),
        affinity=None if options.affinity is None else tuple(map(_header_name, options.affinity)),
        extra_body=None if options.extra_body is None else _json_object(options.extra_body),
    )
    headers = before.headers | {
        name: REDACTED if is_secret_header(name) else value
        for name, value in map(parse_header, options.header or ())
    }
    return msgspec.structs.replace(before, base_url=without_login(url), headers=headers, **said)


def _header_name(text: str) -> str:
    """The name of a header. Raises: UsageError."""
    if not text.strip() or not set(text.lower()) <= HEADER_LETTERS:
        raise UsageError(f"`--affinity {text}`: this is no header's name", "as X-Session-ID")
    return text


def _json_object(text: str) -> dict[str, object]:
    """The members of a JSON object. Raises: UsageError."""
    try:
        return msgspec.json.decode(text, type=dict[str, object])
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise UsageError(
            f"`--extra-body {text}`: this is no JSON object", "write it as '{\"top_k\": 20}'"
        ) from error


def _workload(base: Plan | None, options: PromptOptions) -> WorkloadPlan:
    """The named workload with what was typed over it, and the hash of both."""
    if options.workload is not None or base is None:
        before = load_workload(options.workload or DEFAULT_WORKLOAD)
    else:
        before = base.workload
    if options.history not in {None, "recorded", "live"}:
        raise UsageError(f"`--history {options.history}`: recorded or live")
    said = _given(
        isl=options.isl,
        osl=options.osl,
        turns=options.turns,
        think=options.think,
        history=options.history,
        ignore_eos=options.ignore_eos,
        isl_is_wire=options.isl_wire or None,
        once=options.once or None,
        shared_prefix_tok=(
            None if options.shared_prefix is None else parse_tokens(options.shared_prefix)
        ),
    )
    changed = any(getattr(before, name) != value for name, value in said.items())
    if changed and options.workload is None and before.format == CHANGED:
        said["name"] = CHANGED
    workload = msgspec.structs.replace(before, **said)
    return msgspec.structs.replace(workload, sha256=workload_sha256(workload))


def _points(order: Order, base: Plan | None, options: LoadOptions) -> tuple[PointPlan, ...]:
    """One point a load: as long as was said, else as before, else 30 s each."""
    _at_least(1, "--requests", options.requests)
    _at_least(0, "--warmup", options.warmup)
    length_ns = None if options.duration is None else parse_duration_ns(options.duration)
    if length_ns == 0:
        raise UsageError(f"`--duration {options.duration}`: longer than nothing")
    before = base.points if base else ()
    if order.loads is None and before:
        patterns = before
    else:
        loads = order.loads or order.default_loads
        first = before[0] if before else None
        patterns = tuple(_point(i, load, first) for i, load in enumerate(loads))
    said = _given(duration_ns=length_ns, requests=options.requests, warmup_requests=options.warmup)
    if said.keys() == {"requests"} or ("requests" in said and "duration_ns" not in said):
        said["duration_ns"] = None
    elif "duration_ns" in said and "requests" not in said:
        said["requests"] = None
    return tuple(msgspec.structs.replace(point, **said) for point in patterns)


def _point(index: int, load: str, before: PointPlan | None) -> PointPlan:
    """One point of this load, as long as the first of an earlier plan; warmed by one wave."""
    shape = parse_spec(load, SHAPES)
    slots, is_recorded = shape.slots, recorded_speed(shape) is not None
    if before is None:
        length_ns = None if is_recorded else DEFAULT_DURATION_NS
        before = PointPlan(index=0, load=load, duration_ns=length_ns)
    return msgspec.structs.replace(
        before, index=index, load=load, slots=slots, warmup_requests=slots or 0
    )


def _deadlines(base: Plan | None, options: LoadOptions) -> Deadlines:
    """Time limits by phase."""
    said = {
        "total_ns": options.timeout,
        "connect_ns": options.timeout_connect,
        "first_token_ns": options.timeout_first_token,
        "stall_ns": options.timeout_stall,
    }
    lengths = {name: parse_duration_ns(text) for name, text in said.items() if text is not None}
    return msgspec.structs.replace(base.deadlines if base else Deadlines(), **lengths)


def _declared(base: Plan | None, options: SharedOptions) -> dict[str, Any]:
    """What was said of the system, and what money is; a declared system says how many GPUs."""
    said, path = declared_money(options.money), options.endpoint.system
    prices = (base.prices if base else {}) | said.prices
    tables = {} if said.table is None else {"price_table": said.table}
    if path is None:
        return {"prices": prices, **tables}
    system = load_system(Path(path))
    require_same_gpus(options.money.gpus, system)
    return {"prices": prices | {"gpus": float(system.gpus)}, "system": system, **tables}


def parse_share(text: str) -> float:
    """A share of 0 to 1 out of `10%`, `0.1` or `0`. Raises: UsageError."""
    number = text.strip().removesuffix("%")
    try:
        share = float(number) / (100 if "%" in text else 1)
    except ValueError:
        share = math.nan
    if not 0 <= share <= 1:
        raise UsageError(f"`{text}` is no share", "write it as `10%` or `0.1`")
    return share


def require_known_data(plan: Plan) -> None:
    """Opens the workload, so that what is wrong with it shows before anything is sent.

    Raises:
        InputError: a data file can't be used.
        UsageError: options that make no prompt.

    """
    open_workload(plan)
