"""Rules about what the server's own metrics say beside ours, and what limits it by them."""

from loadgen.analysis.findings.facts import Doubt, PointFacts, RunFacts
from loadgen.analysis.looks import SILENT
from loadgen.analysis.server.bounds import TRIES, bounds_of
from loadgen.analysis.server.cross_checks import point_checks
from loadgen.analysis.server.tenant import served_model, sole_tenant
from loadgen.analysis.server.view import SERVER, view_of
from loadgen.analysis.words import counted
from loadgen.model.summary import Severity
from loadgen.model.telemetry import CrossCheck

OTHERS_HINT = "keep others off the server, or read these figures as those of a shared one"


def not_sole_tenant(run: RunFacts) -> Doubt | None:
    """The server worked for others: it moved while we sent nothing, or ended more than we sent."""
    alone = sole_tenant(run)
    said = [alone.text] if alone is not None and alone.verdict == "fail" else []
    foreign = ((point, _foreign(point)) for point in run.points)
    said += [f"{ended.text} at {point.named()}" for point, ended in foreign if ended is not None]
    if not said:
        return None
    return Doubt("doubt", "others use the server: " + "; ".join(said), OTHERS_HINT)


def other_model_served(run: RunFacts) -> Doubt | None:
    """The server's metrics speak of another model than the one asked for."""
    model = served_model(run)
    if model is None or model.verdict != "fail":
        return None
    return Doubt("doubt", model.text, "check -m, the URL, and what stands behind the gateway")


def server_silent(run: RunFacts) -> Doubt | None:
    """The server's metrics could not be read, always or at times."""
    if not run.points:
        return None
    looks = run.points[0].frame.known.looks
    silent = [(key, series) for key, series in looks.of(SERVER, SILENT)]
    if not silent:
        return None
    times = sum(len(series.value) for _, series in silent)
    key, _ = max(silent, key=lambda pair: len(pair[1].value))
    answered = looks.instants(SERVER, 0, 2**63 - 1)
    text = (
        f"the server's metrics didn't answer {counted(times, 'time', 'times')}, and did "
        f"{answered}: {key.part} ({key.origin})"
    )
    return Doubt("note", text, "--metrics-url names another place; none: nobody is asked")


def counter_reset(facts: PointFacts) -> Doubt | None:
    """The server's counters began anew within a point: it was restarted, or another answered."""
    view = view_of(facts.frame, facts.plan.index)
    if view is None or not view.resets:
        return None
    text = f"the server's counters began anew within {facts.named()}: it was started again"
    return Doubt("doubt", text, "see the server's log; several servers behind one URL do it too")


def server_counts_differ(facts: PointFacts) -> Doubt | None:
    """The server's counters of tokens differ from what we counted, and nobody else is there."""
    if _foreign(facts) is not None:
        return None
    checks = [_check(facts, name) for name in ("output_tok", "input_tok", "ended")]
    off = [check for check in checks if check is not None and check.verdict in {"warn", "fail"}]
    if not off:
        return None
    severity: Severity = "doubt" if any(check.verdict == "fail" for check in off) else "note"
    text = f"the server counts otherwise at {facts.named()}: " + "; ".join(c.text for c in off)
    return Doubt(severity, text, "one of the two counts is wrong: compare usage with the counter")


def in_flight_differs(facts: PointFacts) -> Doubt | None:
    """The server sees other than our requests in flight, and nobody else is there."""
    return None if _foreign(facts) is not None else _differs(facts, "in_flight")


def server_ttft_differs(facts: PointFacts) -> Doubt | None:
    """Our TTFT is shorter than the server's, or longer by more than the way explains."""
    return None if _foreign(facts) is not None else _differs(facts, "ttft")


def cached_differs(facts: PointFacts) -> Doubt | None:
    """The server's counters of cached tokens and its usage don't agree."""
    return None if _foreign(facts) is not None else _differs(facts, "cached")


def acceptance_differs(facts: PointFacts) -> Doubt | None:
    """Tokens a step by accepted drafts aren't the tokens that an event brings."""
    return None if _foreign(facts) is not None else _differs(facts, "acceptance")


def kv_bound(facts: PointFacts) -> Doubt | None:
    """The KV cache limits the server."""
    return _bound(facts, "kv")


def queue_bound(facts: PointFacts) -> Doubt | None:
    """Requests wait in the server's queue."""
    return _bound(facts, "queue")


def prefill_bound(facts: PointFacts) -> Doubt | None:
    """Prefill takes more of the requests' time than decode."""
    return _bound(facts, "prefill")


def network_bound(facts: PointFacts) -> Doubt | None:
    """The way to the engine takes a good part of TTFT."""
    return _bound(facts, "network")


def _bound(facts: PointFacts, name: str) -> Doubt | None:
    view = view_of(facts.frame, facts.plan.index)
    said = "" if view is None else bounds_of(facts, view).get(name, "")
    if not said:
        return None
    return Doubt("note", f"{name}-bound at {facts.named()}: {said}", TRIES[name])


def _check(facts: PointFacts, name: str) -> CrossCheck | None:
    return next((check for check in point_checks(facts) if check.check == name), None)


def _foreign(facts: PointFacts) -> CrossCheck | None:
    """The check that shows more requests at the server than ours; None where there is none."""
    ended = _check(facts, "ended")
    if ended is None or ended.verdict == "ok" or ended.server is None or ended.client is None:
        return None
    return ended if ended.server > ended.client else None


def _differs(facts: PointFacts, name: str) -> Doubt | None:
    check = _check(facts, name)
    if check is None or check.verdict not in {"warn", "fail"}:
        return None
    text = f"{check.text} at {facts.named()} (allowed: {check.tolerance})"
    return Doubt("doubt" if check.verdict == "fail" else "note", text, HINTS[name])


HINTS = {
    "in_flight": "a router, a proxy or the client holds requests back, or the gauge lags",
    "ttft": "growth with concurrency points to proxy or client, not to the engine",
    "cached": "read the counters: usage may leave out what other tiers had cached",
    "acceptance": "events are merged or split on the way, or usage counts otherwise",
}
