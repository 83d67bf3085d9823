"""Options to plans: defaults, overrides, configuration files, secrets."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from loadgen.cli.keys import secrets_of, without_login
from loadgen.cli.options import LoadOptions, MoneyOptions, ResultOptions, SharedOptions
from loadgen.cli.plans import Order, parse_share, plan_of
from loadgen.cli.request_options import EndpointOptions, PromptOptions
from loadgen.errors import InputError, UsageError
from loadgen.model.plan import Plan

ORDER = Order("sweep", "http://host:8000/v1/", None, ("closed:1", "closed:8"))
S = 1_000_000_000


def made(order: Order = ORDER, **groups: Any) -> Plan:
    return plan_of(order, SharedOptions(**groups))


def test_defaults_are_thirty_seconds_a_point_and_one_wave_of_warm_up() -> None:
    plan = made()
    assert [point.load for point in plan.points] == ["closed:1", "closed:8"]
    assert [point.warmup_requests for point in plan.points] == [1, 8]
    assert {(point.duration_ns, point.requests) for point in plan.points} == {(30 * S, None)}
    assert [point.index for point in plan.points] == [0, 1]
    assert (plan.workload.name, plan.workload.isl, plan.workload.osl) == (
        "chat-1k-256",
        "1024",
        "256",
    )
    assert plan.target.base_url == "http://host:8000/v1"
    assert plan.salt == plan.run_id
    assert plan.workload.sha256


def test_two_plans_never_share_a_run_id() -> None:
    assert made().run_id != made().run_id


@pytest.mark.parametrize(
    ("said", "duration_ns", "requests"),
    [
        ({"requests": 100}, None, 100),
        ({"duration": "1m"}, 60 * S, None),
        ({"duration": "1m", "requests": 100}, 60 * S, 100),
    ],
)
def test_points_end_after_what_was_said(
    said: dict[str, Any], duration_ns: int | None, requests: int | None
) -> None:
    point = made(load=LoadOptions(**said)).points[0]
    assert (point.duration_ns, point.requests) == (duration_ns, requests)


def test_open_loads_have_no_wave_to_warm_up_with() -> None:
    plan = made(replace(ORDER, loads=("poisson:rate=4/s",)))
    assert plan.points[0].warmup_requests == 0


SAID: list[tuple[str, dict[str, Any], str, Any]] = [
    ("endpoint", {"model": "m"}, "target.model", "m"),
    ("endpoint", {"endpoint_type": "completions"}, "target.endpoint_type", "completions"),
    ("endpoint", {"endpoint": "/x"}, "target.path", "/x"),
    ("endpoint", {"no_stream": True}, "target.stream", False),
    ("endpoint", {"extra_body": '{"top_k": 3}'}, "target.extra_body", {"top_k": 3}),
    ("endpoint", {"header": ["X-Team: a=b"]}, "target.headers", {"X-Team": "a=b"}),
    ("endpoint", {"header": ["X-Team=a:b"]}, "target.headers", {"X-Team": "a:b"}),
    ("endpoint", {"api_key_env": "K"}, "target.api_key_env", "K"),
    ("endpoint", {"running_usage": True}, "target.ask_running_usage", True),
    ("endpoint", {"insecure": True}, "target.insecure", True),
    ("endpoint", {"ca": "ca.pem"}, "target.ca_file", "ca.pem"),
    ("endpoint", {"no_proxy": True}, "target.use_proxy", False),
    ("endpoint", {"fresh_connections": True}, "target.fresh_connections", True),
    ("prompts", {"isl": "8k"}, "workload.isl", "8k"),
    ("prompts", {"osl": "16"}, "workload.osl", "16"),
    ("prompts", {"ignore_eos": False}, "workload.ignore_eos", False),
    ("prompts", {"isl_wire": True}, "workload.isl_is_wire", True),
    ("prompts", {"shared_prefix": "1k"}, "workload.shared_prefix_tok", 1024),
    ("prompts", {"turns": "3"}, "workload.turns", "3"),
    ("prompts", {"think": "2s"}, "workload.think", "2s"),
    ("prompts", {"history": "live"}, "workload.history", "live"),
    ("prompts", {"once": True}, "workload.once", True),
    ("prompts", {"workload": "reasoning-1k-8k"}, "workload.name", "reasoning-1k-8k"),
    ("prompts", {"seed": 7}, "seed", 7),
    ("prompts", {"salt": "s"}, "salt", "s"),
    ("prompts", {"tokenizer": "t.json"}, "tokenizer", "t.json"),
    ("load", {"workers": 3}, "workers", 3),
    ("load", {"no_canary": True}, "canary", False),
    ("load", {"max_rate": "120/min"}, "max_rate_rps", 2.0),
    ("load", {"timeout": "2m"}, "deadlines.total_ns", 120 * S),
    ("load", {"timeout_connect": "1s"}, "deadlines.connect_ns", S),
    ("load", {"timeout_first_token": "5s"}, "deadlines.first_token_ns", 5 * S),
    ("load", {"timeout_stall": "3s"}, "deadlines.stall_ns", 3 * S),
    ("load", {"error_limit": "5%"}, "error_limit_frac", 0.05),
    ("money", {"gpus": 8, "gpu_price": 2.5}, "prices", {"gpus": 8.0, "gpu_usd_per_h": 2.5}),
    ("results", {"keep_text": True}, "keep_text", True),
    ("results", {"label": "night"}, "label", "night"),
    ("results", {"floor": "strict"}, "floor", "strict"),
]
GROUPS = {
    "endpoint": EndpointOptions,
    "prompts": PromptOptions,
    "load": LoadOptions,
    "money": MoneyOptions,
    "results": ResultOptions,
}


@pytest.mark.parametrize(("group", "said", "path", "value"), SAID)
def test_every_option_reaches_the_plan(
    group: str, said: dict[str, Any], path: str, value: Any
) -> None:
    found: Any = made(**{group: GROUPS[group](**said)})
    for name in path.split("."):
        found = getattr(found, name)
    assert found == value


def test_changed_default_workload_no_longer_bears_its_name() -> None:
    assert made(prompts=PromptOptions(isl="512")).workload.name == "synthetic"
    named = PromptOptions(isl="512", workload="chat-1k-256")
    assert made(prompts=named).workload.name == "chat-1k-256"


def test_plan_of_a_run_is_fed_back_with_a_new_salt_and_overrides(tmp_path: Path) -> None:
    first = made(endpoint=EndpointOptions(model="m"), load=LoadOptions(requests=5))
    file = tmp_path / "run.json"
    file.write_bytes(msgspec.json.encode({"format_version": 1, "plan": first}))
    again = plan_of(
        replace(ORDER, base_url="", default_loads=("closed:99",)),
        SharedOptions(
            results=ResultOptions(config=str(file)), endpoint=EndpointOptions(model="other")
        ),
    )
    assert again.points == first.points
    assert again.target == msgspec.structs.replace(first.target, model="other")
    assert again.run_id != first.run_id
    assert again.salt == again.run_id


def test_yaml_plan_keeps_a_salt_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text(
        "run_id: x\nsalt: fixed\nseed: 9\ntarget: {base_url: 'http://h', model: m}\n"
        "workload: {isl: '64'}\npoints: [{index: 0, load: 'closed:2', requests: 3}]\n",
        "utf-8",
    )
    plan = made(results=ResultOptions(config=str(file)))
    assert (plan.salt, plan.seed, plan.workload.isl) == ("fixed", 9, "64")
    assert plan.target.base_url == "http://host:8000/v1"
    assert plan.points[0].load == "closed:2"


def test_loads_typed_over_a_plan_keep_its_length(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    plan = made(load=LoadOptions(requests=5))
    file.write_bytes(msgspec.json.encode({"plan": plan}))
    order = replace(ORDER, loads=("closed:4",))
    points = plan_of(order, SharedOptions(results=ResultOptions(config=str(file)))).points
    assert [(p.load, p.requests, p.duration_ns, p.warmup_requests) for p in points] == [
        ("closed:4", 5, None, 4)
    ]


def test_small_plan_written_by_hand_gets_defaults(tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text(
        "target: {base_url: 'http://h:1'}\nworkload: {isl: 64, osl: 8}\n"
        "points:\n  - {load: 'closed:2'}\n  - {load: 'closed:4', requests: 3}\n",
        "utf-8",
    )
    order = replace(ORDER, base_url="")
    plan = plan_of(order, SharedOptions(results=ResultOptions(config=str(file))))
    assert (plan.target.base_url, plan.target.model) == ("http://h:1", "")
    assert (plan.workload.isl, plan.workload.osl) == ("64", "8")
    assert [(p.index, p.duration_ns, p.requests) for p in plan.points] == [
        (0, 30 * S, None),
        (1, None, 3),
    ]
    assert plan.run_id == plan.salt


def test_plan_of_points_alone_asks_the_default_workload(tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text("points: [{load: 'closed:2'}]\n", "utf-8")
    plan = made(results=ResultOptions(config=str(file)))
    assert plan.workload == made().workload
    assert plan.target.base_url == "http://host:8000/v1"


def test_plan_may_name_its_workload(tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text("workload: reasoning-1k-8k\n", "utf-8")
    plan = made(results=ResultOptions(config=str(file)))
    assert plan.workload.name == "reasoning-1k-8k"
    assert [point.load for point in plan.points] == ["closed:1", "closed:8"]


def test_member_that_no_plan_has_is_refused_and_not_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text("points:\n  - {load: 'closed:2', duration: 9s}\n", "utf-8")
    with pytest.raises(InputError, match="unknown field `duration`"):
        made(results=ResultOptions(config=str(file)))


def test_config_that_is_no_plan_is_an_input_error(tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text("points: 3\n", "utf-8")
    with pytest.raises(InputError):
        made(results=ResultOptions(config=str(file)))


WRONG: list[dict[str, Any]] = [
    {"load": LoadOptions(requests=0)},
    {"load": LoadOptions(warmup=-1)},
    {"load": LoadOptions(workers=0)},
    {"load": LoadOptions(duration="0")},
    {"load": LoadOptions(duration="soon")},
    {"load": LoadOptions(error_limit="110%")},
    {"load": LoadOptions(max_rate="fast")},
    {"load": LoadOptions(no_preflight=True)},
    {"results": ResultOptions(floor="lax")},
    {"money": MoneyOptions(gpus=0)},
    {"money": MoneyOptions(gpu_price=-1.0)},
    {"endpoint": EndpointOptions(endpoint_type="responses")},
    {"endpoint": EndpointOptions(extra_body="[1]")},
    {"endpoint": EndpointOptions(extra_body="{")},
    {"endpoint": EndpointOptions(header=["nothing"])},
    {"prompts": PromptOptions(history="none")},
    {"prompts": PromptOptions(workload="no-such-workload")},
]


@pytest.mark.parametrize("groups", WRONG)
def test_impossible_options_are_usage_errors(groups: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        made(**groups)


def test_impossible_load_is_a_usage_error() -> None:
    with pytest.raises(UsageError):
        made(replace(ORDER, loads=("closet:4",)))


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("localhost:8000", "http://localhost:8000"),
        ("http://[::1]:8000/v1/", "http://[::1]:8000/v1"),
        ("https://me:pw@host/x", "https://host/x"),
    ],
)
def test_base_urls_gain_a_scheme_and_lose_a_login(text: str, url: str) -> None:
    assert without_login(text) == url


@pytest.mark.parametrize(
    "text", ["ftp://host", "http://", "file:///etc/passwd", "h:99999", "h:x", "h:0"]
)
def test_what_is_no_base_url_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        without_login(text)


def test_refused_url_is_shown_without_its_login() -> None:
    with pytest.raises(UsageError) as refused:
        without_login("ftp://me:canary@host")
    assert "canary" not in str(refused.value)


def secrets(url: str, headers: list[str], **environment: str) -> dict[str, str]:
    options = EndpointOptions(header=headers, api_key_env=environment.pop("named", None))
    plan = made(replace(ORDER, base_url=url), endpoint=options)
    kept = msgspec.json.encode(plan).decode()
    assert not any(f"canary{mark}" in kept for mark in "-%@")  # the plan has a member `canary`
    return secrets_of(url, plan, headers, environment)


def test_key_comes_from_the_environment_and_is_in_no_plan() -> None:
    found = secrets("http://h", [], OPENAI_API_KEY="canary-1")
    assert found == {"authorization": "Bearer canary-1"}


def test_named_variable_comes_instead() -> None:
    found = secrets("http://h", [], named="MINE", MINE="canary-2", OPENAI_API_KEY="canary-1")
    assert found == {"authorization": "Bearer canary-2"}


def test_named_variable_that_is_not_set_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="MINE"):
        secrets("http://h", [], named="MINE")


def test_typed_header_comes_before_the_key_and_the_key_before_a_login() -> None:
    url = "http://me:canary%40@h"
    headers = ["Authorization: Basic canary-3", "X-API-Key=canary-4"]
    assert secrets(url, headers, OPENAI_API_KEY="canary-1") == {
        "authorization": "Basic canary-3",
        "x-api-key": "canary-4",
    }
    assert secrets(url, [], OPENAI_API_KEY="canary-1") == {"authorization": "Bearer canary-1"}
    assert secrets(url, []) == {"authorization": "Basic bWU6Y2FuYXJ5QA=="}


def test_no_key_means_no_header() -> None:
    assert secrets("http://h", []) == {}


@pytest.mark.parametrize(("text", "share"), [("10%", 0.1), ("0.1", 0.1), ("0", 0.0), ("1", 1.0)])
def test_shares_are_percent_or_fractions(text: str, share: float) -> None:
    assert parse_share(text) == pytest.approx(share)


@pytest.mark.parametrize("text", ["", "x", "101%", "-1%", "nan"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_share(text)


def test_a_trace_is_played_to_its_end_unless_a_length_is_said() -> None:
    order = replace(ORDER, loads=("trace",))
    assert made(order).points[0].duration_ns is None
    assert made(order, load=LoadOptions(duration="1m")).points[0].duration_ns == 60 * S
