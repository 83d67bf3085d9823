"""Builds `Exchange`s out of timed reads of body bytes: the tests' stand-in for a transport."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from loadgen.model.exchange import ConnectionInfo, Exchange, Outcome, StampKind, TurnKey

MS = 1_000_000
CAPTURES = Path(__file__).parent / "fixtures" / "captures"

KEY = TurnKey(point=0, share=0, seq=0, session_id="s", turn_id="t")
SSE = {"content-type": "text/event-stream; charset=utf-8"}
JSON = {"content-type": "application/json"}


def exchange_of(
    reads: Sequence[tuple[float, bytes]],
    *,
    status: int | None = 200,
    headers: dict[str, str] | None = None,
    complete: bool = True,
    failure: Outcome | None = None,
    detail: str = "",
    stream_asked: bool = True,
    seen_late_ms: float | None = None,
    connection: ConnectionInfo | None = None,
    clock_step_ns: int = 0,
) -> Exchange:
    """An exchange that was due and sent at 0 and read `(at_ms, body bytes)` one after another.

    With `seen_late_ms` the stamps are the kernel's and the loop saw each read that much later.
    """
    at_ns = [round(at_ms * MS) for at_ms, _ in reads]
    late_ns = round((seen_late_ms or 0) * MS)
    return Exchange(
        key=KEY,
        due_at_ns=0,
        sent_at_ns=0,
        written_at_ns=0,
        headers_at_ns=at_ns[0] if at_ns else None,
        done_at_ns=at_ns[-1] if at_ns else None,
        connection=connection or ConnectionInfo(),
        stream_asked=stream_asked,
        http_status=status,
        headers=SSE if headers is None else headers,
        parts=[body for _, body in reads],
        part_marks=array("i", range(1, len(reads) + 1)).tobytes(),
        read_at_ns=array("q", at_ns).tobytes(),
        seen_at_ns=array("q", [at + late_ns for at in at_ns]).tobytes(),
        stamp_kind=StampKind.USER if seen_late_ms is None else StampKind.KERNEL,
        clock_step_ns=clock_step_ns,
        complete=complete,
        failure=failure,
        detail=detail,
    )


def split_at(body: bytes, cuts: Sequence[int]) -> list[tuple[float, bytes]]:
    """The body as reads 1 ms apart, cut at the given offsets."""
    edges = [0, *sorted({cut % (len(body) + 1) for cut in cuts}), len(body)]
    pieces = [body[a:b] for a, b in pairwise(edges)]
    return [(float(no), piece) for no, piece in enumerate(pieces)]


@dataclass(frozen=True, slots=True)
class Capture:
    """A captured answer with the HTTP framing taken off."""

    name: str
    status: int | None
    headers: dict[str, str] = field(default_factory=dict)
    pieces: tuple[bytes, ...] = ()
    """The HTTP chunks as sent, or the whole body as one piece."""
    complete: bool = False

    @property
    def body(self) -> bytes:
        return b"".join(self.pieces)

    def exchange(self, *, stream_asked: bool = True) -> Exchange:
        """One read a piece, 1 ms apart."""
        return exchange_of(
            [(float(no), piece) for no, piece in enumerate(self.pieces)],
            status=self.status,
            headers=self.headers,
            complete=self.complete,
            stream_asked=stream_asked,
        )


def load_capture(name: str) -> Capture:
    """The capture `folder/file` without its suffix."""
    raw = (CAPTURES / f"{name}.http").read_bytes()
    if not raw:
        return Capture(name, status=None)
    head, _, body = raw.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {}
    for line in lines:
        key, _, value = line.partition(":")
        headers[key.strip().lower()] = value.strip()
    status = int(first.split()[1])
    if headers.get("transfer-encoding") == "chunked":
        pieces, complete = _unchunk(body)
    else:
        pieces = [body] if body else []
        complete = len(body) >= int(headers.get("content-length", len(body)))
    return Capture(name, status, headers, tuple(pieces), complete)


def _unchunk(body: bytes) -> tuple[list[bytes], bool]:
    """(chunks, whether the last chunk of size 0 came)."""
    pieces: list[bytes] = []
    while body:
        size_line, _, body = body.partition(b"\r\n")
        size = int(size_line.split(b";")[0], 16)
        if size == 0:
            return pieces, True
        pieces.append(body[:size])
        body = body[size + 2 :]
    return pieces, False


def capture_names() -> list[str]:
    """All captures, sorted."""
    return sorted(
        str(path.relative_to(CAPTURES).with_suffix("")) for path in CAPTURES.glob("*/*.http")
    )


def data_event(json_text: str) -> bytes:
    """`data: ...` and a blank line."""
    return f"data: {json_text}\n\n".encode()


def delta_event(delta: str, *, finish: str = "null", more: str = "") -> bytes:
    """A chat event with the given delta object; `more` are further members with a comma."""
    choice = f'{{"index":0,"delta":{delta},"finish_reason":{finish}}}'
    return data_event(f'{{"choices":[{choice}]{more}}}')


def text_event(text: str, more: str = "") -> bytes:
    """A chat event with content."""
    return delta_event(f'{{"content":"{text}"}}', more=more)


STOP = delta_event("{}", finish='"stop"')
DONE = b"data: [DONE]\n\n"


def usage_event(output_tok: int, input_tok: int = 5) -> bytes:
    """The closing usage event without choices."""
    counts = f'"prompt_tokens":{input_tok},"completion_tokens":{output_tok}'
    return data_event(f'{{"choices":[],"usage":{{{counts}}}}}')
