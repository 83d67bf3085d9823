"""One scribe process: decodes a worker's exchanges and appends the records to segment files.

It runs beside the worker so that no decoding, tokenising or disk ever delays a socket. When the
worker's socket ends, in whatever way, it writes what it was given and leaves.
"""

import os
import signal
import socket
import statistics
from collections import deque
from pathlib import Path

import msgspec

from loadgen import clock
from loadgen.measure.frames import FrameSplitter, Orders, read_orders
from loadgen.model.exchange import Exchange, Outcome, Phase
from loadgen.model.record import UNKNOWN_TOK, EventKind, Record
from loadgen.store.progress import Progress, ScribeRow
from loadgen.store.segments import SegmentWriter
from loadgen.tokens import load_tokenizer
from loadgen.transport.decoding.decode import decode
from loadgen.transport.proxies import secrets_towards
from loadgen.units import NS_PER_S

ORDERS_FD = 0
READ_BYTES = 1 << 20
FLUSH_PERIOD_NS = NS_PER_S // 4
RECENT_TTFTS = 101
NICENESS = 5
"""The scribe can wait; the worker can't."""


class Scribe:
    """Writes one worker's records and keeps the figures of the progress line."""

    def __init__(self, orders: Orders) -> None:
        self._plan = orders.plan
        self._secrets = secrets_towards(orders.plan.target.base_url, orders.secrets)
        self._socket = socket.socket(fileno=orders.exchange_fd)
        self._socket.settimeout(FLUSH_PERIOD_NS / NS_PER_S)
        self._segments = SegmentWriter(Path(orders.folder), orders.share.index)
        self._row: ScribeRow = Progress.open(Path(orders.folder)).scribe(orders.share.index)
        tokenizer = orders.plan.tokenizer
        self._count_tokens = load_tokenizer(tokenizer) if tokenizer else None
        self._ttft_ns: deque[int] = deque(maxlen=RECENT_TTFTS)
        self._flushed_at_ns = clock.now_ns()

    def serve(self) -> None:
        """Returns when the worker's end of the socket is closed and all is written."""
        splitter = FrameSplitter()
        decoder = msgspec.msgpack.Decoder(Exchange)
        while (piece := self._receive()) is not None:
            for body in splitter.feed(piece):
                self._write(decoder.decode(body))
            self._flush_when_due()
        self._segments.close()
        self._show()

    def _receive(self) -> bytes | None:
        """Some bytes, none where nothing came for a while, None at the end."""
        try:
            return self._socket.recv(READ_BYTES) or None
        except TimeoutError:
            return b""
        except ConnectionError:
            return None

    def _write(self, exchange: Exchange) -> None:
        record = decode(
            exchange,
            keep_text=self._plan.keep_text,
            count_tokens=self._count_tokens,
            secrets=self._secrets,
        )
        self._segments.append(record)
        self._count(record)

    def _flush_when_due(self) -> None:
        now_ns = clock.now_ns()
        if now_ns - self._flushed_at_ns >= FLUSH_PERIOD_NS:
            self._segments.flush()
            self._flushed_at_ns = now_ns
            self._show()

    def _count(self, record: Record) -> None:
        row = self._row
        row.records += 1
        if record.outcome is Outcome.OK:
            row.ok += 1
            row.e2e_sum_ns += (record.done_at_ns or record.due_at_ns) - record.due_at_ns
            row.e2e_count += 1
        else:
            row.failed += 1
        row.tokens += _tokens(record)
        if record.key.phase is Phase.WINDOW:
            row.window_records += 1
        first_at_ns = _first_token_at_ns(record)
        if first_at_ns is not None:
            self._ttft_ns.append(first_at_ns - record.due_at_ns)

    def _show(self) -> None:
        self._row.heartbeat_ns = clock.now_ns()
        if self._ttft_ns:
            self._row.ttft_p50_ns = int(statistics.median(self._ttft_ns))


def _tokens(record: Record) -> int:
    for counted in (record.usage.output_tok, record.own_tok):
        if counted is not None:
            return counted
    return sum(tok for tok in record.events.tok if tok != UNKNOWN_TOK)


def _first_token_at_ns(record: Record) -> int | None:
    for at_ns, kind in zip(record.events.at_ns, record.events.kind, strict=True):
        if kind != EventKind.OTHER:
            return at_ns
    return None


def _step_back() -> None:
    """Never takes a core from the worker, not even where both were started with priority."""
    if hasattr(os, "SCHED_BATCH"):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    os.nice(NICENESS)


def main() -> None:
    """The scribe process: orders on stdin, exchanges on the inherited socket."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _step_back()
    orders = read_orders(ORDERS_FD)
    if orders is not None:
        Scribe(orders).serve()


if __name__ == "__main__":
    main()
