"""What stood round the client: each sickness fires its finding, at its severity, and no other."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from loadgen.analysis.summarise import summarise
from loadgen.model.observed import ClientHealth, HostHealth
from loadgen.model.provenance import Calibration, Provenance
from loadgen.model.summary import Summary
from tests.tables import Call, codes, healthy, recording, stream

MS = 1_000_000
CANARY = {
    "canary_p50_ns": 13_000,
    "canary_p99_ns": 60_000,
    "canary_max_ns": 90_000,
    "canary_wait_p50_ns": 100_000,
    "canary_wait_p99_ns": 300_000,
    "canary_n": 200,
    "canary_stamp": "kernel",
}


def calls(**given: Any) -> list[Call]:
    """80 answers of 20 tokens on one slot."""
    return [stream(1000 * i, 100, 40, 20, **given) for i in range(80)]


def run(health: ClientHealth, ceiling_eps: float | None = None, **given: object) -> Summary:
    found = recording(calls(**given), "closed:1", health=[health])
    if ceiling_eps is not None:
        known = Calibration("h", "v", 1, 1, 1, 1, 1, ceiling_eps, True)
        found = replace(found, provenance=Provenance(calibration=known))
    return summarise(found)


def client(host: Mapping[str, object] | None = None, **given: object) -> ClientHealth:
    """Ten seconds of a quiet client on a quiet host, but for what is given."""
    machine = HostHealth(samples=11, **(host or {}))  # type: ignore[arg-type]
    values: dict[str, Any] = {"ended_at_ns": 10_000 * MS, **CANARY, **given}
    values |= {"issued": 80, "host": machine}
    return healthy(**values)


SICKNESSES: list[tuple[str, str, dict[str, object], dict[str, object]]] = [
    ("host_contended", "note", {"pressure_frac": 0.21}, {}),
    ("host_contended", "note", {"steal_frac": 0.02}, {}),
    ("host_contended", "note", {}, {"run_wait_ns": 300 * MS}),
    ("host_contended", "doubt", {}, {"run_wait_ns": 1100 * MS, "loop_lag_p99_ns": 11 * MS}),
    ("client_stalled", "doubt", {}, {"stall_max_ns": 250 * MS}),
    ("gc_pauses", "note", {}, {"gc_pause_max_ns": 10 * MS}),
    ("gc_pauses", "doubt", {}, {"gc_pause_max_ns": 50 * MS}),
    ("gc_pauses", "doubt", {}, {"gc_pause_sum_ns": 500 * MS}),
    ("cpu_throttled", "note", {"throttles": 1, "throttled_ns": 9 * MS}, {}),
    ("cpu_throttled", "doubt", {"throttles": 9, "throttled_ns": 100 * MS}, {}),
    ("retransmits", "note", {"retransmits": 20, "segments_sent": 20_000}, {}),
    ("retransmits", "doubt", {"retransmits": 20, "segments_sent": 2_000}, {}),
    ("retransmits", "note", {"out_of_order": 20, "segments_received": 20_000}, {}),
    ("retransmits", "doubt", {"out_of_order": 20, "segments_received": 2_000}, {}),
    ("retransmits", "note", {"out_of_order": 200, "segments_received": 20_000}, {}),
    ("scribe_behind", "note", {}, {"scribe_behind_ns": 1000 * MS, "scribe_behind_bytes": 9}),
    ("scribe_behind", "doubt", {}, {"scribe_behind_bytes": 64 << 20}),
    ("canary_silent", "note", {}, {"canary_n": 19}),
]
ALL = {code for code, *_ in SICKNESSES} | {"near_ceiling"}


@pytest.mark.parametrize(("code", "severity", "host", "given"), SICKNESSES)
def test_a_sickness_fires_its_finding_alone(
    code: str, severity: str, host: dict[str, object], given: dict[str, object]
) -> None:
    found = codes(run(client(host, **given)))
    assert found.get(code) == severity
    assert ALL & found.keys() == {code}


@pytest.mark.parametrize(
    ("host", "given"),
    [
        ({}, {}),
        ({"pressure_frac": 0.19, "steal_frac": 0.009}, {"run_wait_ns": 190 * MS}),
        ({}, {"stall_max_ns": 249 * MS}),
        ({"steal_max_frac": 0.5}, {"stall_max_ns": 400 * MS}),
        ({"retransmits": 19, "segments_sent": 100}, {}),
        ({"out_of_order": 19, "segments_received": 100}, {}),
        ({"throttles": 0, "throttled_ns": 0}, {}),
    ],
)
def test_what_is_under_its_limit_or_explained_fires_nothing(
    host: dict[str, object], given: dict[str, object]
) -> None:
    assert not ALL & codes(run(client(host, **given))).keys()


def test_segments_that_the_rest_of_a_busy_host_lost_are_not_called_the_runs() -> None:
    """80 answers of 20 reads are 1,600 of what came."""
    lost = {"retransmits": 900, "segments_sent": 30_000, "segments_received": 40_000}
    (told,) = (f for f in run(client(lost)).findings if f.code == "retransmits")
    assert told.severity == "note"
    assert told.text == (
        "900 of 30000 TCP segments were sent again (3.0 %) at c=1, all connections of the client's "
        "host, of whose traffic this run was 4.0 %"
    )


@pytest.mark.parametrize(
    ("ceiling_eps", "severity"), [(300.0, None), (250.0, "note"), (190.0, "doubt")]
)
def test_events_near_the_calibrated_ceiling_are_told(
    ceiling_eps: float, severity: str | None
) -> None:
    """80 answers of 20 events in 10 s are 160 events a second."""
    assert codes(run(client(), ceiling_eps)).get("near_ceiling") == severity


def test_the_canary_is_the_measured_error_and_the_error_bar() -> None:
    summary = run(client())
    point = summary.points[0]
    assert point.client_grade == "A"
    assert point.client_error_s == pytest.approx(60e-6)
    assert point.client_basis.endswith("canary alone, not calibrated (200 events)")
    assert "±0.06 ms at p99 (kernel, measured by the canary)" in summary.timing_uncertainty


def test_a_calibration_stands_in_the_basis() -> None:
    assert run(client(), 1e6).points[0].client_basis.endswith("canary and calibration (200 events)")


def test_a_bad_canary_refuses_latencies_whatever_the_kernel_promises() -> None:
    summary = run(client(canary_p99_ns=11 * MS))
    assert summary.points[0].client_grade == "refuse"
    measure = summary.points[0].measures["tpot_s.p50"]
    assert measure.value is None
    assert measure.reason.startswith("client_bound")
    assert summary.verdict == "invalid"
    (told,) = [finding.text for finding in summary.findings if finding.code == "client_bound"]
    assert told.startswith("this machine read tokens up to 11 ms late at p99 (TPOT 40 ms): ")
    assert "latencies withheld at c=1 (client grade refuse by stamps; canary alone" in told


def test_reads_with_several_events_err_by_the_tighter_of_both_bounds() -> None:
    """The reads may have waited 50 ms; the canary's events were read after 0.3 ms at p99."""
    summary = run(client(), multi_reads=6, seen_lag=50.0)
    assert summary.points[0].client_error_s == pytest.approx(300e-6)
    assert "(late by 50 ms at most)" in summary.timing_uncertainty


def test_user_stamps_err_by_the_canarys_wait() -> None:
    summary = run(client(), stamp="user")
    assert summary.points[0].client_error_s == pytest.approx(300e-6)


@pytest.mark.parametrize("host", [{"pressure_frac": 0.5}, {"steal_frac": 0.02}, {"throttles": 1}])
def test_a_crowded_host_costs_a_and_no_more_while_the_canary_sings(host: dict[str, object]) -> None:
    assert run(client(host)).points[0].client_grade == "B"


def test_one_late_event_of_a_short_canary_is_no_grade() -> None:
    hiccup: dict[str, Any] = {"canary_p95_ns": 40_000, "canary_p99_ns": 11 * MS}
    short = run(client(canary_n=85, **hiccup))
    long = run(client(canary_n=400, **hiccup))
    assert "client_bound" not in codes(short)
    assert "client_bound" in codes(long)
