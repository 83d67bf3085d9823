"""Our numbers beside the server's: what agrees, what others did, what can't be told."""

from dataclasses import replace
from typing import Any

import pytest

from loadgen.analysis import summarise
from loadgen.model.summary import Summary
from loadgen.model.telemetry import CrossCheck
from tests.tables import closed_loop, codes, healthy, recording
from tests.telemetry import Row, counters, told

SLOTS, TURNS, TOKENS, PROMPT = 2, 60, 20, 100
N = SLOTS * TURNS
END_MS = TURNS * (50 + 10 * (TOKENS - 1))
"""When the last answer ends; each slot answers after 240 ms."""


def looks(**changed: float) -> list[Row]:
    """A server that saw what we did: idle before, two running each second, all booked after."""
    after = {
        "output_tok": 1000.0 + N * TOKENS,
        "input_tok": 5000.0 + N * PROMPT,
        "cached_tok": 100.0,
        "ended_ok": 7.0 + N,
        "ttft_s_sum": 1.0 + N * 0.0495,
        "ttft_s_count": 7.0 + N,
        "queue_s_sum": 0.0,
        "queue_s_count": 7.0 + N,
        "prefill_s_sum": 0.5 + N * 0.0495,
        "decode_s_sum": 2.0 + N * 0.19,
        "preemptions": 0.0,
        **changed,
    }
    before = {
        "output_tok": 1000.0, "input_tok": 5000.0, "cached_tok": 100.0, "ended_ok": 7.0,
        "ttft_s_sum": 1.0, "ttft_s_count": 7.0, "queue_s_sum": 0.0, "queue_s_count": 7.0,
        "prefill_s_sum": 0.5, "decode_s_sum": 2.0, "preemptions": 0.0,
    }  # fmt: skip
    idle = {"running_requests": 0.0, "waiting_requests": 0.0}
    rows = counters(-600, **before, **idle) + counters(-1, **before, **idle)
    for second in range(1, END_MS // 1000):
        rows += counters(1000 * second, running_requests=2, waiting_requests=0, kv_used_frac=0.4)
    return [*rows, *counters(END_MS + 100, **after, **idle), (-600, "model", "tiny", 1.0)]


def summary(rows: list[Row], **given: Any) -> Summary:
    calls = closed_loop(SLOTS, TURNS, tokens=TOKENS, prompt=PROMPT, cached=0)
    health = [healthy(issued=N)]
    return summarise(recording(calls, "closed:2", health=health, telemetry=told(rows), **given))


def verdicts(found: Summary) -> dict[str, str]:
    return {check.check: check.verdict for check in found.cross_checks}


def check(found: Summary, name: str) -> CrossCheck:
    return next(one for one in found.cross_checks if one.check == name)


SERVER_CODES = {
    "not_sole_tenant", "other_model_served", "server_silent", "counter_reset",
    "server_counts_differ", "in_flight_differs", "server_ttft_differs", "cached_differs",
    "acceptance_differs",
}  # fmt: skip


def doubts(found: Summary) -> set[str]:
    return set(codes(found)) & SERVER_CODES


def test_a_server_that_agrees_is_ok_in_every_check_with_both_numbers() -> None:
    found = summary(looks())

    assert set(verdicts(found).values()) == {"ok"}, found.cross_checks
    assert set(verdicts(found)) == {
        "sole_tenant", "model", "output_tok", "input_tok", "ended", "in_flight", "ttft", "cached",
    }  # fmt: skip
    assert (check(found, "output_tok").client, check(found, "output_tok").server) == (2400, 2400)
    assert not doubts(found)
    [view] = found.server
    assert (view.output_tok, view.input_tok, view.ended) == (2400, 12000, 120)
    assert view.ttft_mean_s == pytest.approx(0.0495)
    assert view.running_mean == 2
    assert view.bound == ()


def test_a_run_without_metrics_has_no_view_and_no_doubt_about_it() -> None:
    found = summary([])

    assert (found.server, found.cross_checks) == ((), ())
    assert not doubts(found)


def test_another_tenant_is_one_finding_whatever_follows_from_it() -> None:
    others = {
        "ended_ok": 7.0 + N + 30, "output_tok": 1000.0 + N * TOKENS + 900,
        "input_tok": 5000.0 + N * PROMPT + 3000, "ttft_s_count": 7.0 + N + 30,
    }  # fmt: skip
    found = summary(looks(**others))

    assert verdicts(found)["ended"] == "fail"
    assert doubts(found) == {"not_sole_tenant"}
    assert "requests that ended well: 120 here, 150 there" in _text(found, "not_sole_tenant")


def test_a_server_that_moves_while_we_are_silent_has_others() -> None:
    rows = [*looks(), *counters(-300, output_tok=1000.0), *counters(-0.5, output_tok=1064.0)]
    found = summary(rows)

    assert verdicts(found)["sole_tenant"] == "fail"
    assert "64 more output tokens" in _text(found, "not_sole_tenant")


def test_counters_that_begin_anew_are_a_restart_and_no_difference() -> None:
    rows = [*looks(output_tok=700.0), *counters(3000, output_tok=10.0)]
    found = summary(rows)

    assert doubts(found) == {"counter_reset"}
    assert verdicts(found)["output_tok"] == "unknown"
    assert found.server[0].resets == 1
    assert found.server[0].output_tok is None


def test_a_later_start_of_the_process_is_a_restart_too() -> None:
    rows = [*looks(), (-1, "started_at_s", "", 100.0), (4000, "started_at_s", "", 170.0)]

    assert "counter_reset" in doubts(summary(rows))


@pytest.mark.parametrize(("times", "verdict"), [(1.004, "ok"), (1.015, "warn"), (1.2, "fail")])
def test_inflated_token_counts_are_told_by_how_far_they_go(times: float, verdict: str) -> None:
    found = summary(looks(output_tok=1000.0 + N * TOKENS * times))

    assert verdicts(found)["output_tok"] == verdict
    assert doubts(found) == (set() if verdict == "ok" else {"server_counts_differ"})


def test_another_model_is_named_with_both() -> None:
    rows = [row for row in looks() if row[1] != "model"]
    found = summary([*rows, (-600, "model", "other", 1.0)])

    assert doubts(found) == {"other_model_served"}
    assert "asked: `tiny`, but the server's metrics speak of `other`" in _text(
        found, "other_model_served"
    )


def test_a_ttft_shorter_than_the_servers_is_impossible() -> None:
    found = summary(looks(ttft_s_sum=1.0 + N * 0.080))

    assert verdicts(found)["ttft"] == "fail"
    assert doubts(found) == {"server_ttft_differs"}


def test_a_long_way_to_the_engine_is_a_warning_and_a_bound() -> None:
    found = summary(looks(ttft_s_sum=1.0 + N * 0.020))

    assert verdicts(found)["ttft"] == "warn"
    assert found.server[0].bound == ("network",)
    assert "30 ms of 50 ms TTFT lie outside the engine" in _text(found, "network_bound")


def test_ttfts_of_other_requests_are_not_compared() -> None:
    found = summary(looks(ttft_s_count=7.0 + N - 20))

    assert verdicts(found)["ttft"] == "unknown"
    assert "not the same requests" in check(found, "ttft").text


def test_cached_tokens_by_counter_and_usage_must_agree() -> None:
    found = summary(looks(cached_tok=100.0 + 0.4 * N * PROMPT))

    assert verdicts(found)["cached"] == "fail"
    assert doubts(found) == {"cached_differs"}


def test_fewer_running_than_in_flight_here_says_that_something_holds_back() -> None:
    rows = [row for row in looks() if not (row[1] == "running_requests" and row[0] > 0)]
    rows += [(1000.0 * s, "running_requests", "", 1.0) for s in range(1, END_MS // 1000)]
    found = summary(rows)

    assert verdicts(found)["in_flight"] == "fail"
    assert "holds requests back" in _text(found, "in_flight_differs")


def test_what_the_server_did_for_cut_requests_is_allowed_for() -> None:
    calls = closed_loop(SLOTS, TURNS, tokens=TOKENS, prompt=PROMPT, cached=0, asked_output=TOKENS)
    cut = [
        one if number < N - 1 else _cut(one) for number, one in enumerate(calls)
    ]  # its last 10 tokens came at the server only
    made = recording(cut, "closed:2", health=[healthy(issued=N)], telemetry=told(looks()))
    found = summarise(made)

    assert verdicts(found)["output_tok"] == "ok"
    assert verdicts(found)["ended"] == "ok"


def test_a_look_without_an_answer_is_told_with_its_reason() -> None:
    rows = [*looks(), (4000, "silent", "status 503", 1.0), (5000, "silent", "status 503", 1.0)]
    found = summary(rows)

    assert doubts(found) == {"server_silent"}
    assert "didn't answer 2 times" in _text(found, "server_silent")
    assert "status 503 (http://s/metrics)" in _text(found, "server_silent")


@pytest.mark.parametrize(
    ("changed", "bound", "said"),
    [
        ({"preemptions": 3.0}, "kv", "KV cache up to 40.0 % full, 3 preemptions"),
        ({"queue_s_sum": N * 0.02}, "queue", "of 49.5 ms TTFT are its queue"),
        ({"prefill_s_sum": 0.5 + N * 0.3}, "prefill", "of the requests' time is prefill"),
    ],
)
def test_what_limits_a_point_is_told_with_one_setting_to_try(
    changed: dict[str, float], bound: str, said: str
) -> None:
    found = summary(looks(**changed))

    assert found.server[0].bound == (bound,)
    finding = next(f for f in found.findings if f.code == f"{bound}_bound")
    assert finding.severity == "note"
    assert said in finding.text
    assert "--" in finding.hint or "GPUs" in finding.hint


def test_tokens_a_step_by_drafts_are_held_against_tokens_an_event() -> None:
    drafts = [*counters(-600, drafts=0, drafted_tok=0, accepted_tok=0)]
    drafts += counters(END_MS + 100, drafts=1200, drafted_tok=2400, accepted_tok=1200)
    found = summary([*looks(), *drafts])

    assert verdicts(found)["acceptance"] == "fail", "two tokens a step, one an event"
    assert (check(found, "acceptance").client, check(found, "acceptance").server) == (1.0, 2.0)


def _text(found: Summary, code: str) -> str:
    return next(finding.text for finding in found.findings if finding.code == code)


def _cut(one: Any) -> Any:
    return replace(one, events=one.events[:10], outcome="cancelled", usage=None, cached=None)
