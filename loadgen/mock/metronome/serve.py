"""A server that keeps a fixed timetable and logs every write: bare sockets, epoll, one thread.

`POST /v1/chat/completions` and `/v1/completions` answer with events made beforehand: the first
at `ttft_ms` after the request was read, then one each `itl_ms`. Times are asked for in the body
or in headers (see `timetable`). `GET /truth` dumps the log (see `truthdump`), `POST /truth/reset`
empties it, `GET /stats` says how late the server was against its own timetable: a client's
ceiling is the client's only where this server kept time. Linux only (epoll, timerfd).
"""

import argparse
import heapq
import json
import select
import signal
import socket
import ssl
import time
from typing import Any

from loadgen.mock.metronome.ledger import Connection, Lateness, Served, dump_log
from loadgen.mock.metronome.timetable import (
    MODEL,
    content_events,
    read_timetable,
    role_event,
    tail_events,
    whole_body,
)
from loadgen.mock.metronome.truthdump import (
    CLIENT_LEFT,
    IS_DONE,
    SOCKET_FULL,
    WHOLE,
    meta_of,
)
from loadgen.mock.pacer import Timer

DEFAULTS = {"ttft_ms": 50.0, "itl_ms": 10.0, "step_ms": 0.0, "max_tokens": 128.0}
DEFAULTS |= {"tokens_per_chunk": 1.0}
_LOOK_NS = 200_000
_SPIN_NS = 60_000
_MAX_EVENTS = 8_000_000
_READ = 262_144
_SSE_HEAD = (
    b"HTTP/1.1 200 OK\r\nserver: metronome\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"x-request-id: %b\r\ntransfer-encoding: chunked\r\n\r\n"
)
_PLAIN_HEAD = (
    b"HTTP/1.1 %b\r\nserver: metronome\r\ncontent-type: %b\r\n%bcontent-length: %d\r\n\r\n"
)
_now = time.monotonic_ns


class Metronome:
    """The server; `run` returns when `stop` was called."""

    def __init__(self, listener: socket.socket, tls: ssl.SSLContext | None = None) -> None:
        self._listener = listener
        self._tls = tls
        self._epoll = select.epoll()
        self._timer = Timer()
        self._epoll.register(listener.fileno(), select.EPOLLIN)
        self._epoll.register(self._timer.fd, select.EPOLLIN)
        self._connections: dict[int, Connection] = {}
        self._due: list[tuple[int, int, Served]] = []
        self._n = 0
        self._log: list[Served] = []
        self._n_events = 0
        self._late = Lateness()
        self._is_stopped = False

    def stop(self, *_: object) -> None:
        """Ends `run` after the current look."""
        self._is_stopped = True
        self._timer.set(1)

    def run(self) -> None:
        """Serves: sends what is due, looks at the sockets in between."""
        while not self._is_stopped:
            if not self._due:
                self._look(-1)
                continue
            left_ns = self._due[0][0] - _now()
            if left_ns > _SPIN_NS:
                self._timer.set(self._due[0][0] - _SPIN_NS)
                self._look(-1)
            else:
                self._look(0)
            self._send_due()
        self._close_all()

    def _send_due(self) -> None:
        """Sends everything that is due, looking at the sockets at least each 0.2 ms."""
        due = self._due
        started_ns = _now()
        while due:
            now_ns = _now()
            if due[0][0] > now_ns or now_ns - started_ns > _LOOK_NS:
                return
            at_ns, _, served = heapq.heappop(due)
            if served.connection.is_open:
                self._send_next(served, at_ns)

    def _look(self, timeout: float) -> None:
        for fd, mask in self._epoll.poll(timeout):
            if fd == self._timer.fd:
                self._timer.clear()
            elif fd == self._listener.fileno():
                self._accept()
            else:
                connection = self._connections.get(fd)
                if connection is not None and mask & select.EPOLLOUT:
                    self._drain(connection)
                if connection is not None and mask & ~select.EPOLLOUT:
                    self._read(connection)

    def _accept(self) -> None:
        for _ in range(64):
            try:
                sock, _peer = self._listener.accept()
            except (BlockingIOError, ConnectionError):
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is not None:
                sock = self._tls.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
            sock.setblocking(False)
            self._n += 1
            self._connections[sock.fileno()] = Connection(sock, self._n)
            self._epoll.register(sock.fileno(), select.EPOLLIN | select.EPOLLRDHUP)

    def _read(self, connection: Connection) -> None:
        while connection.is_open:
            try:
                piece = connection.receive(_READ)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                break
            except OSError:
                self._drop(connection)
                return
            if not piece:
                self._drop(connection)
                return
            connection.inbox += piece
            if self._tls is None and len(piece) < _READ:
                break
        while connection.is_open and connection.serving is None and self._take(connection):
            pass

    def _take(self, connection: Connection) -> bool:
        """Serves one request from the inbox; False where it isn't complete."""
        inbox = connection.inbox
        end = inbox.find(b"\r\n\r\n")
        if end < 0:
            return False
        lines = bytes(inbox[:end]).split(b"\r\n")
        pairs = (line.partition(b":") for line in lines[1:])
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or b"transfer-encoding" in headers:
            self._refuse(connection, b"411 Length Required")
            return False
        size = int(length)
        if len(inbox) < end + 4 + size:
            return False
        body = bytes(inbox[end + 4 : end + 4 + size])
        del inbox[: end + 4 + size]
        method, _, rest = lines[0].partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0]
        connection.n_served += 1
        if method == b"POST" and path.endswith(b"/completions"):
            self._begin(connection, path, headers, body)
        else:
            self._control(connection, method, path)
        return True

    def _begin(
        self, connection: Connection, path: bytes, headers: dict[bytes, bytes], body: bytes
    ) -> None:
        try:
            timetable = read_timetable(path, headers, body, DEFAULTS)
        except ValueError:
            self._refuse(connection, b"400 Bad Request")
            return
        request_id = headers.get(b"x-request-id") or b"metronome-%d" % len(self._log)
        served = Served(connection, timetable, request_id)
        served.body_bytes = len(body)
        connection.serving = served
        self._log.append(served)
        if timetable.is_stream:
            head = _SSE_HEAD % request_id
            role, meta = role_event() if timetable.is_chat else (b"", 0)
            due_ns = _now()
            served.first_byte_ns = due_ns
            span = self._write(connection, head + role)
            if role:
                served.events.extend((*span[:2], due_ns, meta | span[2]))
        self._plan(served, timetable.due_ns(served.received_ns, 0))
        self._forget_oldest()

    def _plan(self, served: Served, at_ns: int) -> None:
        self._n += 1
        heapq.heappush(self._due, (at_ns, self._n, served))

    def _send_next(self, served: Served, due_ns: int) -> None:
        timetable = served.timetable
        if not timetable.is_stream:
            self._send_whole(served, due_ns)
            return
        place, served.n_sent = served.n_sent, served.n_sent + 1
        is_last = served.n_sent == timetable.n_events
        n_tok = timetable.tok_per_event
        if is_last:
            n_tok = timetable.n_tok - place * n_tok
        ready = content_events(is_chat=timetable.is_chat, n_tok=n_tok, is_last=is_last)
        text, meta = ready[place & 3]
        before_ns, after_ns, full = self._write(served.connection, text)
        served.events.extend((before_ns, after_ns, due_ns, meta | full))
        self._late.add(before_ns - due_ns)
        self._n_events += 1
        if not is_last:
            self._plan(served, timetable.due_ns(served.received_ns, served.n_sent))
            return
        tail = tail_events(timetable)
        before_ns, after_ns, full = self._write(
            served.connection, b"".join(text for text, _ in tail)
        )
        for _, meta in tail:
            served.events.extend((before_ns, after_ns, due_ns, meta | full))
        self._over(served)

    def _send_whole(self, served: Served, due_ns: int) -> None:
        served.first_byte_ns = _now()
        body = whole_body(served.timetable)
        extra = b"x-request-id: %b\r\n" % served.request_id
        text = _PLAIN_HEAD % (b"200 OK", b"application/json", extra, len(body)) + body
        before_ns, after_ns, full = self._write(served.connection, text)
        meta = meta_of(WHOLE, served.timetable.n_tok, len(text)) | full
        served.events.extend((before_ns, after_ns, due_ns, meta))
        self._late.add(before_ns - due_ns)
        self._n_events += 1
        self._over(served)

    def _over(self, served: Served) -> None:
        served.flags |= IS_DONE
        connection = served.connection
        connection.serving = None
        while connection.is_open and connection.serving is None and self._take(connection):
            pass

    def _write(self, connection: Connection, text: bytes) -> tuple[int, int, int]:
        """Sends now; returns ns before, ns after, and the flag for a full socket."""
        before_ns = _now()
        full = 0
        if connection.outbox:
            connection.outbox += text
            full = SOCKET_FULL << 24
        else:
            try:
                sent = connection.sock.send(text)
            except (BlockingIOError, ssl.SSLWantWriteError):
                sent = 0
            except OSError:
                self._drop(connection)
                return before_ns, _now(), 0
            if sent < len(text):
                full = SOCKET_FULL << 24
                connection.outbox += text[sent:]
                mask = select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLOUT
                self._epoll.modify(connection.sock.fileno(), mask)
        return before_ns, _now(), full

    def _drain(self, connection: Connection) -> None:
        try:
            sent = connection.sock.send(connection.outbox)
        except (BlockingIOError, ssl.SSLWantWriteError):
            return
        except OSError:
            self._drop(connection)
            return
        del connection.outbox[:sent]
        if not connection.outbox:
            mask = select.EPOLLIN | select.EPOLLRDHUP
            self._epoll.modify(connection.sock.fileno(), mask)

    def _drop(self, connection: Connection) -> None:
        if not connection.is_open:
            return
        connection.is_open = False
        if connection.serving is not None:
            connection.serving.flags |= CLIENT_LEFT
        self._connections.pop(connection.sock.fileno(), None)
        self._epoll.unregister(connection.sock.fileno())
        connection.sock.close()

    def _control(self, connection: Connection, method: bytes, path: bytes) -> None:
        status, kind, body = b"200 OK", b"application/json", b"{}"
        if path == b"/v1/models":
            card = {"id": MODEL, "object": "model", "created": 0, "owned_by": "loadgen"}
            body = json.dumps(
                {"object": "list", "data": [{**card, "max_model_len": 10_000_000}]}
            ).encode()
        elif path == b"/truth/reset" and method == b"POST":
            self._reset()
        elif path == b"/truth":
            kind, body = b"application/octet-stream", dump_log(self._log)
        elif path == b"/stats":
            body = json.dumps(self.stats()).encode()
        elif path not in (b"/health", b"/version"):
            status, body = b"404 Not Found", b'{"detail":"Not Found"}'
        self._write(connection, _PLAIN_HEAD % (status, kind, b"", len(body)) + body)

    def _refuse(self, connection: Connection, status: bytes) -> None:
        body = b'{"error":{"message":"%b","type":"BadRequestError"}}' % status
        self._write(connection, _PLAIN_HEAD % (status, b"application/json", b"", len(body)) + body)
        self._drop(connection)

    def stats(self) -> dict[str, Any]:
        """Events sent by the timetable and how late they were, since the last reset."""
        late = self._late
        return {
            "requests": len(self._log),
            "events": late.n,
            "late_p50_us": late.quantile_us(0.5),
            "late_p99_us": late.quantile_us(0.99),
            "late_max_us": late.max_ns / 1000 if late.n else None,
            "open_connections": len(self._connections),
        }

    def _reset(self) -> None:
        self._log = [served for served in self._log if not served.flags & (IS_DONE | CLIENT_LEFT)]
        self._late = Lateness()
        self._n_events = 0

    def _forget_oldest(self) -> None:
        while self._n_events > _MAX_EVENTS and len(self._log) > 1 and self._log[0].flags & IS_DONE:
            self._n_events -= len(self._log.pop(0).events) // 4

    def _close_all(self) -> None:
        for connection in list(self._connections.values()):
            self._drop(connection)
        self._listener.close()
        self._epoll.close()
        self._timer.close()


def serve_metronome(listener: socket.socket, args: argparse.Namespace) -> int:
    """Serves until SIGTERM or SIGINT; 0."""
    tls = None
    if args.tls:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*args.tls)
    metronome = Metronome(listener, tls)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, metronome.stop)
    metronome.run()
    return 0
