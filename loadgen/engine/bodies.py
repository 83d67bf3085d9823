"""Request bodies of a replay, made elsewhere ahead of their due time."""

from typing import Protocol

from loadgen.model.session import Session


class Source(Protocol):
    """Makes sessions and bodies in another process (or, in tests, at once)."""

    async def session(self, index: int) -> Session | None:
        """The point's session of that number; None: there are no more."""

    async def body(
        self,
        index: int,
        turn_no: int,
        max_output_tok: int | None,
        answers: tuple[bytes | None, ...],
    ) -> bytes:
        """The members of the request's JSON object for `turns[turn_no]` of that session.

        `answers`: with live history, those to the stream's earlier turns in order, as JSON
        strings; None where a turn was not played or gave none. Else empty.
        """
