"""One builder process: makes a worker's sessions and long bodies, so that its loop never does.

The worker asks by number over a socketpair, ahead of the due time, and is answered in order. The
builder ends when that socket ends.
"""

import os
import random
import signal
import socket

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from loadgen.errors import LoadgenError
from loadgen.measure.frames import FrameSplitter, Orders, read_orders
from loadgen.model.plan import Plan
from loadgen.model.session import Session
from loadgen.transport.request import override_names, without_overridden
from loadgen.workload import FORMATS, Sessions, open_workload
from loadgen.workload.lengths import parse_length
from loadgen.workload.sessions import BuiltSessions

ORDERS_FD = 0
READ_BYTES = 1 << 16
LONG_PROMPT_TOK = 16_384
"""Longer prompts take over 1 ms to make: the worker's sockets would wait for them."""
LOOKED_AT = 200
BYTES_LENGTH = 8
NICENESS = 5


class Want(Struct, frozen=True):
    """To the builder: session `index` of a point, or (with `turn_no`) the body of one turn."""

    point: int
    index: int
    turn_no: int | None = None
    max_output_tok: int | None = None
    """Overrides the turn's own limit, for primers and warm-up."""
    answers: tuple[bytes | None, ...] = ()
    """Live answers of the stream's earlier turns, for live history."""


def wants_builder(plan: Plan) -> bool:
    """Whether sessions of this plan are too long to be made on a worker's loop."""
    made = FORMATS.get(plan.workload.format)
    if made is None or made.on_demand:
        return made is not None
    if plan.workload.format != "synthetic":
        return False
    try:
        length = parse_length(plan.workload.isl, "isl")
    except LoadgenError:
        return False  # whoever opens the workload says what is wrong with it
    chance = random.Random("builder")
    return max(length.draw(chance) for _ in range(LOOKED_AT)) > LONG_PROMPT_TOK


class Builder:
    """Answers wants until the socket ends."""

    def __init__(
        self, sessions: Sessions, answers: socket.socket, overridden: tuple[bytes, ...] = ()
    ) -> None:
        """`overridden` members (JSON names) are taken out of bodies: the target sets them."""
        self._sessions = sessions
        self._overridden = overridden
        self._socket = answers
        self._decoder = msgspec.msgpack.Decoder(Want)
        self._encoder = msgspec.msgpack.Encoder()

    def serve(self) -> None:
        """Returns when the worker has gone."""
        splitter = FrameSplitter()
        try:
            while piece := self._socket.recv(READ_BYTES):
                for frame in splitter.feed(piece):
                    self._answer(self._decoder.decode(frame))
        except ConnectionError:
            return

    def _answer(self, want: Want) -> None:
        if want.turn_no is None:
            session = self._sessions.session(want.point, want.index)
            made = self._encoder.encode(session and self._settled(session))
        else:
            built = self._sessions
            assert isinstance(built, BuiltSessions)
            made = built.body(
                want.point, want.index, want.turn_no, want.max_output_tok, want.answers
            )
            made = without_overridden(made, self._overridden)
        self._socket.sendall(len(made).to_bytes(BYTES_LENGTH, "little"))
        self._socket.sendall(made)

    def _settled(self, session: Session) -> Session:
        """Whole bodies less what the target sets; those that wait for answers later."""
        turns = tuple(
            replace(turn, body=(without_overridden(turn.body[0], self._overridden),))
            if len(turn.body) == 1 and isinstance(turn.body[0], bytes)
            else turn
            for turn in session.turns
        )
        return replace(session, turns=turns)


def _step_back() -> None:
    """Never takes a core from the worker."""
    if hasattr(os, "SCHED_BATCH"):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    os.nice(NICENESS)


def main() -> None:
    """The builder process: orders on stdin, wants and answers on the inherited socket."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _step_back()
    orders: Orders | None = read_orders(ORDERS_FD)
    if orders is not None and orders.builder_fd is not None:
        wants = socket.socket(fileno=orders.builder_fd)
        overridden = override_names(orders.plan.target)
        Builder(open_workload(orders.plan), wants, overridden).serve()


if __name__ == "__main__":
    main()
