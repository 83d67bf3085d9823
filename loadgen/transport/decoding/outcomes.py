"""How a request ended: one outcome and one line of detail, from what came and how it stopped."""

from loadgen.model.exchange import Exchange, Outcome
from loadgen.transport.decoding.answer import ABORTS
from loadgen.transport.decoding.arrivals import Arrivals
from loadgen.transport.decoding.error_text import describe_body
from loadgen.transport.decoding.reading import Reading


def judge(exchange: Exchange, arrivals: Arrivals, reading: Reading) -> tuple[Outcome, str]:
    """(outcome, raw detail). What the transport saw comes first, then the status, then the body.

    A `[DONE]` is no proof of success: a dying vLLM sends one after its error and after an abort.
    """
    if exchange.failure is not None:
        return exchange.failure, exchange.detail or reading.error
    if exchange.http_status is None:
        return _no_answer(exchange)
    if exchange.http_status >= 400:
        return Outcome.HTTP_ERROR, reading.error or describe_body(arrivals.body)
    if reading.error:
        return Outcome.ERROR_IN_STREAM, reading.error
    if arrivals.problem:
        return Outcome.BAD_STREAM, arrivals.problem
    if reading.malformed:
        return _unreadable(exchange, reading)
    return _by_its_end(exchange, reading)


def _no_answer(exchange: Exchange) -> tuple[Outcome, str]:
    if exchange.sent_at_ns is None:
        return Outcome.DROPPED, exchange.detail or "never sent"
    return Outcome.TRUNCATED, exchange.detail or "the connection closed before any answer"


def _unreadable(exchange: Exchange, reading: Reading) -> tuple[Outcome, str]:
    if not exchange.complete and not reading.streamed:
        return Outcome.TRUNCATED, "the body ended inside a completion"
    return Outcome.BAD_STREAM, reading.malformed


def _by_its_end(exchange: Exchange, reading: Reading) -> tuple[Outcome, str]:
    finish = reading.answer.finish_reason
    if finish in ABORTS:
        return Outcome.TRUNCATED, f"finish_reason {finish}"
    if finish == "error":
        return Outcome.ERROR_IN_STREAM, "finish_reason error"
    clean = exchange.complete or reading.done
    said = reading.answer.said.values()
    if finish and (clean or all(choice.finish_reason for choice in said)):
        return Outcome.OK, exchange.detail
    if clean and not reading.cut_inside:
        if reading.notes.usages:
            return Outcome.OK, exchange.detail
        if not reading.has_text:
            return Outcome.EMPTY, exchange.detail or "no text, no finish_reason, no usage"
    return Outcome.TRUNCATED, exchange.detail or "the body ended before a finish_reason"
