"""Server-sent events out of one whole body: payloads and where each ended. No JSON, no clock.

Lines end with LF, CRLF or CR; `data` may span several lines; one leading space of a value is
dropped; comments are counted; an event without its blank line at the end of the body counts.
Source: WHATWG HTML, section 9.2.6 (interpreting an event stream).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate

DONE = b"[DONE]"
MAX_EVENT_BYTES = 64 * 2**20
"""Longest event that is read; a longer one is a bad stream, never a silent cut."""

_BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\n|\r")
_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b"error:", b":")


@dataclass(slots=True)
class Framed:
    """Payloads of a body in order, `[DONE]` included.

    `ends[i]` is the offset just behind the last byte of event i's last line, its line end not
    counted: the event has arrived with the read that brought the byte before it. The blank line
    that follows adds nothing that a token could wait for, and some servers send it late.
    """

    payloads: list[bytes]
    ends: list[int]
    names: dict[int, str] = field(default_factory=dict)
    """`event:` name by number of payload, where there was one."""
    comments: int = 0
    cut_inside: bool = False
    """The last payload's line had no end: the body stopped there."""


def looks_like_sse(body: bytes) -> bool:
    """True where the first line is one of an event stream, whatever the content type says."""
    start = body[: 4096 + len(_BOM)].removeprefix(_BOM).lstrip()
    return start.startswith(_FIELDS)


def split_events(body: bytes) -> Framed:
    """All events of the body. The usual shape is split in C, anything unusual line by line."""
    return _split_usual(body) or split_lines(body)


def _split_usual(body: bytes) -> Framed | None:
    """Events of a body made of `data: X LF LF` only; None where there is anything else."""
    if not (body.startswith(b"data: ") and body.endswith(b"\n\n")) or b"\r" in body:
        return None
    payloads = body[6:-2].split(b"\n\ndata: ")
    if body.count(b"\n") != 2 * len(payloads) or not all(map(bytes.strip, payloads)):
        return None
    frame_bytes = len(b"data: \n\n")
    starts = accumulate(map(frame_bytes.__add__, map(len, payloads)), initial=0)
    ends = [start - 2 for start in starts]
    return Framed(payloads, ends[1:])


@dataclass(slots=True)
class _Event:
    data: list[bytes] = field(default_factory=list)
    name: str = ""
    end: int = 0


def split_lines(body: bytes) -> Framed:
    """The same by the letter of the standard; slower, for every legal or broken body."""
    framed = Framed([], [])
    event = _Event()
    for line, end, ended in _lines(body):
        if not line:
            _dispatch(framed, event)
            event = _Event()
            continue
        if line.startswith(b":"):
            framed.comments += 1
            continue
        framed.cut_inside = not ended
        _take_line(event, line, end)
    _dispatch(framed, event)
    return framed


def _lines(body: bytes) -> Iterator[tuple[bytes, int, bool]]:
    """(line without its end, offset behind its last byte, whether a line end followed)."""
    start = len(_BOM) if body.startswith(_BOM) else 0
    for match in _LINE_END.finditer(body, start):
        yield body[start : match.start()], match.start(), True
        start = match.end()
    if start < len(body):
        yield body[start:], len(body), False


def _take_line(event: _Event, line: bytes, end: int) -> None:
    name, _, value = line.partition(b":")
    value = value.removeprefix(b" ")
    if name == b"data":
        event.data.append(value)
        event.end = end
    elif name == b"event":
        event.name = value.decode("utf-8", "replace")
        event.end = end
    elif name == b"error":
        # llama.cpp once sent its errors as a field of that name
        event.data.append(value)
        event.name = "error"
        event.end = end
    elif line.lstrip().startswith(b"{"):
        # bare JSON between events: a gateway's error, or a token whose prefix was lost
        event.data.append(line)
        event.end = end


def _dispatch(framed: Framed, event: _Event) -> None:
    payload = b"\n".join(event.data)
    if not payload.strip():
        return
    if event.name:
        framed.names[len(framed.payloads)] = event.name
    framed.payloads.append(payload)
    framed.ends.append(event.end)
