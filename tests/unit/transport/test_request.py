import json

import pytest

from loadgen.errors import UsageError
from loadgen.model.exchange import TurnKey
from loadgen.model.plan import TargetPlan
from loadgen.transport.request import SLICE_BYTES, RequestTemplate, origin_of

KEY = TurnKey(point=1, share=2, seq=3, session_id="s", turn_id="t")
MEMBERS = b'"messages":[{"role":"user","content":"hi"}],"max_tokens":4'


def template(base_url: str = "http://h:8000", **target: object) -> RequestTemplate:
    plan = TargetPlan(base_url=base_url, model="m", **target)  # type: ignore[arg-type]
    return RequestTemplate(plan, {"Authorization": "Bearer k"})


def wire(made: RequestTemplate, members: bytes = MEMBERS) -> tuple[dict[str, str], bytes]:
    """Headers and body of one request."""
    head, _, body = b"".join(made.slices(KEY, members)).partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")[1:]
    return dict(line.split(": ", 1) for line in lines), body


@pytest.mark.parametrize(
    ("base_url", "path", "expected"),
    [
        ("http://h", "", "/v1/chat/completions"),
        ("http://h/", "", "/v1/chat/completions"),
        ("http://h/v1", "", "/v1/chat/completions"),
        ("http://h/v1/", "", "/v1/chat/completions"),
        ("http://h/api", "", "/api/v1/chat/completions"),
        ("http://h/v1/chat/completions", "", "/v1/chat/completions"),
        ("http://h/v1?api-version=2", "", "/v1/chat/completions?api-version=2"),
        ("http://h/openai", "deployments/x/chat", "/openai/deployments/x/chat"),
        ("http://h/v1", "/raw", "/v1/raw"),
    ],
)
def test_route_follows_from_the_base_url(base_url: str, path: str, expected: str) -> None:
    assert template(base_url, path=path).path == expected


def test_completions_endpoint_has_its_own_route() -> None:
    assert template(endpoint_type="completions").path == "/v1/completions"


@pytest.mark.parametrize(
    "url", ["localhost:8000", "ftp://h", "http://", "http://h:x", "http://h y"]
)
def test_what_is_no_url_is_refused_before_the_run(url: str) -> None:
    with pytest.raises(UsageError, match="no URL"):
        template(url)


def test_default_ports_follow_the_scheme() -> None:
    assert origin_of("https://h/v1") == (True, "h", 443)
    assert origin_of("http://[::1]/v1") == (False, "::1", 80)


def test_body_is_one_json_object_with_model_stream_and_the_turn() -> None:
    headers, body = wire(template())
    assert int(headers["content-length"]) == len(body)
    assert json.loads(body) == {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [{"role": "user", "content": "hi"}],
        "max_tokens": 4,
    }


def test_turn_without_members_still_makes_json() -> None:
    assert json.loads(wire(template(), b"")[1])["model"] == "m"


def test_running_usage_is_asked_for_when_wanted() -> None:
    body = json.loads(wire(template(ask_running_usage=True))[1])
    assert body["stream_options"] == {"include_usage": True, "continuous_usage_stats": True}


def test_no_stream_options_without_a_stream_or_when_usage_is_not_asked_for() -> None:
    assert "stream_options" not in json.loads(wire(template(stream=False))[1])
    assert "stream_options" not in json.loads(wire(template(ask_usage=False))[1])


def test_accept_says_what_is_asked_for() -> None:
    assert wire(template())[0]["accept"] == "text/event-stream"
    assert wire(template(stream=False))[0]["accept"] == "application/json"


def test_extra_body_adds_members_and_wins_over_the_turn() -> None:
    body = wire(template(extra_body={"max_tokens": 9, "top_k": 1}))[1]
    assert body.count(b"max_tokens") == 1
    assert json.loads(body)["max_tokens"] == 9
    assert json.loads(body)["top_k"] == 1


def test_extra_body_name_inside_a_prompt_changes_nothing() -> None:
    members = b'"messages":[{"role":"user","content":"say \\"top_k\\" {\\"top_k\\":1}"}]'
    made = template(extra_body={"top_k": 1})
    assert wire(made, members)[1].endswith(members + b"}")


def test_extra_body_merges_into_stream_options() -> None:
    made = template(extra_body={"stream_options": {"continuous_usage_stats": True}})
    options = json.loads(wire(made)[1])["stream_options"]
    assert options == {"include_usage": True, "continuous_usage_stats": True}


def test_extra_body_can_turn_streaming_off_and_the_exchange_will_say_so() -> None:
    made = template(extra_body={"stream": False})
    assert made.stream_asked is False
    assert json.loads(wire(made)[1])["stream"] is False


def test_headers_of_the_target_and_the_secret_ones_are_sent() -> None:
    headers, _ = wire(template(headers={"X-Team": "a", "user-agent": "mine"}))
    assert headers["authorization"] == "Bearer k"
    assert headers["x-team"] == "a"
    assert headers["user-agent"] == "mine"
    assert headers["accept-encoding"] == "identity"
    assert headers["host"] == "h:8000"


def test_redacted_placeholder_is_never_sent() -> None:
    assert "x-api-key" not in wire(template(headers={"x-api-key": "[redacted]"}))[0]


def test_credentials_of_the_url_become_basic_authorization_and_are_not_shown() -> None:
    plan = TargetPlan(base_url="http://user:p%40ss@h", model="m")
    made = RequestTemplate(plan, {})
    assert wire(made)[0]["authorization"] == "Basic dXNlcjpwQHNz"
    assert made.shown_base_url == "http://h"
    assert "p@" not in made.url


def test_request_ids_are_unique_and_name_the_request() -> None:
    made = template()
    first, second = wire(made)[0]["x-request-id"], wire(made)[0]["x-request-id"]
    assert first != second
    assert "-1-2-3-" in first


def test_request_id_of_the_user_is_kept() -> None:
    assert wire(template(headers={"X-Request-Id": "mine"}))[0]["x-request-id"] == "mine"


@pytest.mark.parametrize("name", ["content-length", "Accept-Encoding", "Connection"])
def test_headers_that_would_change_the_framing_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="set by loadgen"):
        template(headers={name: "x"})


def test_line_break_in_a_key_is_refused_without_showing_it() -> None:
    plan = TargetPlan(base_url="http://h", model="m")
    with pytest.raises(UsageError, match="line break") as caught:
        RequestTemplate(plan, {"authorization": "Bearer canary\r\nx: y"})
    assert "canary" not in str(caught.value)


def test_fresh_connections_are_announced() -> None:
    assert wire(template(fresh_connections=True))[0]["connection"] == "close"


def test_big_body_is_cut_into_slices_that_join_to_the_whole() -> None:
    text = b"x" * (4 * SLICE_BYTES)
    members = b'"prompt":"%b"' % text
    made = template()
    pieces = made.slices(KEY, members)
    assert len(pieces) > 4
    assert max(map(len, pieces)) < SLICE_BYTES + 1024
    assert b"".join(pieces).partition(b"\r\n\r\n")[2] == made.body(members)
