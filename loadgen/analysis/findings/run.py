"""Rules about the run as a whole: counts, stamps, connection, how it ended."""

import numpy as np

from loadgen.analysis.findings.facts import Doubt, RunFacts
from loadgen.analysis.requests import number
from loadgen.analysis.words import counted, in_percent
from loadgen.model.exchange import StampKind
from loadgen.model.table import ABSENT
from loadgen.units import NS_PER_S

DISAGREE_FRAC = 0.02
ROW_DISAGREE_FRAC = 0.01
SEVERAL_TOK_PER_EVENT = 1.05
STEP_NS_PER_S = 1_000_000 / 60
WITHHELD = ("ttft_s.p95", "ttft_s.p99", "tpot_s.p95", "tpot_s.p99", "e2e_s.p95", "e2e_s.p99")


def no_tokens(run: RunFacts) -> Doubt | None:
    """Not one token came in the whole run."""
    if np.nansum(run.requests.output_tok[run.measured]) > 0:
        return None
    n = int(run.measured.sum())
    return Doubt(
        "fatal", f"no token came in {counted(n, 'request', 'requests')}", "loadgen probe TARGET"
    )


def all_failed(run: RunFacts) -> Doubt | None:
    """No request ended well."""
    n = int(run.measured.sum())
    failed = int((run.measured & run.requests.failed).sum())
    if not n or failed < n:
        return None
    detail = next((str(text) for text in run.requests.table.detail[run.measured] if text), "")
    because = f": {detail[:200]}" if detail else ""
    return Doubt("fatal", f"all {n} requests failed{because}", "loadgen probe TARGET")


def empty_outputs(run: RunFacts) -> Doubt | None:
    """Good answers without any text; they have no first token and are in no TTFT."""
    n = run.flagged("empty_output")
    if not n:
        return None
    text = f"{run.share(n)} came without text (no TTFT, no TPOT)"
    return Doubt("doubt" if n > 0.1 * run.measured.sum() else "note", text)


def usage_missing(run: RunFacts) -> Doubt | None:
    """The server didn't count some good answers; our own count stands in."""
    missing = run.good & (run.requests.table.usage_output_tok == ABSENT)
    n = int(missing.sum())
    if not n:
        return None
    source = run.requests.table.own_tok_source
    guessed = bool(((source[missing] == "events") | (source[missing] == "")).any())
    how = "by events, which may hold several tokens" if guessed else "by our own count"
    text = f"{run.share(n)} came without usage: tokens {how}"
    return Doubt("doubt" if guessed else "note", text, "--tokenizer FILE gives exact counts")


def tokens_disagree(run: RunFacts) -> Doubt | None:
    """The server's output count and ours differ by more than 2 % over all."""
    served, own = number(run.requests.table.usage_output_tok), number(run.requests.table.own_tok)
    source = run.requests.table.own_tok_source
    counted = np.asarray((source != "events") & (source != ""), dtype=bool)
    rows = run.good & counted & ~np.isnan(served) & ~np.isnan(own)
    if not rows.any() or served[rows].sum() <= 0:
        return None
    delta = float((own[rows].sum() - served[rows].sum()) / served[rows].sum())
    off = np.abs(own[rows] - served[rows]) > ROW_DISAGREE_FRAC * np.maximum(served[rows], 1)
    if abs(delta) <= DISAGREE_FRAC and off.mean() <= DISAGREE_FRAC:
        return None
    text = (
        f"output tokens: {own[rows].sum():.0f} by our count, {served[rows].sum():.0f} by usage "
        f"({in_percent(delta, signed=True)}); {in_percent(off.mean())} of the requests "
        "differ by more than 1 %"
    )
    severe = abs(delta) > DISAGREE_FRAC
    return Doubt(
        "doubt" if severe else "note",
        text,
        "the server's count leads; look for hidden or padded tokens",
    )


def silent_tokens_possible(run: RunFacts) -> Doubt | None:
    """The server may have held tokens back before the first text, which flatters TPOT."""
    n = run.flagged("silent_tokens_possible")
    if not n:
        return None
    text = f"{run.share(n)} may have had tokens held back before their first text: TPOT is a bound"
    return Doubt("note", text, "--running-usage, where the server knows it, shows them")


def coalesced(run: RunFacts) -> Doubt | None:
    """Several tokens in an event, or several events in a read."""
    requests, table = run.requests, run.requests.table
    events = int(requests.texts[run.good].sum())
    if not events:
        return None
    per_event = float(requests.text_tok[run.good].sum()) / events
    multi = int(table.multi_event_reads[run.good].sum())
    together = int((run.good & (requests.last_text_at_ns == requests.first_text_at_ns)).sum())
    if per_event < SEVERAL_TOK_PER_EVENT and multi <= 0.01 * events:
        return None
    told = []
    if per_event >= SEVERAL_TOK_PER_EVENT:
        told.append(f"events hold {per_event:.2f} tokens on average")
    if multi:
        told.append(f"{counted(multi, 'read', 'reads')} brought several events")
    if together:
        came = counted(together, "answer", "answers")
        told.append(f"{came} came at one instant (decode speed undefined)")
    return Doubt("note", ", ".join(told), "itl_s counts by token, icl_s by chunk")


def not_streamed(run: RunFacts) -> Doubt | None:
    """Answers that did not come as a stream."""
    n = int((run.good & ~run.requests.streamed).sum())
    if not n:
        return None
    text = f"{run.share(n)} did not stream: no TTFT; their tokens are spread from sent to end"
    return Doubt("note", text)


def user_stamps(run: RunFacts) -> Doubt | None:
    """Arrivals were stamped by the client's loop and not by the kernel."""
    sent = run.measured & (run.requests.table.sent_at_ns != ABSENT)
    n = int((sent & (run.requests.table.stamp_kind != str(StampKind.KERNEL))).sum())
    if not n:
        return None
    return Doubt("note", f"{run.share(n)} carry user-space stamps: they err by the loop's lag")


def clock_stepped(run: RunFacts) -> Doubt | None:
    """The wall clock moved against the monotonic one."""
    n = run.flagged("clock_stepped")
    if n:
        severe = n > 0.01 * run.measured.sum()
        text = f"the wall clock was moved during {run.share(n)}: user stamps instead of kernel ones"
        return Doubt("doubt" if severe else "note", text, "keep time daemons from stepping")
    for first in run.recording.anchors:
        for last in run.recording.anchors:
            passed_s = (last.mono_ns - first.mono_ns) / NS_PER_S
            if last.boot_id != first.boot_id or last.host != first.host or passed_s < 1:
                continue
            moved_ns = (last.wall_ns - first.wall_ns) - (last.mono_ns - first.mono_ns)
            if abs(moved_ns) > max(STEP_NS_PER_S * passed_s, 1_000_000):
                return Doubt("note", f"the wall clock drifted {moved_ns / 1e6:.3g} ms in the run")
    return None


def proxy_used(run: RunFacts) -> Doubt | None:
    """A proxy stands between client and server."""
    proxy = run.recording.plan.target.proxy or run.recording.observed.proxy
    if not proxy:
        return None
    return Doubt("note", f"through the proxy `{proxy}`", "--no-proxy goes round it")


def insecure(run: RunFacts) -> Doubt | None:
    """Certificates were not verified."""
    if not run.recording.plan.target.insecure:
        return None
    return Doubt("note", "certificates were not verified", "--ca FILE verifies a private one")


def stale_reconnects(run: RunFacts) -> Doubt | None:
    """Kept connections were found dead and replaced."""
    n = int(run.requests.table.stale_reconnects[run.measured].clip(min=0).sum())
    if not n:
        return None
    return Doubt(
        "note",
        f"{counted(n, 'kept connection was', 'kept connections were')} found closed and replaced",
    )


def interrupted(run: RunFacts) -> Doubt | None:
    """The run was stopped by its user."""
    if run.recording.state != "interrupted":
        return None
    return Doubt("doubt", "the run was interrupted: what was measured until then stands")


def killed(run: RunFacts) -> Doubt | None:
    """The run ended without saying goodbye."""
    words = {"running_or_killed": "was killed (or goes on)", "failed": "lost one of its processes"}
    if run.recording.state not in words:
        return None
    told, n = words[run.recording.state], run.recording.in_flight_at_end
    return Doubt(
        "doubt", f"the run {told}: {counted(n, 'request', 'requests')} in flight left no record"
    )


def segments_cut(run: RunFacts) -> Doubt | None:
    """Segment files ended in the middle of a batch."""
    n = len(run.recording.truncated_segments)
    return (
        Doubt(
            "note",
            f"{counted(n, 'segment file', 'segment files')} ended in mid-batch; the rest was read",
        )
        if n
        else None
    )


def too_few(run: RunFacts) -> Doubt | None:
    """Percentiles that n cannot carry are withheld."""
    told: list[str] = []
    wanted: dict[int, str] = {}
    for point in run.points:
        short = {}
        for key in WITHHELD:
            measure = point.measures.get(key)
            if measure is not None and measure.needs_more is not None:
                short[measure.stat] = measure.reason
                took = f", about {measure.needs_more_s:.0f} s" if measure.needs_more_s else ""
                total = point.counts.issued + measure.needs_more
                more = counted(measure.needs_more, "more request", "more requests")
                wanted[total] = f"{more} at {point.named()}{took}: --requests {total}"
        told.extend(f"{stat} at {point.named()} ({why})" for stat, why in short.items())
    if not told:
        return None
    more = f" and {len(told) - 4} more" if len(told) > 4 else ""
    text = f"withheld: {', '.join(told[:4])}{more}"
    return Doubt("note", text, wanted[max(wanted)])
