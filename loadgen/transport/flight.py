"""A request while it is in flight: how far it is, how to end it early, what it came to."""

import asyncio
from collections.abc import Callable

from loadgen.clock import now_ns
from loadgen.model.exchange import ConnectionInfo, Exchange, Outcome, StampKind, TurnKey
from loadgen.model.plan import Deadlines
from loadgen.model.session import Turn
from loadgen.transport.deadlines import NEVER_NS, Limit, Progress, holds_token, next_limit
from loadgen.transport.redact import REDACTED, is_secret_header, redact_parts, redact_text
from loadgen.transport.request import RequestTemplate
from loadgen.transport.wire.connection import Connection
from loadgen.transport.wire.reply import Reply


class Flight:
    """State of one call of send. Whoever ends it first decides how it ended."""

    __slots__ = (
        "asked_at_ns",
        "base_step_ns",
        "cancel",
        "check_at_ns",
        "connecting_since_ns",
        "connection",
        "detail",
        "due_at_ns",
        "ended_at_ns",
        "failure",
        "has_token",
        "key",
        "reply",
        "sent_at_ns",
        "took",
        "turn",
        "waiter",
        "was_kept",
    )

    def __init__(self, key: TurnKey, turn: Turn, due_at_ns: int, base_step_ns: int) -> None:
        self.key = key
        self.turn = turn
        self.due_at_ns = due_at_ns
        self.base_step_ns = base_step_ns
        """The clock's steps seen before this request."""
        self.asked_at_ns = now_ns()
        self.connecting_since_ns: int | None = None
        self.sent_at_ns: int | None = None
        self.connection: Connection | None = None
        self.took = ConnectionInfo()
        self.was_kept = False
        """Its connection was there before it, so the server may have closed it meanwhile."""
        self.reply: Reply | None = None
        self.waiter: asyncio.Future[None] | None = None
        self.cancel: Callable[[], object] | None = None
        """Ends the task that the request waits for while it has no waiter of its own."""
        self.failure: Outcome | None = None
        self.detail = ""
        self.ended_at_ns: int | None = None
        self.has_token = False
        self.check_at_ns = 0

    def note_sent(self, reply: Reply) -> None:
        """The request went out for `reply`; the first time counts."""
        self.reply = reply
        if self.sent_at_ns is None:
            self.sent_at_ns = reply.sent_at_ns
        self.check_at_ns = 0

    def fail(self, outcome: Outcome, detail: str) -> None:
        """Ends the request now with what it has; nothing happens when it has ended already."""
        if self.failure is not None or (self.waiter is not None and self.waiter.done()):
            return
        self.note_failure(outcome, detail)
        if self.waiter is not None:
            self.waiter.set_result(None)
        elif self.cancel is not None:
            self.cancel()

    def note_failure(self, outcome: Outcome, detail: str) -> None:
        """What the transport itself saw; the first failure stays."""
        if self.failure is None:
            self.failure = outcome
            self.detail = detail
            self.ended_at_ns = now_ns()

    def check(self, deadlines: Deadlines, at_ns: int) -> None:
        """Fails the request when a deadline has passed at `at_ns`; notes when to ask again."""
        limit = next_limit(deadlines, self._progress())
        if self._is_refuted(limit, at_ns):
            self.has_token = True
            limit = next_limit(deadlines, self._progress())
        if limit is not None and limit.at_ns <= at_ns:
            self.fail(limit.outcome, limit.detail)
        elif deadlines.stall_ns is not None and not self._has_body():
            self.check_at_ns = at_ns  # its clock begins with the body: look again at each sweep
        else:
            self.check_at_ns = NEVER_NS if limit is None else limit.at_ns

    def _is_refuted(self, limit: Limit | None, at_ns: int) -> bool:
        """Whether a first token came that nobody has looked for so far."""
        is_passed = limit is not None and limit.at_ns <= at_ns
        if not is_passed or limit is None or limit.outcome is not Outcome.TIMEOUT_FIRST_TOKEN:
            return False
        return self.reply is not None and holds_token(self.reply.parts)

    def _has_body(self) -> bool:
        return self.reply is not None and bool(self.reply.parts)

    def _progress(self) -> Progress:
        reply = self.reply if self._has_body() else None
        return Progress(
            asked_at_ns=self.asked_at_ns,
            connecting_since_ns=self.connecting_since_ns,
            sent_at_ns=self.sent_at_ns,
            has_token=self.has_token,
            last_body_at_ns=None if reply is None else reply.seen_at_ns[-1],
        )

    def is_stale(self) -> bool:
        """Whether a kept connection turned out dead before any byte of an answer."""
        reply = self.reply
        if self.failure is not None or reply is None or not self.was_kept:
            return False
        return reply.ended and not reply.complete and not reply.read_at_ns

    def exchange(self, template: RequestTemplate, clock_step_ns: int) -> Exchange:
        """What the wire gave, for good; `clock_step_ns` is the sum of all steps seen so far."""
        reply = self.reply or Reply()
        failure = self.failure or (Outcome.BAD_STREAM if reply.is_bad_http else None)
        is_clean = reply.status is not None and 200 <= reply.status < 300
        parts = reply.parts if is_clean else redact_parts(reply.parts, template.secrets)
        done_at_ns = reply.done_at_ns if self.failure is None else self.ended_at_ns
        has_stamps = bool(reply.read_at_ns) and reply.kernel_stamped
        return Exchange(
            key=self.key,
            due_at_ns=self.due_at_ns,
            sent_at_ns=self.sent_at_ns,
            written_at_ns=reply.written_at_ns,
            headers_at_ns=reply.headers_at_ns,
            done_at_ns=done_at_ns,
            connection=self.took,
            base_url=template.shown_base_url,
            stream_asked=template.stream_asked,
            http_status=reply.status,
            headers=_shown_headers(reply.headers, template.secrets),
            parts=parts,
            part_marks=reply.marks.tobytes(),
            read_at_ns=reply.read_at_ns.tobytes(),
            seen_at_ns=reply.seen_at_ns.tobytes(),
            stamp_kind=StampKind.KERNEL if has_stamps else StampKind.USER,
            clock_step_ns=clock_step_ns - self.base_step_ns,
            complete=reply.complete,
            failure=failure,
            detail=redact_text(self.detail or reply.detail, template.secrets),
            sent_bytes=reply.sent_bytes,
            input_tok=self.turn.input_tok,
            max_output_tok=self.turn.max_output_tok,
            late_reads=reply.late_reads.tobytes(),
            blocks=self.turn.blocks,
        )


def _shown_headers(headers: list[tuple[bytes, bytes]], secrets: tuple[str, ...]) -> dict[str, str]:
    """Names in small letters, repeated ones joined, nothing secret in the values."""
    shown: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        if is_secret_header(name):
            value = REDACTED
        elif secrets:
            value = redact_text(value, secrets)
        shown[name] = f"{shown[name]}, {value}" if name in shown else value
    return shown
