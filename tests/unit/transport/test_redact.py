from base64 import b64encode

import pytest

from loadgen.transport.redact import (
    REDACTED,
    is_secret_header,
    redact_headers,
    redact_parts,
    redact_text,
    redact_url,
    secret_values,
)

KEY = "sk-canary-5f1c"


@pytest.mark.parametrize(
    "name",
    [
        "Authorization",
        "api-key",
        "X-Api-Key",
        "cookie",
        "Set-Cookie",
        "Proxy-Authorization",
        "x-auth-token",
        "X-Client-Secret",
        "ocp-apim-subscription-key",
    ],
)
def test_header_that_carries_a_secret_is_known_in_any_case(name: str) -> None:
    assert is_secret_header(name)


@pytest.mark.parametrize(
    "name", ["content-type", "x-request-id", "x-ratelimit-remaining-tokens", "server"]
)
def test_ordinary_header_is_shown(name: str) -> None:
    assert not is_secret_header(name)


def test_secret_header_values_are_replaced_and_others_kept() -> None:
    assert redact_headers({"Authorization": f"Bearer {KEY}", "x-team": "a"}) == {
        "Authorization": REDACTED,
        "x-team": "a",
    }


def test_url_is_shown_without_user_password_and_keys_in_its_query() -> None:
    shown = redact_url(f"https://me:{KEY}@host:8443/v1?api_key={KEY}&x=1")
    assert KEY not in shown
    assert "me" not in shown
    assert shown.startswith("https://host:8443/v1?")
    assert "x=1" in shown


def test_key_is_found_behind_its_scheme_and_in_the_url() -> None:
    secrets = secret_values({"authorization": f"Bearer {KEY}"}, "http://u:passw0rd@h/")
    assert set(secrets) == {f"Bearer {KEY}", KEY, "passw0rd"}


def test_password_is_found_inside_basic_authorization() -> None:
    encoded = b64encode(f"me:{KEY}".encode()).decode()
    assert set(secret_values({"authorization": f"Basic {encoded}"})) == {
        f"Basic {encoded}",
        encoded,
        KEY,
    }


def test_a_basic_header_that_is_no_login_is_hidden_as_it_is() -> None:
    assert set(secret_values({"authorization": "Basic nonsense!"})) == {
        "Basic nonsense!",
        "nonsense!",
    }


def test_echoed_key_is_blotted_out_of_text() -> None:
    text = redact_text(f"no such key: {KEY}", secret_values({"a": f"Bearer {KEY}"}))
    assert text == f"no such key: {REDACTED}"


def test_key_is_found_where_json_has_escaped_it() -> None:
    assert "ab\\/cd" not in redact_text('{"k":"ab\\/cd/ef"}', ["ab/cd/ef", "ab/cd"])


def test_credentials_in_any_url_of_a_text_go_without_being_named() -> None:
    assert redact_text("proxy http://u:p@h:1 refused") == "proxy http://h:1 refused"


def test_very_short_values_do_not_blot_out_ordinary_text() -> None:
    assert secret_values({"x-api-key": "a"}) == ()


def test_body_without_a_secret_is_handed_back_as_it_is() -> None:
    parts = [b"a", b"b"]
    assert redact_parts(parts, [KEY]) is parts


def test_secret_in_one_part_leaves_the_others_alone() -> None:
    assert redact_parts([b"x", f"<{KEY}>".encode()], [KEY]) == [b"x", f"<{REDACTED}>".encode()]


def test_secret_cut_across_parts_is_found_and_their_number_stays() -> None:
    parts = redact_parts([b"x " + KEY[:4].encode(), KEY[4:].encode() + b" y"], [KEY])
    assert len(parts) == 2
    assert b"".join(parts) == f"x {REDACTED} y".encode()
