import random

import pytest

from loadgen.analysis import summarise
from loadgen.model.exchange import StampKind
from loadgen.model.observed import Observed
from loadgen.model.plan import Anchor, Deadlines, TargetPlan, TokenFit, WorkloadPlan
from loadgen.model.summary import Summary
from tests.tables import Call, call, closed_loop, codes, healthy, recording, stream


def good(slots: int = 4, per_slot: int = 20, **given: object) -> list[Call]:
    given = {"prompt": 100, "asked_prompt": 100, "asked_output": 20, **given}
    return closed_loop(slots, per_slot, **given)  # type: ignore[arg-type]


def run(calls: list[Call], load: str = "closed:4", **given: object) -> Summary:
    if "health" not in given:
        given["health"] = [healthy(issued=len(calls))]
    return summarise(recording(calls, load, **given))  # type: ignore[arg-type]


def text_of(summary: Summary, code: str) -> str:
    return next(f.text for f in summary.findings if f.code == code)


@pytest.mark.parametrize("seed", range(20))
def test_a_healthy_run_raises_no_doubt(seed: int) -> None:
    chance = random.Random(seed)
    slots, calls = chance.choice([1, 2, 4, 8, 16]), []
    for slot in range(slots):
        at = 5.0 * slot
        for turn in range(12):
            ttft, gap = 40 + 20 * chance.random(), 8 + chance.random()
            n = chance.randint(40, 80)
            phase = "warmup" if turn == 0 else "window"
            one = stream(
                at, ttft, gap, n, phase=phase, prompt=1024, asked_prompt=1020, asked_output=n,
                sent=at + 0.05, own=n, cached=0, prompt_id=f"{slot}-{turn}",
            )  # fmt: skip
            calls.append(one)
            at = one.events[-1][0] + 0.2

    summary = run(calls, f"closed:{slots}", observed=Observed(rtt_ns=100_000))

    assert [f for f in summary.findings if f.severity != "note"] == []
    assert summary.verdict == "valid"
    assert summary.client_grade == "A"


def test_a_run_without_any_token_is_invalid() -> None:
    calls = [call(i, [], done=i + 1, usage=0, flags="empty_output") for i in range(5)]

    summary = run(calls, "closed:1")

    assert codes(summary)["no_tokens"] == "fatal"
    assert summary.verdict == "invalid"


def test_a_run_whose_requests_all_failed_is_invalid_and_names_the_cause() -> None:
    calls = [
        call(i, [], outcome="http_error", status=500, done=i + 1, detail="boom") for i in range(5)
    ]

    summary = run(calls, "closed:1")

    assert text_of(summary, "all_failed") == "all 5 requests failed: boom"
    assert summary.verdict == "invalid"
    assert "all 5 requests failed: boom" in summary.verdict_reasons


@pytest.mark.parametrize(("failures", "severity"), [(1, "note"), (6, "doubt"), (60, "fatal")])
def test_errors_weigh_by_their_share(failures: int, severity: str) -> None:
    calls = good(4, 50)
    calls = [
        call(c.due, [], outcome="http_error", status=503, done=c.due + 1) if i < failures else c
        for i, c in enumerate(reversed(calls))
    ]

    summary = run(calls)

    assert codes(summary)["errors"] == severity
    assert f"{failures} http_503" in text_of(summary, "errors")


def test_answers_cut_off_are_a_doubt_of_their_own() -> None:
    calls = good(4, 10)
    calls[-1] = call(calls[-1].due, calls[-1].events[:5], outcome="truncated")

    assert codes(run(calls))["truncated"] == "doubt"


def test_one_cold_wave_is_told_apart_from_the_rest() -> None:
    cold = [stream(0, 40_000, 10, 20) for _ in range(10)]
    warm = [stream(40_190 + 1190 * i, 1000, 10, 20) for i in range(10) for _ in range(10)]

    summary = run(cold + warm, "closed:10")

    assert summary.points[0].cold
    assert "40.0 times; kept out of the figures" in text_of(summary, "first_wave_cold")
    assert summary.points[0].measures["ttft_s.max"].value == pytest.approx(1.0)


def test_a_client_that_reads_late_is_named_as_the_bottleneck() -> None:
    late = good(4, 20, multi_reads=6, seen_lag=12.0)

    summary = run(late)

    assert codes(summary)["client_bound"] == "fatal"
    assert summary.client_grade == "refuse"
    measure = summary.points[0].measures["ttft_s.p50"]
    assert measure.value is None
    assert measure.reason.startswith("client_bound")


def test_events_that_the_server_sent_together_cost_the_client_no_grade() -> None:
    summary = run(good(4, 20, multi_reads=1, seen_lag=2.0))

    assert summary.client_grade == "A"
    assert "stamps ±0.10 ms at p99 (kernel), 5.0 % of the reads" in summary.timing_uncertainty


def test_a_late_loop_costs_kernel_stamps_little_and_user_stamps_much() -> None:
    lag = 20_000_000
    kernel = run(good(), health=[healthy(issued=80, loop_lag_p99_ns=lag)])
    user = run(good(stamp="user"), health=[healthy(issued=80, loop_lag_p99_ns=lag)])

    assert kernel.client_grade == "B"
    assert user.client_grade == "refuse"
    assert codes(user)["user_stamps"] == "note"
    assert "no canary" in text_of(user, "client_bound")


def test_requests_that_leave_late_lower_the_grade_but_keep_their_figures() -> None:
    calls = [
        call(c.due, [(at + 80, kind) for at, kind, *_ in c.events], sent=c.due + 80, usage=20)
        for c in good()
    ]

    summary = run(calls)

    assert summary.client_grade == "C"
    assert codes(summary)["client_bound"] == "doubt"
    assert text_of(summary, "client_bound") == (
        "this machine sent requests up to 80 ms late at p95: tails of gaps withheld at c=4 "
        "(client grade C by sends; no canary)"
    )
    figures = summary.points[0].measures
    assert figures["ttft_send_s.p50"].value is not None
    assert figures["itl_s.p50"].value is not None
    assert figures["itl_s.p99"].reason == "client_bound: grade C by sends; no canary"


def test_one_late_send_among_few_is_no_grade() -> None:
    first, *rest = good()
    late = call(
        first.due,
        [(at + 80, kind) for at, kind, *_ in first.events],
        sent=first.due + 80,
        usage=20,
    )

    assert "client_bound" not in codes(run([late, *rest]))


def test_a_hidden_limit_of_connections_shows_as_concurrency_not_reached() -> None:
    calls = [stream(240 * i, 50, 10, 20) for i in range(6) for _ in range(100)]

    summary = run(calls, "closed:256")

    assert text_of(summary, "concurrency_not_reached") == (
        "in flight at c=256: 100 at most, asked for: 256"
    )
    assert codes(summary)["concurrency_not_reached"] == "doubt"


def test_slots_that_stand_empty_between_requests_are_seen() -> None:
    calls = [stream(340 * i, 50, 10, 20) for i in range(20) for _ in range(4)]

    assert codes(run(calls))["concurrency_not_reached"] == "doubt"
    assert "concurrency_not_reached" not in codes(run(calls, "closed:4,think=100ms"))


def test_sessions_that_rest_between_turns_hold_their_slots_without_a_doubt() -> None:
    calls = [stream(340 * i + 300 * j, 50, 10, 20) for i in range(20) for j in range(4)]
    rests = WorkloadPlan(turns="4", think="2s")

    assert codes(run(calls, workload=rests)).get("concurrency_not_reached", "note") == "note"


def test_a_ceiling_of_our_own_that_bit_is_told() -> None:
    held = healthy(issued=80, rate_waits=20, rate_wait_ns=9_000_000_000)

    summary = run(good(), health=[held])

    assert codes(summary)["rate_ceiling_bit"] == "doubt"
    assert "held 20 requests back for 9 s" in text_of(summary, "rate_ceiling_bit")


def test_missing_usage_counts_by_events_and_says_so() -> None:
    summary = run(good(usage=None))

    assert codes(summary)["usage_missing"] == "doubt"
    assert summary.points[0].measures["output_tok.p50"].value == 20


def test_two_counts_that_disagree_are_both_shown() -> None:
    summary = run(good(own=18, own_source="tokenizer"))

    assert codes(summary)["tokens_disagree"] == "doubt"
    assert "(-10.0 %); 100 % of the requests differ" in text_of(summary, "tokens_disagree")
    assert summary.points[0].measures["output_own_tok.p50"].value == 18


def test_prompts_longer_on_the_server_than_asked_are_shown_side_by_side() -> None:
    calls = closed_loop(4, 20, prompt=1093, asked_prompt=1000)

    summary = run(calls)

    assert codes(summary)["input_length_off"] == "note"
    assert "1093 tokens served, 1000 asked; 100 % are off by > 1 %" in text_of(
        summary, "input_length_off"
    )
    assert summary.points[0].measures["input_tok.mean"].value == 1093
    assert summary.points[0].measures["input_asked_tok.mean"].value == 1000


@pytest.mark.parametrize(("forced", "severity"), [(False, "note"), (True, "doubt")])
def test_answers_shorter_than_asked_are_shown_side_by_side(forced: bool, severity: str) -> None:
    calls = closed_loop(4, 20, tokens=30, asked_output=102)

    summary = run(calls, workload=WorkloadPlan(ignore_eos=forced))

    assert codes(summary)["output_short"] == severity
    assert "mean 30 of 102 tokens" in text_of(summary, "output_short")


def test_prompts_that_the_cache_knew_are_a_doubt() -> None:
    assert codes(run(good(cached=40)))["cached_input"] == "doubt"
    assert "cached_input" not in codes(run(good(cached=1)))
    shared = WorkloadPlan(shared_prefix_tok=40)
    assert "cached_input" not in codes(run(good(cached=40), workload=shared))
    template = {"token_fit": TokenFit(overhead_tok=16)}
    assert "cached_input" not in codes(run(good(cached=16), plan=template))
    assert codes(run(good(cached=60), workload=WorkloadPlan(turns="4")))["cached_input"] == "note"


def test_few_distinct_prompts_are_counted() -> None:
    calls = [stream(240 * i, 50, 10, 20, prompt_id=f"row{i % 10}") for i in range(100)]

    summary = run(calls, "closed:1")

    assert text_of(summary, "repeated_prompts") == "distinct prompts at c=1: 10 of 100"


def test_answers_near_the_time_limit_are_called_censored() -> None:
    calls = [stream(60_000 * i, 1000, 500, 112) for i in range(10)]
    limit = {"deadlines": Deadlines(total_ns=60_000_000_000)}

    assert codes(run(calls, "closed:1", plan=limit))["censored"] == "doubt"
    assert "censored" not in codes(run(calls, "closed:1"))


def test_requests_that_met_a_time_limit_are_counted_and_the_tail_is_called_cut() -> None:
    calls = good(4, 30)
    calls[-1] = call(
        calls[-1].due, [], outcome="timeout_total", status=None, done=calls[-1].due + 9
    )

    summary = run(calls)

    assert codes(summary)["censored"] == "doubt"
    assert summary.points[0].counts.errors_by_class == {"timeout_total": 1}


def test_answers_that_the_end_of_the_run_cut_are_bounds_and_not_dropped() -> None:
    calls = good(4, 20)
    for back in range(1, 41):
        one = calls[-back]
        calls[-back] = call(one.due, one.events[:3], outcome="unfinished", done=one.due + 1000)

    summary = run(calls)
    figures = summary.points[0].measures

    assert codes(summary)["censored"] == "doubt"
    assert figures["e2e_s.p90"].value is None
    assert figures["e2e_s.p90"].reason.startswith("censored: 40 of 76")
    assert figures["e2e_s.mean"].value is None
    assert figures["ttft_s.p50"].value == pytest.approx(0.05)
    assert figures["ttft_s.p50"].n == 76


def test_a_run_that_was_interrupted_or_killed_says_so() -> None:
    stopped = run(good(), state="interrupted")
    killed = run(good(), state="running_or_killed", in_flight_at_end=4)

    assert codes(stopped)["interrupted"] == "doubt"
    assert stopped.state == "interrupted"
    assert "4 requests in flight left no record" in text_of(killed, "killed")


def test_requests_that_left_no_record_make_a_run_invalid() -> None:
    summary = run(good(), health=[healthy(issued=81)])

    assert text_of(summary, "lost_requests") == "requests issued at c=4: 81, with a record: 80"
    assert summary.verdict == "invalid"


def test_a_point_says_what_ended_it() -> None:
    cut = healthy(issued=80, stop_reason="no_more_sessions")

    summary = run(good(), health=[cut], point={"duration_ns": 60_000_000_000})

    assert text_of(summary, "phase_cut_short") == (
        "c=4 was ended by no_more_sessions after 1 s of 60 s"
    )
    assert summary.points[0].stop_reason == "no_more_sessions"


def test_withheld_percentiles_say_how_many_requests_they_need() -> None:
    summary = run(good())

    assert codes(summary)["too_few"] == "note"
    assert "p99 at c=4 (n=76 < 299)" in text_of(summary, "too_few")
    hint = next(finding.hint for finding in summary.findings if finding.code == "too_few")
    assert hint == "223 more requests at c=4, about 13 s: --requests 303"


def test_how_the_connection_was_made_is_noted() -> None:
    target = TargetPlan("https://x", "tiny", insecure=True, proxy="http://proxy:3128")
    stale: dict[str, object] = {"stale_reconnects": 1}

    found = codes(run(good(columns=stale), target=target))

    assert found["insecure"] == found["proxy_used"] == found["stale_reconnects"] == "note"


def test_a_stepped_clock_is_told() -> None:
    anchors = (Anchor("h", "b", 0, 0), Anchor("h", "b", 60_000_000_000, 60_500_000_000))

    assert codes(run(good(), anchors=anchors))["clock_stepped"] == "note"
    assert codes(run(good(flags="clock_stepped")))["clock_stepped"] == "doubt"
    assert "clock_stepped" not in codes(run(good()))


def test_tokens_that_a_parser_may_hold_back_are_told() -> None:
    assert codes(run(good(flags="silent_tokens_possible")))["silent_tokens_possible"] == "note"


def test_warmup_failures_are_told_and_in_no_count() -> None:
    warm = [
        call(i, [], outcome="http_error", status=503, phase="warmup", done=i + 1) for i in (0, 1)
    ]
    rest = [stream(10 + 240 * i, 50, 10, 20) for i in range(40) for _ in range(4)]

    summary = run(warm + rest)

    assert codes(summary)["warmup_failed"] == "note"
    assert "errors" not in codes(summary)
    assert summary.points[0].counts.warmup == 2


def test_a_client_that_nothing_vouches_for_is_not_graded() -> None:
    summary = run(good(stamp=str(StampKind.USER)), health=())

    assert summary.client_grade == "ungraded"
    assert codes(summary)["client_unknown"] == "note"


def test_the_worst_findings_come_first() -> None:
    summary = run(good(cached=40), state="interrupted", health=[healthy(issued=81)])

    order = [f.severity for f in summary.findings]
    assert order == sorted(order, key=["fatal", "doubt", "note"].index)


def test_timing_uncertainty_names_source_share_and_bound() -> None:
    assert run(good()).timing_uncertainty == (
        "stamps ±0.03 ms at p99 (kernel), 0 % of the reads with text brought several events"
    )


def test_timing_uncertainty_tells_late_stamps_with_their_bound() -> None:
    calls = good()
    calls[20:22] = good(seen_lag=12.0, flags="late_stamps")[20:22]
    assert run(calls).timing_uncertainty.endswith("; 2 requests hold stamps up to 12 ms late")


def test_requests_that_were_due_and_never_sent_are_a_doubt_and_skipped_turns_a_note() -> None:
    calls = good()
    unsent = call(calls[-1].due, [], outcome="dropped", status=None, unsent=True)
    skipped = healthy(issued=80, skipped=3)

    assert codes(run([*calls, unsent]))["dropped"] == "doubt"
    summary = run(calls, health=[skipped])
    assert codes(summary)["dropped"] == "note"
    assert summary.points[0].counts.skipped == 3
    assert summary.points[0].counts.issued == 80


def test_late_sends_are_told_with_the_series_that_shows_them() -> None:
    calls = [
        call(c.due, [(at + 20, kind) for at, kind, *_ in c.events], sent=c.due + 20, usage=20)
        for c in good()
    ]

    assert text_of(run(calls), "late_sends") == "requests left 20 ms late (p95) at c=4"


def test_segments_that_a_kill_cut_are_told() -> None:
    summary = run(good(), state="running_or_killed", truncated_segments=("a.arrow", "b.arrow"))

    assert text_of(summary, "segments_cut").startswith("2 segment files ended in mid-batch")


def test_a_request_that_ended_before_it_was_sent_shows_that_our_books_are_wrong() -> None:
    calls = good()
    calls[40] = call(calls[40].due, calls[40].events, done=calls[40].due - 100, usage=20)

    summary = run(calls)

    assert codes(summary)["accounting"] == "fatal"
    assert summary.verdict == "invalid"
