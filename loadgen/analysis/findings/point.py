"""Rules about what the server gave at one point: failures, buffering, caching, cut answers."""

import numpy as np

from loadgen.analysis.findings.facts import TIMEOUTS, Doubt, PointFacts
from loadgen.analysis.requests import number
from loadgen.analysis.words import counted, in_percent
from loadgen.model.exchange import Outcome
from loadgen.model.summary import Severity
from loadgen.units import NS_PER_S

ERRORS_NOTED_FRAC = 0.01
CUT_NOTED_FRAC = 0.10
NEAR_DEADLINE_FRAC = 0.9
CACHED_FRAC = 0.01
REPEATED_FRAC = 0.10


def errors(facts: PointFacts) -> Doubt | None:
    """Requests failed; they are in no latency and their tokens in no throughput."""
    if not facts.failed:
        return None
    frac = facts.failed / facts.counts.issued
    kinds = ", ".join(f"{n} {kind}" for kind, n in facts.counts.errors_by_class.items())
    text = (
        f"{facts.failed} of {facts.counts.issued} failed ({in_percent(frac)}) at "
        f"{facts.named()}: {kinds}"
    )
    limit = facts.recording.plan.error_limit_frac
    if frac > limit:
        return Doubt(
            "fatal", f"{text}; the limit is {in_percent(limit)}", "see `detail` in the records"
        )
    return Doubt(
        _doubt_if(frac > ERRORS_NOTED_FRAC),
        text,
        "latencies are of the good ones only; time to failure is fail_s",
    )


def truncated(facts: PointFacts) -> Doubt | None:
    """Answers broke off before a finish reason."""
    n = facts.counts.outcomes.get(Outcome.TRUNCATED, 0)
    if not n:
        return None
    text = f"answers cut off at {facts.named()}: {n} of {facts.counts.issued}"
    severe = n > ERRORS_NOTED_FRAC * facts.counts.issued
    return Doubt(
        _doubt_if(severe), text, "the server or a proxy closed the stream before a finish_reason"
    )


def dropped(facts: PointFacts) -> Doubt | None:
    """Requests that were due and never sent, or turns of sessions that had broken."""
    n, skipped = facts.counts.outcomes.get(Outcome.DROPPED, 0), facts.counts.skipped
    if not n and not skipped:
        return None
    text = (
        f"{counted(n, 'due request was', 'due requests were')} never sent, "
        f"{counted(skipped, 'turn', 'turns')} of broken sessions skipped"
    )
    return Doubt("doubt" if n else "note", text)


def censored(facts: PointFacts) -> Doubt | None:
    """Answers met a time limit or the end of the run: the tail is cut."""
    timeouts = int((facts.requests.outcome_in(TIMEOUTS) & ~facts.requests.warmup).sum())
    if timeouts:
        text = (
            f"{counted(timeouts, 'request', 'requests')} met a time limit at {facts.named()}: "
            "the tail is of the rest"
        )
        return Doubt("doubt", text, "raise --timeout")
    limit_ns = facts.recording.plan.deadlines.total_ns
    top = facts.value("e2e_s.p99") or facts.value("e2e_s.max")
    if limit_ns is not None and top is not None and top >= NEAR_DEADLINE_FRAC * limit_ns / NS_PER_S:
        text = f"answers took up to {top:.3g} s, close to the limit of {limit_ns / NS_PER_S:g} s"
        return Doubt("doubt", text, "raise --timeout")
    cut = int((facts.frame.chosen & facts.requests.cut).sum())
    if not cut:
        return None
    frac = cut / max(int(facts.frame.chosen.sum()), 1)
    text = (
        f"{counted(cut, 'answer', 'answers')} ({in_percent(frac)}) had not ended when "
        f"{facts.named()} did: right-censored"
    )
    return Doubt("doubt" if frac > CUT_NOTED_FRAC else "note", text, "a longer --duration or grace")


def buffered(facts: PointFacts) -> Doubt | None:
    """Something on the way collects the stream and lets it go in lumps."""
    if not facts.frame.buffered:
        return None
    shows = facts.requests.buffering_shows & facts.frame.chosen
    n = int((facts.requests.buffered & shows).sum())
    text = f"{n} of {int(shows.sum())} streams came in lumps: TTFT, TPOT and ITL are not measurable"
    return Doubt("doubt", text, "turn off proxy buffering (X-Accel-Buffering: no) and compression")


def cached_input(facts: PointFacts) -> Doubt | None:
    """The server had part of the prompts in its cache, beyond what the workload shares."""
    share, prompt = facts.value("cached_frac"), facts.value("input_tok.mean")
    if share is None or not prompt:
        return None
    plan = facts.recording.plan
    shared = plan.workload.shared_prefix_tok + (plan.token_fit.overhead_tok or 0)
    if share <= CACHED_FRAC + shared / prompt:
        return None
    meant = plan.workload.turns != "1" or bool(plan.workload.system_text)
    text = (
        f"{in_percent(share)} of the prompt tokens came from the server's cache at {facts.named()}"
    )
    hint = "unique prompts (no --salt), or read in_tps_uncached"
    return Doubt("note" if meant else "doubt", text, hint)


def repeated_prompts(facts: PointFacts) -> Doubt | None:
    """Few distinct prompts served many requests."""
    table = facts.requests.table
    rows = np.flatnonzero(~facts.requests.warmup & (table.prompt_id != ""))
    if not len(rows):
        return None
    distinct = len({(table.prompt_id[row], int(table.turn_no[row])) for row in rows})
    repeats = 1.0 - distinct / len(rows)
    if repeats <= REPEATED_FRAC:
        return None
    text = f"distinct prompts at {facts.named()}: {distinct} of {len(rows)}"
    return Doubt("doubt", text, "more data rows, or --once to stop after one pass")


def output_short(facts: PointFacts) -> Doubt | None:
    """Answers shorter than asked for by more than a tenth."""
    asked = number(facts.requests.table.max_output_tok)
    got = facts.requests.output_tok
    rows = ~facts.requests.warmup & facts.requests.ok & ~np.isnan(asked) & ~np.isnan(got)
    short = int((rows & (got < 0.9 * asked)).sum())
    if not short:
        return None
    forced = facts.recording.plan.workload.ignore_eos
    text = (
        f"more than 10 % under the asked length at {facts.named()}: {short} of "
        f"{counted(int(rows.sum()), 'answer', 'answers')}, "
        f"mean {got[rows].mean():.4g} of {asked[rows].mean():.4g} tokens"
    )
    hint = "the server doesn't honour ignore_eos" if forced else "--ignore-eos where it is known"
    return Doubt("doubt" if forced else "note", text, hint)


def input_length_off(facts: PointFacts) -> Doubt | None:
    """Prompts that the server counts otherwise than they were designed, by over a hundredth."""
    asked = number(facts.requests.table.input_tok)
    served = number(facts.requests.table.usage_input_tok)
    rows = ~facts.requests.warmup & ~np.isnan(asked) & ~np.isnan(served) & (asked > 0)
    if not rows.any():
        return None
    off = np.abs(served[rows] - asked[rows]) / asked[rows]
    little, much = float((off > 0.01).mean()), float((off > 0.1).mean())
    if little <= 0.1 and much == 0:
        return None
    text = (
        f"prompts at {facts.named()}: mean {served[rows].mean():.5g} tokens served, "
        f"{asked[rows].mean():.5g} asked; "
        f"{in_percent(little)} are off by > 1 %, {in_percent(much)} by > 10 %"
    )
    return Doubt("note", text, "the server's count leads; --isl-wire aims at it")


def _doubt_if(severe: bool) -> Severity:
    return "doubt" if severe else "note"
