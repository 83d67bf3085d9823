"""The table of metrics: everything that reports, exports and gates know comes from METRICS.

To add one: a function here (or in `gaps`, `rates`), a row, a heading in docs/definitions.md.
Functions per request return float64[n_requests] with NaN for "not seen"; seconds and tokens.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from loadgen.analysis import energy, gaps, rates, speed
from loadgen.analysis.allocation import sums_by
from loadgen.analysis.frame import Frame
from loadgen.analysis.gaps import EventSamples
from loadgen.analysis.requests import Requests, number, ratio, seconds_between
from loadgen.analysis.statistics.quantiles import Estimate
from loadgen.model.record import EventKind
from loadgen.model.summary import Better
from loadgen.model.table import ABSENT, Floats

Per = Literal["request", "event", "token", "point"]
Over = Literal["ok", "failed", "issued"]
RequestFunction = Callable[[Requests], Floats]
EventFunction = Callable[[Requests], EventSamples]
PointFunction = Callable[[Frame], Estimate]

LATENCY = ("mean", "p50", "p90", "p95", "p99", "max")
POOLED = ("mean", "p50", "p90", "p95", "p99", "p99.9", "max")
SPEED = ("p50", "p90", "p95", "p99")
LENGTH = ("mean", "p50", "p90", "min", "max")
SHARE = ("mean", "p50", "max")
ONE = ("value",)


@dataclass(frozen=True, slots=True)
class Metric:
    """One row. `stats` of a higher-is-better metric count from its slow tail: p90 is the speed
    that nine in ten reach.

    `over` names the requests that count; `clock` is the instant a latency runs from, so that a
    request cut by the client counts as "longer than this" (right-censored) instead of vanishing.
    `needs_stream`: withheld where the stream was buffered or the client can't be trusted.
    """

    name: str
    unit: str
    better: Better
    per: Per
    title: str
    stats: tuple[str, ...]
    function: RequestFunction | EventFunction | PointFunction
    over: Over = "ok"
    clock: Literal["", "due", "sent"] = ""
    needs_stream: bool = False


def ttfb_s(requests: Requests) -> Floats:
    """Due to first byte of the body; many servers send a role event before any token."""
    return requests.since_due_s(requests.table.first_byte_at_ns)


def ttft_s(requests: Requests) -> Floats:
    """Due to first event with text in any channel; the headline."""
    return requests.since_due_s(_first_text(requests))


def ttft_send_s(requests: Requests) -> Floats:
    """Sent to first event with text in any channel; the difference to ttft_s is client waiting."""
    return seconds_between(requests.table.sent_at_ns, _first_text(requests))


def first_token_s(requests: Requests) -> Floats:
    """Due to first evidence of a token: text, or a running count that moved before any text."""
    return _streamed(requests, requests.since_due_s(requests.first_token_at_ns))


def ttfr_s(requests: Requests) -> Floats:
    """Due to first reasoning text."""
    return _streamed(requests, requests.since_due_s(requests.first_reasoning_at_ns))


def ttfa_s(requests: Requests) -> Floats:
    """Due to first answer text or tool call; NaN where the answer never began."""
    return _streamed(requests, requests.since_due_s(requests.first_answer_at_ns))


def e2e_s(requests: Requests) -> Floats:
    """Due to last event with text, or to the end of an answer that did not stream; good ones."""
    last = np.where(requests.streamed, requests.last_text_at_ns, requests.end_at_ns)
    return np.where(requests.ok, requests.since_due_s(last), np.nan)


def done_s(requests: Requests) -> Floats:
    """Due to the end of the stream (usage and closing marker included), good ones."""
    return np.where(requests.ok, requests.since_due_s(requests.table.done_at_ns), np.nan)


def tpot_norm_s(requests: Requests) -> Floats:
    """e2e_s over all output tokens: hides the first token's wait in it; never the headline."""
    return ratio(e2e_s(requests), requests.output_tok)


def intvty_tps(requests: Requests) -> Floats:
    """Reciprocal of tpot_s: the speed at which one user sees tokens come."""
    return 1.0 / speed.tpot_s(requests)


def e2e_tps(requests: Requests) -> Floats:
    """Output tokens over e2e_s, prefill and waiting included."""
    return ratio(requests.output_tok, e2e_s(requests))


def stall_s(requests: Requests) -> Floats:
    """The longest gap between two events with text."""
    return gaps.longest_gap_s(requests)


def fail_s(requests: Requests) -> Floats:
    """Due to the end of a request that failed."""
    return np.where(requests.failed, requests.since_due_s(requests.table.done_at_ns), np.nan)


def send_lag_s(requests: Requests) -> Floats:
    """Due to sent: dispatch delay, whether by the client's lateness or for want of a slot."""
    return requests.since_due_s(requests.table.sent_at_ns)


def connect_s(requests: Requests) -> Floats:
    """Asking for a connection to having it (DNS and TCP); NaN where one was reused."""
    table = requests.table
    return seconds_between(table.conn_asked_at_ns, table.conn_connected_at_ns)


def tls_s(requests: Requests) -> Floats:
    """TLS handshake; NaN where there was none."""
    return seconds_between(requests.table.conn_connected_at_ns, requests.table.conn_tls_done_at_ns)


def input_tok(requests: Requests) -> Floats:
    """Prompt tokens as the server counted them."""
    return number(requests.table.usage_input_tok)


def input_asked_tok(requests: Requests) -> Floats:
    """Prompt tokens as designed."""
    return number(requests.table.input_tok)


def output_tok(requests: Requests) -> Floats:
    """Output tokens, reasoning included: the server's count, else our own."""
    return requests.output_tok


def output_own_tok(requests: Requests) -> Floats:
    """Output tokens as the client counted them; events where nothing better was known."""
    return number(requests.table.own_tok)


def output_asked_tok(requests: Requests) -> Floats:
    """The request's own limit of output tokens."""
    return number(requests.table.max_output_tok)


def reasoning_frac(requests: Requests) -> Floats:
    """Reasoning among output tokens: the server's count, else the share of its events' tokens."""
    served = ratio(
        number(requests.table.usage_reasoning_tok), number(requests.table.usage_output_tok)
    )
    thought = requests.table.event_kind == EventKind.REASONING
    n = len(requests)
    part = sums_by(requests.event_row[thought], requests.event_tok[thought], n)
    whole = sums_by(requests.event_row, requests.event_tok, n)
    return np.where(np.isnan(served), ratio(part, whole), served)


def _first_text(requests: Requests) -> "np.ndarray[tuple[int, ...], np.dtype[np.int64]]":
    return np.where(requests.streamed, requests.first_text_at_ns, ABSENT)


def _streamed(requests: Requests, values: Floats) -> Floats:
    return np.where(requests.streamed, values, np.nan)


def _time(
    name: str, function: RequestFunction, title: str, clock: Literal["", "due", "sent"] = ""
) -> Metric:
    """A latency of one request that only a trustworthy stream shows."""
    return Metric(
        name, "s", "lower", "request", title, LATENCY, function, clock=clock, needs_stream=True
    )


def _point(name: str, unit: str, better: Better, title: str, function: PointFunction) -> Metric:
    """One number a point."""
    return Metric(name, unit, better, "point", title, ONE, function)


METRICS: tuple[Metric, ...] = (
    _time("ttft_s", ttft_s, "time to first token, from due", "due"),
    _time("ttft_send_s", ttft_send_s, "time to first token, from send", "sent"),
    _time("ttfb_s", ttfb_s, "time to first byte, from due", "due"),
    _time("first_token_s", first_token_s, "time to first evidence of a token, from due", "due"),
    _time("ttfr_s", ttfr_s, "time to first reasoning, from due"),
    _time("ttfa_s", ttfa_s, "time to first answer, from due", "due"),
    Metric("e2e_s", "s", "lower", "request", "due to last token", LATENCY, e2e_s, clock="due"),
    Metric("done_s", "s", "lower", "request", "due to end of stream", LATENCY, done_s, clock="due"),
    _time("tpot_s", speed.tpot_s, "time per output token after the first event"),
    Metric("tpot_norm_s", "s", "lower", "request", "e2e per output token", LATENCY, tpot_norm_s),
    Metric(
        "itl_s", "s", "lower", "token", "time between tokens", POOLED, gaps.itl_s, needs_stream=True
    ),
    Metric(
        "icl_s", "s", "lower", "event", "time between chunks", POOLED, gaps.icl_s, needs_stream=True
    ),
    Metric(
        "tok_per_event",
        "tok",
        "neither",
        "event",
        "tokens in an event with text",
        ("mean", "p50", "p99", "max"),
        gaps.tok_per_event,
    ),
    _time("stall_s", stall_s, "longest gap between chunks"),
    Metric(
        "stall_frac",
        "frac",
        "lower",
        "request",
        "share of decode time in gaps over 3 times the median",
        LATENCY,
        gaps.stalled_frac,
        needs_stream=True,
    ),
    Metric(
        "intvty_tps",
        "tok/s",
        "higher",
        "request",
        "decode speed of one user",
        SPEED,
        intvty_tps,
        needs_stream=True,
    ),
    Metric("e2e_tps", "tok/s", "higher", "request", "output tokens over e2e", SPEED, e2e_tps),
    Metric("fail_s", "s", "neither", "request", "time to failure", LATENCY, fail_s, over="failed"),
    Metric(
        "send_lag_s", "s", "lower", "request", "due to sent", LATENCY, send_lag_s, over="issued"
    ),
    Metric("connect_s", "s", "lower", "request", "DNS and TCP", LATENCY, connect_s, over="issued"),
    Metric("tls_s", "s", "lower", "request", "TLS handshake", LATENCY, tls_s, over="issued"),
    Metric("input_tok", "tok", "neither", "request", "prompt, as served", LENGTH, input_tok),
    Metric(
        "input_asked_tok",
        "tok",
        "neither",
        "request",
        "prompt, as designed",
        LENGTH,
        input_asked_tok,
    ),
    Metric("output_tok", "tok", "neither", "request", "output, as served", LENGTH, output_tok),
    Metric(
        "output_own_tok",
        "tok",
        "neither",
        "request",
        "output, by our own count",
        LENGTH,
        output_own_tok,
    ),
    Metric(
        "output_asked_tok",
        "tok",
        "neither",
        "request",
        "output limit asked for",
        LENGTH,
        output_asked_tok,
    ),
    Metric(
        "reasoning_frac",
        "frac",
        "neither",
        "request",
        "reasoning share of the output",
        SHARE,
        reasoning_frac,
    ),
    _point("out_tps", "tok/s", "higher", "output tokens per second", rates.out_tps),
    _point("out_peak_tps", "tok/s", "higher", "best second's output rate", rates.out_peak_tps),
    _point("in_tps_total", "tok/s", "higher", "prompt tokens per second", rates.in_tps_total),
    _point("in_tps_uncached", "tok/s", "higher", "uncached prompt rate", rates.in_tps_uncached),
    _point("total_tps", "tok/s", "higher", "prompt and output tokens per second", rates.total_tps),
    _point("in_out_ratio", "ratio", "neither", "prompt per output tokens", rates.in_out_ratio),
    _point("cached_frac", "frac", "neither", "cached share of prompt tokens", rates.cached_frac),
    _point("rps", "req/s", "higher", "requests ended per second", rates.rps),
    _point("ok_rps", "req/s", "higher", "requests ended well per second", rates.ok_rps),
    _point("asked_rps", "req/s", "neither", "requests due per second", rates.asked_rps),
    _point("sent_rps", "req/s", "neither", "requests sent per second", rates.sent_rps),
    _point("error_frac", "frac", "lower", "failed share of ended requests", rates.error_frac),
    _point("trunc_frac", "frac", "lower", "truncated share of ended requests", rates.trunc_frac),
    _point("in_flight", "req", "neither", "mean requests in flight", rates.in_flight),
    _point(
        "decode_tps_single",
        "tok/s",
        "higher",
        "single-stream decode speed",
        rates.decode_tps_single,
    ),
    _point("kept_frac", "frac", "higher", "share of single-stream speed kept", rates.kept_frac),
    _point("prefill_tps", "tok/s", "higher", "single-stream prompt speed", rates.prefill_tps),
    _point("usd_per_1m_out", "USD", "lower", "$ per million output tokens", rates.usd_per_1m_out),
    _point("usd_per_1m_total", "USD", "lower", "$ per million tokens", rates.usd_per_1m_total),
    _point("j_per_out_tok", "J/tok", "lower", "joules per output token", energy.j_per_out_tok),
    _point("j_per_tok", "J/tok", "lower", "joules per token", energy.j_per_tok),
    _point("j_per_req", "J/req", "lower", "joules per request ended well", energy.j_per_req),
    _point(
        "out_tps_per_mw", "tok/s/MW", "higher", "output rate per MW drawn", energy.out_tps_per_mw
    ),
    _point(
        "out_tps_per_mw_provisioned",
        "tok/s/MW",
        "higher",
        "output rate per MW provisioned",
        energy.out_tps_per_mw_provisioned,
    ),
)
