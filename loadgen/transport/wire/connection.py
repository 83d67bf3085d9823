"""One connection: connecting, TLS, sending in slices, and handing what comes to the reply.

It waits only while it is set up. Later the watch calls it when its socket is ready, and the end
of an answer resolves a future.
"""

import asyncio
import errno
import os
import socket
import ssl
from collections import deque
from collections.abc import Callable, Iterable
from enum import Enum, auto

from loadgen.clock import now_ns
from loadgen.transport.wire.origin import ConnectError, Origin
from loadgen.transport.wire.reply import Piece, Reply
from loadgen.transport.wire.sockets import (
    READ,
    WRITE,
    Address,
    Roster,
    format_address,
    open_socket,
)
from loadgen.transport.wire.tls import TlsPipe, describe_tls_error, speaks_other_protocol

CLOSED_BY_SERVER = "connection closed by the server"
RESET_BY_SERVER = "connection reset by the server"


class State(Enum):
    """Where a connection stands."""

    NEW = auto()
    CONNECTING = auto()
    HANDSHAKE = auto()
    IDLE = auto()
    BUSY = auto()
    CLOSED = auto()


class Connection:
    """A socket with its TLS session and, while busy, the reply that it brings."""

    __slots__ = (
        "_is_asking_to_write",
        "_on_closed",
        "_on_idle",
        "_pieces",
        "_roster",
        "_tls",
        "_unsent",
        "_waiter",
        "asked_at_ns",
        "connected_at_ns",
        "fd",
        "is_new",
        "origin",
        "peer",
        "recvmsg_into",
        "reply",
        "resolved_at_ns",
        "sock",
        "state",
        "take",
        "tls_done_at_ns",
    )

    def __init__(
        self,
        origin: Origin,
        roster: "Roster[Connection]",
        on_idle: Callable[["Connection"], None],
        on_closed: Callable[["Connection"], None],
    ) -> None:
        self.origin = origin
        self.state = State.NEW
        self.asked_at_ns = now_ns()
        self.resolved_at_ns: int | None = None
        self.connected_at_ns: int | None = None
        self.tls_done_at_ns: int | None = None
        self.peer = ""
        self.is_new = True
        """No request has gone over it yet, though it may have been opened ahead of one."""
        self.reply: Reply | None = None
        self._roster = roster
        self._on_idle = on_idle
        self._on_closed = on_closed
        self._tls: TlsPipe | None = None
        self._pieces: deque[Piece] = deque()
        self._unsent: Piece = b""
        self._is_asking_to_write = False
        self._waiter: asyncio.Future[None] | None = None
        self.take: Callable[[Piece, int, int], bool] = self._take_idle

    # connecting

    async def open(self, address: Address) -> None:
        """Connected. Raises: OSError with what the system said of this address."""
        family, where = address
        self.sock = open_socket(family)
        self.recvmsg_into = self.sock.recvmsg_into
        self.fd = self.sock.fileno()
        self.peer = format_address(where)
        self.state = State.CONNECTING
        try:
            code = self.sock.connect_ex(where)
            if code not in (0, errno.EINPROGRESS):
                raise OSError(code, os.strerror(code))
            self._roster.add(self.fd, self, WRITE)
            await self._wait()
        except BaseException:
            self.close()
            raise
        self.state = State.IDLE
        self._roster.poller.modify(self.fd, READ)

    async def shake_hands(self, context: ssl.SSLContext) -> None:
        """The TLS session stands. Raises: ConnectError of kind tls."""
        self._tls = TlsPipe(context, self.origin.host)
        self.state = State.HANDSHAKE
        self.take = self._take_handshake
        try:
            if not self._tls.shake_hands():
                self._push(self._tls.outgoing())
                await self._wait()
        except (ssl.SSLError, ssl.CertificateError, OSError) as error:
            self.close()
            raise ConnectError(
                "tls",
                f"{describe_tls_error(error, self.origin.host)} ({self.peer})",
                other_protocol=speaks_other_protocol(error),
            ) from error
        except BaseException:
            self.close()
            raise
        self.state = State.IDLE
        self.take = self._take_idle

    async def _wait(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _tell(self, error: Exception | None = None) -> None:
        if self._waiter is None or self._waiter.done():
            return
        if error is None:
            self._waiter.set_result(None)
        else:
            self._waiter.set_exception(error)

    # sending

    def start(self, pieces: Iterable[Piece], reply: Reply, waiter: "asyncio.Future[None]") -> None:
        """Sends the first piece now and the others as the socket takes them, one a look.

        `waiter` is resolved when the reply has ended, in whatever way: at once where the guard's
        last look has just read the connection's end.
        """
        if self.state is not State.IDLE:
            reply.sent_at_ns = now_ns()
            reply.end(reply.sent_at_ns, CLOSED_BY_SERVER)
            reply.forget_parser()
            waiter.set_result(None)
            return
        self.state = State.BUSY
        self.is_new = False
        self.reply = reply
        self._waiter = waiter
        self._pieces = deque(pieces)
        self.take = reply.take if self._tls is None else self._take_tls
        first = self._pieces.popleft()
        if self._tls is not None:
            first = self._tls.encrypt(first)
        reply.sent_at_ns = now_ns()
        self._push(first)

    def write_slice(self) -> None:
        """Sends what is left of a piece, or else the next one."""
        if self._unsent or not self._pieces:
            self._push(b"")
            return
        piece = self._pieces.popleft()
        self._push(piece if self._tls is None else self._tls.encrypt(piece))

    def _push(self, piece: Piece) -> None:
        """Hands bytes to the kernel; asks to be told when it takes more if any are left."""
        if self._unsent and piece:
            self._unsent = bytes(self._unsent) + bytes(piece)
        elif piece:
            self._unsent = piece
        if self._unsent:
            try:
                sent = self.sock.send(self._unsent)
            except (BlockingIOError, InterruptedError):
                sent = 0
            except OSError:
                self._give_up_sending()
                return
            if self.reply is not None:
                self.reply.sent_bytes += sent
            self._unsent = memoryview(self._unsent)[sent:] if sent < len(self._unsent) else b""
        is_all_sent = not self._unsent and not self._pieces
        if is_all_sent and self.reply is not None and self.reply.written_at_ns is None:
            self.reply.written_at_ns = now_ns()
        self._ask_to_write(not is_all_sent)

    def _give_up_sending(self) -> None:
        """The server won't take more; what it has said already may still be read."""
        self._unsent = b""
        self._pieces.clear()
        self._ask_to_write(False)

    def _ask_to_write(self, wanted: bool) -> None:
        if wanted is not self._is_asking_to_write and self.state is not State.CLOSED:
            self._is_asking_to_write = wanted
            self._roster.poller.modify(self.fd, READ | WRITE if wanted else READ)

    # what the watch tells

    def note_mask(self, mask: int) -> bool:
        """Takes in an event that is more than plain readability; True when nothing is to read."""
        if self.state is State.CONNECTING:
            code = self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            self.connected_at_ns = self.connected_at_ns or now_ns()
            self._tell(OSError(code, os.strerror(code)) if code else None)
            return True
        if mask & WRITE:
            self._roster.writable.setdefault(self.fd, self)
        return mask == WRITE

    def lost(self, error: OSError | None) -> None:
        """The connection ended: by FIN (`error` is None) or otherwise."""
        if self.state is State.BUSY and self.reply is not None:
            by_reset = error is not None
            self.reply.end(now_ns(), _describe_loss(error), by_reset=by_reset)
            self.finish()
            return
        self._tell(error or ConnectionResetError(errno.ECONNRESET, CLOSED_BY_SERVER))
        self.close()

    def finish(self) -> None:
        """The reply has ended: the connection goes back to the pool or is closed."""
        reply, self.reply = self.reply, None
        waiter, self._waiter = self._waiter, None
        self.take = self._take_idle
        is_open = self._tls is None or not self._tls.closed
        if reply is not None and reply.is_reusable and is_open:
            self.state = State.IDLE
            self._on_idle(self)
        else:
            self.close()
        if reply is not None:
            reply.forget_parser()
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def close(self) -> None:
        """Nothing is sent or read any more. Safe to call twice."""
        if self.state in (State.CLOSED, State.NEW):
            self.state = State.CLOSED
            return
        self.state = State.CLOSED
        self._pieces.clear()
        self._unsent = b""
        self._roster.remove(self.fd)
        self.sock.close()
        self._on_closed(self)

    def abandon(self) -> None:
        """Closes in mid-answer; nobody waits for the rest."""
        reply, self.reply = self.reply, None
        self._waiter = None
        if reply is not None:
            reply.forget_parser()
        self.close()

    def is_still_open(self) -> bool:
        """Whether an idle connection can carry a request; a FIN may just have come."""
        if self.state is not State.IDLE:
            return False
        try:
            peeked = self.sock.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            peeked = b""
        if peeked and self._tls is not None:
            self._take_idle(self.sock.recv(65536), 0, 0)
        else:
            self.close()
        return self.state is State.IDLE

    # what the socket brings, by state

    def _take_idle(self, data: Piece, _at_ns: int, _seen_at_ns: int) -> bool:
        """Bytes that nobody asked for end a connection; TLS may speak for itself, though."""
        if self._tls is not None:
            try:
                is_clean = not self._tls.receive(data) and not self._tls.closed
            except ssl.SSLError:
                is_clean = False
            if is_clean:
                return False
        self.close()
        return False

    def _take_handshake(self, data: Piece, _at_ns: int, _seen_at_ns: int) -> bool:
        if self._tls is None:
            return False
        try:
            is_done = self._tls.shake_hands(data)
        except (ssl.SSLError, ssl.CertificateError) as error:
            self._push(self._tls.outgoing())
            self._tell(error)
            return False
        self._push(self._tls.outgoing())
        if is_done:
            self.tls_done_at_ns = now_ns()
            self.take = self._take_idle
            self._tell()
        return False

    def _take_tls(self, data: Piece, at_ns: int, seen_at_ns: int) -> bool:
        """A read of ciphertext; its stamp carries over to the records that it completes."""
        reply, tls = self.reply, self._tls
        if reply is None or tls is None:
            return False
        try:
            plaintext = tls.receive(data)
        except ssl.SSLError as error:
            reply.end(seen_at_ns, f"TLS broke off ({error.reason})", by_reset=True)
            return True
        answer = tls.outgoing()
        if answer:
            self._push(answer)
        if plaintext:
            reply.take(plaintext, at_ns, seen_at_ns)
        if tls.closed:
            reply.end(seen_at_ns, CLOSED_BY_SERVER)
        return reply.ended


def _describe_loss(error: OSError | None) -> str:
    if error is None:
        return CLOSED_BY_SERVER
    if error.errno in (errno.ECONNRESET, errno.EPIPE):
        return RESET_BY_SERVER
    return f"connection lost ({error.strerror})"
