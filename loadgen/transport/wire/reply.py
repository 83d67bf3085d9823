"""One HTTP answer as it came: parts of the body, which read brought them, when, and how it ended.

llhttp is fed at once with each read; nothing of the body is looked at here.
"""

from array import array
from collections.abc import Callable

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

Piece = bytes | memoryview
"""Bytes on their way in or out."""

_HAS_NO_BODY = (204, 304)


class Reply:
    """Receptacle of one answer. `take` is on the hot path; the rest is asked after the end."""

    __slots__ = (
        "_feed",
        "_headers_read",
        "_own_parts",
        "_parser",
        "_until_eof",
        "complete",
        "detail",
        "end_at_ns",
        "ended",
        "headers",
        "headers_only",
        "is_bad_http",
        "keep_alive",
        "kernel_stamped",
        "late_reads",
        "marks",
        "on_body",
        "parts",
        "read_at_ns",
        "seen_at_ns",
        "sent_at_ns",
        "sent_bytes",
        "status",
        "surplus",
        "written_at_ns",
    )

    def __init__(self, headers_only: bool = False) -> None:
        self.parts: list[bytes] = []
        self.on_body = self.parts.append
        self.marks: array[int] = array("i")
        self.read_at_ns: array[int] = array("q")
        self.seen_at_ns: array[int] = array("q")
        self.late_reads: array[int] = array("q")
        """Pairs of a read's number and the look before it, where the client looked late."""
        self.headers: list[tuple[bytes, bytes]] = []
        self.status: int | None = None
        self.headers_only = headers_only
        """The answer to HEAD: ends with its headers whatever length they name."""
        self.sent_at_ns: int | None = None
        self.sent_bytes = 0
        """Handed to the kernel so far, head and, where there is TLS, its wrapping included."""
        self.written_at_ns: int | None = None
        """When the kernel had taken all of the request; None while it has not."""
        self.kernel_stamped = True
        """False as soon as one read came without the kernel's stamp."""
        self.complete = False
        self.ended = False
        self.end_at_ns: int | None = None
        self.keep_alive = False
        self.surplus = False
        self.is_bad_http = False
        self.detail = ""
        self._headers_read: int | None = None
        self._own_parts = 0
        self._until_eof = False
        self._parser: HttpResponseParser | None = HttpResponseParser(self)
        self._feed: Callable[[Piece], None] = self._parser.feed_data

    def take(self, data: Piece, at_ns: int, seen_at_ns: int) -> bool:
        """True when the answer has ended with this read."""
        try:
            self._feed(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            self._note_parser_error(error)
        self.marks.append(len(self.parts))
        self.read_at_ns.append(at_ns)
        self.seen_at_ns.append(seen_at_ns)
        if self.surplus:
            del self.parts[self._own_parts :]
            self.marks[-1] = len(self.parts)
        return self.ended

    def end(self, at_ns: int, why: str, *, by_reset: bool = False) -> None:
        """The connection ended at `at_ns`, with `why` in words; a promise of EOF is kept by it."""
        if self.ended:
            return
        self.ended = True
        self.end_at_ns = at_ns
        if self._until_eof and not by_reset:
            self.complete = True
            return
        self.detail = f"{why} {self._progress()}"

    def take_parsed(self, parts: list[bytes], at_ns: int) -> None:
        """A read that another HTTP implementation has taken apart, with a user stamp."""
        self.kernel_stamped = False
        self.parts.extend(parts)
        self.marks.append(len(self.parts))
        self.read_at_ns.append(at_ns)
        self.seen_at_ns.append(at_ns)

    def take_parsed_headers(
        self, status: int, headers: list[tuple[bytes, bytes]], at_ns: int
    ) -> None:
        """Status and headers that another HTTP implementation has read."""
        self.status = status
        self.headers = headers
        self._headers_read = len(self.marks)
        self.take_parsed([], at_ns)

    def forget_parser(self) -> None:
        """Breaks the circle of parser and callbacks, so that no collector is needed."""
        self._parser = None
        self._feed = _feed_nothing

    @property
    def is_reusable(self) -> bool:
        """Whether the connection may carry another request after this answer."""
        is_sound = self.complete and self.keep_alive and self.written_at_ns is not None
        return is_sound and not self.surplus and not self._until_eof

    @property
    def headers_at_ns(self) -> int | None:
        """Arrival of the read that ended the headers of the final answer (not of a 1xx)."""
        return None if self._headers_read is None else self.read_at_ns[self._headers_read]

    @property
    def done_at_ns(self) -> int | None:
        """Arrival of the last byte, or the instant the end of the connection was seen."""
        if self.end_at_ns is not None:
            return self.end_at_ns
        return self.read_at_ns[-1] if self.ended and self.read_at_ns else None

    def _progress(self) -> str:
        if not self.read_at_ns:
            return "before any byte of an answer"
        if self._headers_read is None:
            return "within the headers"
        return f"after {sum(map(len, self.parts))} body bytes"

    def _note_parser_error(self, error: HttpParserError | HttpParserUpgrade) -> None:
        is_switch = isinstance(error, HttpParserUpgrade)
        if self.complete and not is_switch:
            self.surplus = True
            return
        self.is_bad_http = True
        self.complete = False
        self.ended = True
        why = "it switches to another protocol" if is_switch else str(error)
        self.detail = f"not a valid HTTP/1.1 answer: {why}"

    # llhttp's callbacks

    def on_message_begin(self) -> None:
        """Bytes after the answer's end start another one that nobody asked for."""
        if self.complete:
            self.surplus = True

    def on_header(self, name: bytes, value: bytes) -> None:
        """Trailers after a chunked body are left out."""
        if self._headers_read is None:
            self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Learns status and framing, and skips an interim answer."""
        if self.complete or self._parser is None:
            return
        status = self._parser.get_status_code()
        if status < 200 and status != 101:
            self.headers.clear()
            return
        self.status = status
        self.keep_alive = self._parser.should_keep_alive()
        self._headers_read = len(self.marks)
        self._until_eof = status not in _HAS_NO_BODY and not _names_its_length(self.headers)
        if self.headers_only:
            self.finish()
            self.keep_alive = False

    def on_message_complete(self) -> None:
        """The message's own end; that of an interim answer is none."""
        if self.status is not None and not self.complete:
            self.finish()

    def finish(self) -> None:
        """The whole message is there."""
        self.complete = True
        self.ended = True
        self._own_parts = len(self.parts)


def _names_its_length(headers: list[tuple[bytes, bytes]]) -> bool:
    for name, value in headers:
        lowered = name.lower()
        if lowered == b"content-length":
            return True
        if lowered == b"transfer-encoding" and b"chunked" in value.lower():
            return True
    return False


def _feed_nothing(data: Piece) -> None:
    """Stands where the parser was."""
