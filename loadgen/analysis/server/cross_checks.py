"""One number of ours beside the same number of the server: ok, warn, fail or unknown.

Counters are compared over a whole point, warm-up included, since they cover nothing less; gauges
and times as said at each. Source of the tolerances: docs/definitions.md#cross-checks.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from loadgen.analysis.findings.facts import PointFacts, RunFacts
from loadgen.analysis.requests import number
from loadgen.analysis.server.tenant import served_model, sole_tenant
from loadgen.analysis.server.view import SERVER, counted_ttfts, in_flight_seen, view_of
from loadgen.analysis.window import in_flight_steps
from loadgen.analysis.words import in_percent, sized
from loadgen.model.table import ABSENT, Flags
from loadgen.model.telemetry import CheckVerdict, CrossCheck, ServerView

OUTPUT_FRAC = 0.005
INPUT_FRAC = 0.001
WARN_TIMES = 4.0
"""Up to so many tolerances a difference is a warning, beyond them a failure."""
IN_FLIGHT_FRAC = 0.03
IN_FLIGHT_SAMPLES = 5
TTFT_EARLY_S = 0.001
TTFT_LATE_S = 0.005
TTFT_LATE_FRAC = 0.25
CACHED_FRAC = 0.01
ACCEPTANCE_FRAC = 0.05


@dataclass(frozen=True, slots=True)
class Pair:
    """What both say of one thing, and how far apart they may be."""

    client: float
    server: float
    allowed: float
    """By how much they may differ either way, in the unit."""
    unseen: float = 0.0
    """How much more the server may have counted for requests that we didn't see the end of."""

    @property
    def verdict(self) -> CheckVerdict:
        """By the difference that neither the tolerance nor what is unseen explains."""
        off = self.server - self.client
        beyond = off - self.unseen if off > 0 else -off
        if beyond <= self.allowed:
            return "ok"
        return "warn" if beyond <= WARN_TIMES * self.allowed else "fail"


Check = Callable[[PointFacts, ServerView], CrossCheck | None]


def checks_of(run: RunFacts) -> tuple[CrossCheck, ...]:
    """All checks of a run, by point; empty where no server told anything."""
    return (*_about_run(run), *(check for point in run.points for check in point_checks(point)))


def point_checks(facts: PointFacts) -> list[CrossCheck]:
    """The checks of one point; those that nothing can be said of are left out."""
    view = view_of(facts.frame, facts.plan.index)
    if view is None:
        return []
    found = (check(facts, view) for check in CHECKS)
    return [check for check in found if check is not None]


def _about_run(run: RunFacts) -> Iterator[CrossCheck]:
    for check in (sole_tenant, served_model):
        if (found := check(run)) is not None:
            yield found


def output_tok(facts: PointFacts, view: ServerView) -> CrossCheck | None:
    """Generated tokens by the server's counter against those that we counted; 0.5 %."""
    rows, got = _sent(facts), facts.requests.output_tok
    if view.output_tok is None:
        return _untold("output_tok", facts, view)
    client = float(np.nansum(got[rows]))
    asked = number(facts.requests.table.max_output_tok)[_unended(facts)]
    unseen = asked - np.nan_to_num(got[_unended(facts)])
    more = float(np.maximum(unseen, 0).sum()) if not np.isnan(unseen).any() else np.inf
    pair = Pair(client, view.output_tok, OUTPUT_FRAC * client, more)
    return _counted("output_tok", facts, pair, "output tokens", f"{in_percent(OUTPUT_FRAC)}")


def input_tok(facts: PointFacts, view: ServerView) -> CrossCheck | None:
    """Prompt tokens by the server's counter against its answers' usage; 0.1 %."""
    if view.input_tok is None:
        return _untold("input_tok", facts, view)
    served = number(facts.requests.table.usage_input_tok)
    told = _sent(facts) & ~np.isnan(served)
    if not told.any():
        return None
    untold = _sent(facts) & np.isnan(served)
    mean = float(served[told].mean())
    client = float(served[told].sum())
    more = 2.0 * mean * int(untold.sum())
    pair = Pair(client, view.input_tok, INPUT_FRAC * client, more)
    return _counted("input_tok", facts, pair, "prompt tokens", f"{in_percent(INPUT_FRAC)}")


def ended(facts: PointFacts, view: ServerView) -> CrossCheck | None:
    """Requests that ended well by the server's counter against ours; none may differ."""
    if view.ended is None:
        return _untold("ended", facts, view)
    client = float((_sent(facts) & facts.requests.ok).sum())
    pair = Pair(client, view.ended, 0.0, float(_unended(facts).sum()))
    return _counted("ended", facts, pair, "requests that ended well", "none")


def in_flight(facts: PointFacts, view: ServerView) -> CrossCheck | None:
    """Mean running and waiting against our requests in flight; 3 %, the way, sampling."""
    seen, client = in_flight_seen(facts.frame), facts.value("in_flight")
    if seen is None or client is None or seen.n < IN_FLIGHT_SAMPLES:
        return None
    on_the_way = (facts.frame.known.rtt_s or 0.0) * (facts.value("rps") or 0.0)
    swing = max(seen.variance, _in_flight_variance(facts))
    allowed = IN_FLIGHT_FRAC * client + on_the_way + 3.0 * (swing / seen.n) ** 0.5
    pair = Pair(client, seen.mean, allowed)
    text = f"in flight: {client:.3g} here, {seen.mean:.3g} running and waiting there"
    if pair.verdict != "ok" and seen.mean < client:
        text += "; what lies between them holds requests back"
    return _check("in_flight", facts, pair, text, "requests", "3 % + round trip + sampling")


def ttft(facts: PointFacts, view: ServerView) -> CrossCheck | None:
    """Mean TTFT from sending against the server's: ours is longer, by the way and no more."""
    table, requests = facts.requests.table, facts.requests
    counted = counted_ttfts(facts.frame)
    first = requests.first_token_at_ns
    rows = _sent(facts) & (first != ABSENT) & requests.streamed
    if view.ttft_mean_s is None or not counted or not rows.any():
        return None
    n, client_s = int(rows.sum()), float((first - table.sent_at_ns)[rows].mean()) / 1e9
    text = f"mean TTFT {client_s * 1e3:.4g} ms here, {view.ttft_mean_s * 1e3:.4g} ms there"
    if abs(counted - n) > 0.01 * n:
        text += f", over {counted:.0f} first tokens there and {n} here: not the same requests"
        return _told("ttft", facts, "unknown", text)
    rtt_s = facts.frame.known.rtt_s or 0.0
    early = TTFT_EARLY_S + (facts.fidelity.stamp_error_s or 0.0)
    late = max(TTFT_LATE_S + 3.0 * rtt_s, TTFT_LATE_FRAC * client_s)
    way_s = client_s - view.ttft_mean_s
    verdict: CheckVerdict = "fail" if way_s < -early else "ok" if way_s <= late else "warn"
    if verdict == "warn":
        text += "; network, proxy or front end take the rest"
    return CrossCheck(
        check="ttft",
        verdict=verdict,
        text=text,
        client=client_s,
        server=view.ttft_mean_s,
        unit="s",
        tolerance=f"-{early * 1e3:.2g} to +{late * 1e3:.3g} ms",
        point=facts.plan.index,
    )


def cached(facts: PointFacts, view: ServerView) -> CrossCheck | None:
    """Cached share of the prompt tokens by counters against usage; a point of a hundred."""
    if view.cached_tok is None or not view.input_tok:
        return None
    server = view.cached_tok / view.input_tok
    usage, whole = (
        number(column)
        for column in (facts.requests.table.usage_cached_tok, facts.requests.table.usage_input_tok)
    )
    rows = _sent(facts) & ~np.isnan(usage) & ~np.isnan(whole)
    if not rows.any() or not float(whole[rows].sum()):
        text = f"cached share: {in_percent(server)} there; usage doesn't tell it"
        return _told("cached", facts, "unknown", text)
    client = float(usage[rows].sum() / whole[rows].sum())
    pair = Pair(client, server, CACHED_FRAC)
    text = f"cached share of the prompts: {in_percent(client)} by usage, {in_percent(server)} there"
    if (designed := _designed_frac(facts)) is not None:
        text += f", {in_percent(designed)} by design"
    return _check("cached", facts, pair, text, "share", "1 point")


def acceptance(facts: PointFacts, view: ServerView) -> CrossCheck | None:
    """Tokens a step by drafts accepted against our tokens an event; 5 %."""
    if not view.drafts or view.accepted_tok is None:
        return None
    requests = facts.requests
    rows = requests.ok & requests.streamed & ~np.isnan(requests.output_tok)
    events = np.bincount(requests.event_row[requests.text_index], minlength=len(requests))
    if not events[rows].sum():
        return None
    server = 1.0 + view.accepted_tok / view.drafts
    client = float(requests.output_tok[rows].sum() / events[rows].sum())
    pair = Pair(client, server, ACCEPTANCE_FRAC * server)
    text = f"tokens a step: {client:.3g} an event here, {server:.3g} by accepted drafts there"
    return _check("acceptance", facts, pair, text, "tokens", "5 %")


CHECKS: tuple[Check, ...] = (output_tok, input_tok, ended, in_flight, ttft, cached, acceptance)


def _sent(facts: PointFacts) -> Flags:
    return np.asarray(facts.requests.table.sent_at_ns != ABSENT)


def _unended(facts: PointFacts) -> Flags:
    """Sent requests that did not end well here: the server may have gone on with them."""
    return np.asarray(_sent(facts) & ~facts.requests.ok)


def _in_flight_variance(facts: PointFacts) -> float:
    """How much our own requests in flight vary over the window: what few looks can miss."""
    frame = facts.frame
    rows = _sent(facts)
    sent, ends = frame.requests.table.sent_at_ns[rows], frame.requests.end_at_ns[rows]
    at, level = in_flight_steps(sent, ends)
    spans = np.diff(np.clip(at, frame.start_at_ns, frame.end_at_ns)).astype(np.float64)
    if not spans.sum():
        return 0.0
    mean = np.average(level[:-1], weights=spans)
    return float(np.average((level[:-1] - mean) ** 2, weights=spans))


def _designed_frac(facts: PointFacts) -> float | None:
    """Share of a prompt that the workload has all prompts begin with."""
    shared, prompt = facts.recording.plan.workload.shared_prefix_tok, facts.value("input_tok.mean")
    return shared / prompt if shared and prompt else None


def _counted(check: str, facts: PointFacts, pair: Pair, what: str, tolerance: str) -> CrossCheck:
    off = (pair.server - pair.client) / pair.client if pair.client else 0.0
    text = f"{what}: {sized(pair.client, 1)} here, {sized(pair.server, 1)} there"
    if off:
        text += f" ({in_percent(off, signed=True)})"
    if pair.unseen and pair.server > pair.client:
        text += "; some requests' ends were not seen"
    return _check(check, facts, pair, text, what.split()[-1], tolerance)


def _check(
    check: str, facts: PointFacts, pair: Pair, text: str, unit: str, tolerance: str
) -> CrossCheck:
    return CrossCheck(
        check=check,
        verdict=pair.verdict,
        text=text,
        client=pair.client,
        server=pair.server,
        unit=unit,
        tolerance=tolerance,
        point=facts.plan.index,
    )


def _told(check: str, facts: PointFacts, verdict: CheckVerdict, text: str) -> CrossCheck:
    return CrossCheck(check=check, verdict=verdict, text=text, point=facts.plan.index)


def _untold(check: str, facts: PointFacts, view: ServerView) -> CrossCheck | None:
    """Why it can't be said; None where the server never tells such a thing."""
    name = "ended_ok" if check == "ended" else check
    if not any(True for _ in facts.frame.known.looks.of(SERVER, name)):
        return None
    why = "the server's counters began anew" if view.resets else "not told at both ends"
    return _told(check, facts, "unknown", f"{check}: {why}")
