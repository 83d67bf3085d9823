"""Recording -> Summary: frames, measures, findings, verdict. Pure: same input, same result."""

from collections.abc import Sequence
from dataclasses import replace

from msgspec import structs

from loadgen.analysis.cost import with_costs
from loadgen.analysis.disclosure.head import disclosure_of
from loadgen.analysis.energy import energy_of
from loadgen.analysis.fidelity import describe_timing, fidelity
from loadgen.analysis.findings.facts import PointFacts, RunFacts, counts_of
from loadgen.analysis.findings.table import findings_of
from loadgen.analysis.findings.verdict import reasons_of, verdict_of, worst_grade
from loadgen.analysis.frame import (
    Frame,
    Known,
    Power,
    frame_in,
    profiling_frame,
    whole_frame,
    window_frame,
)
from loadgen.analysis.frontier import ladder_of
from loadgen.analysis.imported import told_only
from loadgen.analysis.knee import headline_of
from loadgen.analysis.looks import looks_of
from loadgen.analysis.measures import measures_of, request_columns
from loadgen.analysis.metrics import METRICS, Metric
from loadgen.analysis.phases import phase_fit, with_joules
from loadgen.analysis.replay.sessions import replay_summary
from loadgen.analysis.requests import Requests, joined, rows_of_point
from loadgen.analysis.server.bounds import views_of
from loadgen.analysis.server.cross_checks import checks_of
from loadgen.analysis.steady import floors_missed, judge
from loadgen.analysis.tiers import provisioned_w
from loadgen.analysis.window import slots_of
from loadgen.model.plan import PointPlan
from loadgen.model.summary import PointSummary, Summary
from loadgen.model.table import ABSENT, Floats, Recording, RunTable
from loadgen.units import NS_PER_S, S_PER_H


def summarise(recording: Recording, metrics: Sequence[Metric] = METRICS) -> Summary:
    """Everything that the recording amounts to; points that sent nothing are left out."""
    known = _known(recording)
    plans = sorted(recording.plan.points, key=lambda plan: slots_of(plan.load) != 1)
    facts: list[PointFacts] = []
    summaries: dict[int, PointSummary] = {}
    for plan in plans:
        requests = Requests(rows_of_point(recording.table, plan.index))
        if not len(requests):
            continue
        point, summary = _point(recording, plan, requests, known, metrics)
        speed = point.value("decode_tps_single")
        if speed is not None and known.single_tpot_s is None:
            known = replace(known, single_tpot_s=1.0 / speed)
            point, summary = _point(recording, plan, requests, known, metrics)
        requests.forget_events()
        facts.append(point)
        summaries[plan.index] = summary
    return _summary(recording, sorted(facts, key=lambda point: point.plan.index), summaries)


def request_metrics(table: RunTable, metrics: Sequence[Metric] = METRICS) -> dict[str, Floats]:
    """Per-request figures by metric name, float64[n_requests] in the table's order; NaN: absent."""
    return request_columns(Requests(table), metrics)


def _point(
    recording: Recording,
    plan: PointPlan,
    requests: Requests,
    known: Known,
    metrics: Sequence[Metric],
) -> tuple[PointFacts, PointSummary]:
    health = tuple(h for h in recording.health if h.point == plan.index)
    framed = window_frame if recording.plan.replay is None else profiling_frame
    frame, window = framed(requests, plan.load, known)
    steady, moved = judge(frame, window, recording.plan.floor)
    if recording.plan.replay is not None:
        moved = None  # a replay's profiling is one whole: nothing of it is cut
    if moved is not None and moved != window:
        frame, window = frame_in(requests, plan.load, moved, known), moved
    trust = fidelity(frame, health, recording.provenance.calibration)
    withheld = _withheld(frame, trust.grade, trust.basis)
    tails = f"client_bound: grade C by {trust.basis}" if trust.grade == "C" else ""
    frame = replace(frame, withheld=withheld, tails_withheld=tails)
    whole = whole_frame(requests, plan.load, known)
    whole = replace(whole, withheld=withheld, tails_withheld=tails)
    measures = told_only(measures_of(frame, metrics), recording.imported)
    counts = counts_of(requests, health)
    steady = structs.replace(steady, floors_missed=floors_missed(frame, steady))
    facts = PointFacts(recording, plan, frame, window, measures, counts, health, trust, steady)
    wave = facts.first_wave
    summary = PointSummary(
        index=plan.index,
        load=plan.load,
        concurrency=facts.slots,
        counts=counts,
        window=window,
        measures=measures,
        whole=told_only(measures_of(whole, metrics), recording.imported),
        cold=wave is not None and wave.times > 3.0,
        stop_reason=facts.stop_reason,
        steady=steady,
        client_grade=trust.grade,
        client_basis=trust.basis,
        client_error_s=trust.stamp_error_s,
    )
    return facts, summary


def _withheld(frame: Frame, grade: str, basis: str) -> str:
    """Why latencies of this point must not be shown; empty where they may."""
    if grade == "refuse":
        return f"client_bound: grade refuse by {basis}"
    return "not_measurable: buffered" if frame.buffered else ""


def _summary(
    recording: Recording, facts: Sequence[PointFacts], summaries: dict[int, PointSummary]
) -> Summary:
    points = tuple(summaries[point.plan.index] for point in facts)
    parts = [point.requests for point in facts]
    run = RunFacts(recording, joined(recording.table, parts), tuple(facts))
    findings = findings_of(run)
    replays = tuple(told for point in facts if (told := replay_summary(point)) is not None)
    summary = Summary(
        run_id=recording.plan.run_id,
        verdict=verdict_of(findings),
        client_grade=worst_grade([point.fidelity.grade for point in facts]),
        findings=findings,
        points=points,
        headline=headline_of(points),
        state=recording.state,
        verdict_reasons=reasons_of(findings),
        replays=replays,
        ladder=ladder_of(points, recording.plan.prices, replays),
        server=views_of(facts),
        cross_checks=checks_of(run),
        energy=tuple(
            energy
            for point in facts
            if (energy := energy_of(point.frame, point.plan.index)) is not None
        ),
        phases=tuple(phase_fit(point) for point in facts),
        timing_uncertainty=describe_timing([point.fidelity for point in facts]),
    )
    summary = with_joules(summary, recording.plan)
    summary = with_costs(summary, recording.plan, recording.observed.gpu_names)
    return structs.replace(summary, disclosure=disclosure_of(summary, recording))


def _known(recording: Recording) -> Known:
    """Round trip, price and witnesses, as far as they are known."""
    prices, rtt_ns = recording.plan.prices, recording.observed.rtt_ns
    per_hour = prices.get("gpu_usd_per_h")
    usd_per_s = None if per_hour is None else per_hour * prices.get("gpus", 1.0) / S_PER_H
    rtt_s = None if rtt_ns is None else rtt_ns / NS_PER_S
    looks = looks_of(recording.telemetry)
    return Known(rtt_s, usd_per_s, looks=looks, power=_power(recording))


def _power(recording: Recording) -> Power:
    """What the user said of the power readings, and when nothing was sent."""
    plan, table = recording.plan, recording.table
    sent = table.sent_at_ns[table.sent_at_ns != ABSENT]
    watched = plan.idle_s > 0 and len(sent) > 0
    done = max(int(table.done_at_ns.max()), int(sent.max())) if watched else 0
    return Power(
        boundary=plan.power_boundary or "gpu",
        gpus=round(plan.prices["gpus"]) if "gpus" in plan.prices else None,
        provisioned_w=provisioned_w(plan, recording.observed.gpu_names),
        idle_ns=(int(sent.min()), done) if watched else None,
    )
